"""How far a reader of public events is, and the text in which readers get that and bring it back. Pure.

A cursor names the ledger, so that nobody goes on in another one, and a place in every partition. Readers are to take
the text as it is: what stands in it may change with its version.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from jobledger.program.errors import CursorRefused
from statemachine.errors import ConfigError
from statemachine.ids import Position

_VERSION: Final = "1"
_TEXT: Final = re.compile(r"1-([0-9a-f]{8})-([0-9.]+(?:_[0-9.]+)*)")
_PLACE: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?")
_SHORT: Final = 8
"""Hex digits of the ledger's id."""


class LogPlace(NamedTuple):
    """A place in a partition of the log: behind the entry at `position`.

    With `event` only behind the events of that entry up to the one with this index in it: a page may end in the
    middle of an entry, as one entry can have a thousand events.
    """

    position: Position = 0
    event: int | None = None

    def __str__(self) -> str:
        return f"{self.position}" if self.event is None else f"{self.position}.{self.event}"

    @property
    def whole(self) -> Position:
        """The position up to which all entries have been read whole."""
        return self.position if self.event is None else self.position - 1


class Cursor(NamedTuple):
    """Places in all partitions of the ledger whose id begins with `ledger`, eight hexadecimal digits."""

    ledger: str
    places: tuple[LogPlace, ...]

    def __str__(self) -> str:
        return f"{_VERSION}-{self.ledger}-{'_'.join(map(str, self.places))}"


def short_id(id_: str) -> str:
    """Of a ledger's id, what stands in cursors."""
    return id_.replace("-", "")[:_SHORT]


def cursor_in(text: str) -> Cursor | None:
    """The cursor that the text is; None for another text."""
    parts = _TEXT.fullmatch(text)
    if parts is None:
        return None
    places = [_PLACE.fullmatch(place) for place in parts[2].split("_")]
    if None in places:
        return None
    return Cursor(parts[1], tuple(_place(place[1], place[2]) for place in places if place))


def _place(position: str, event: str | None) -> LogPlace:
    return LogPlace(int(position), None if event is None else int(event))


def checked(
    cursor: Cursor, ledger: str, earliest: Sequence[LogPlace], ends: Sequence[LogPlace]
) -> tuple[LogPlace, ...]:
    """The places of a cursor with which a reader may go on, in a ledger that reaches from `earliest` to `ends`.

    Raises:
        CursorRefused: the cursor is of another ledger, or what follows it is not there any more.
    """
    foreign = cursor.ledger != ledger or len(cursor.places) != len(ends)
    if foreign or any(place.whole > end.position for place, end in zip(cursor.places, ends, strict=True)):
        raise CursorRefused(
            "cursor-of-another-ledger",
            "the cursor is of another ledger than this one, or of a state that this one has lost; begin anew with "
            "after=beginning",
        )
    if any(place.whole < first.position for place, first in zip(cursor.places, earliest, strict=True)):
        begin = Cursor(ledger, tuple(earliest))
        raise CursorRefused(
            "cursor-too-old",
            f"events behind the cursor are not kept any more; the first ones that are follow {begin}",
            str(begin),
        )
    return cursor.places


def unusable(text: str) -> ConfigError:
    """The error for a text that says nowhere to begin."""
    return ConfigError(
        f'"{text:.100}" is no place to begin: give beginning, end, a time such as 2024-05-17T09:30:00Z, or a cursor '
        "as an answer had it"
    )
