"""What the documentation of a kind says beside its fields and rules."""

from dataclasses import dataclass
from typing import Final, NamedTuple


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that a kind sets: value by mode, and what it is for."""

    name: str
    values: tuple[str, ...]
    says: str


class Manual(NamedTuple):
    """`modes` are the columns of `env`, a table of variables; `env_says` is the sentence above it."""

    modes: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    env_says: str = "Set in the training container, before your own variables, which may refer to them."


NO_MANUAL: Final = Manual()
