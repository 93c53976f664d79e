"""What an answer about a job's life consists of. Apart, because clients need nothing else of this package."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LifeAnswer:
    """What a job's history says to a question.

    `data` is for programs, `text` for people (None where the question was for the other); `notes` are said
    beside the answer, `doubt` says why the history cannot be read to its end.
    """

    data: Any = None
    text: str | None = None
    notes: tuple[str, ...] = ()
    doubt: str = ""
