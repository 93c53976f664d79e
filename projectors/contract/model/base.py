"""Types of fields: instants, counts, texts, and enums that may grow."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from projectors.published import Published


class Part(Published):
    """Base of everything in a public event; what a reader does not know, it passes over."""


At = Annotated[
    str,
    Field(
        pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$", json_schema_extra={"format": "date-time"}
    ),
]
"""An instant: RFC 3339, UTC, with microseconds and `Z`."""

Count = Annotated[int, Field(ge=0)]


def one_of(*values: str) -> Any:
    """A text that is one of these today: an enum that may grow, so readers accept what they do not know."""
    return Field(json_schema_extra={"x-extensible-enum": list(values)})


def names(values: Iterable[str]) -> Any:
    """`one_of` those of an enum of ours."""
    return one_of(*map(str, values))
