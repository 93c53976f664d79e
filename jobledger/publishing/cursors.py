"""How far a reader of public events is, and the text in which readers get that and bring it back. Pure.

A cursor names the ledger, so that nobody goes on in another one, and a place in every partition: of the log, or of
the topic of public events where that is what a server reads. Readers are to take the text as it is: what stands in it
may change with its version.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

from jobledger.program.errors import CursorRefused
from projectors.contract.page import PublicEvent, index_of
from statemachine.errors import ConfigError
from statemachine.ids import Position

_TEXT: Final = re.compile(r"([12])-([0-9a-f]{8})-([0-9.]+(?:_[0-9.]+)*)")
_LOG_PLACE: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?")
_TOPIC_PLACE: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,18}))?")
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


class TopicPlace(NamedTuple):
    """A place in a partition of the topic of public events: before the record at `offset`.

    `position`: of the entry in the log that the last event before it is of; 0 if that is not known.
    """

    offset: int = 0
    position: Position = 0

    def __str__(self) -> str:
        return f"{self.offset}.{self.position}" if self.position else f"{self.offset}"

    @property
    def whole(self) -> int:
        """The offset."""
        return self.offset

    @property
    def in_log(self) -> LogPlace | None:
        """A place in the log behind which all that follows here is; None if it is not known."""
        return LogPlace(max(0, self.position - 1)) if self.position or not self.offset else None


Place = LogPlace | TopicPlace
P = TypeVar("P", LogPlace, TopicPlace)


class Cursor(NamedTuple):
    """Places in all partitions of the ledger whose id begins with `ledger`, eight hexadecimal digits.

    They are all in the log, or all in the topic.
    """

    ledger: str
    places: tuple[Place, ...]

    def __str__(self) -> str:
        version = "2" if isinstance(self.places[0], TopicPlace) else "1"
        return f"{version}-{self.ledger}-{'_'.join(map(str, self.places))}"


def is_behind(event: PublicEvent, place: LogPlace) -> bool:
    """The event follows the place, in the same partition."""
    if event.position != place.position:
        return event.position > place.position
    return place.event is not None and index_of(event) > place.event


def short_id(id_: str) -> str:
    """Of a ledger's id, what stands in cursors."""
    return id_.replace("-", "")[:_SHORT]


def cursor_in(text: str) -> Cursor | None:
    """The cursor that the text is; None for another text."""
    parts = _TEXT.fullmatch(text)
    if parts is None:
        return None
    in_log, said = parts[1] == "1", parts[3].split("_")
    places = [(_LOG_PLACE if in_log else _TOPIC_PLACE).fullmatch(place) for place in said]
    if None in places:
        return None
    made = _log_place if in_log else _topic_place
    return Cursor(parts[2], tuple(made(place[1], place[2]) for place in places if place))


def _log_place(position: str, event: str | None) -> LogPlace:
    return LogPlace(int(position), None if event is None else int(event))


def _topic_place(offset: str, position: str | None) -> TopicPlace:
    return TopicPlace(int(offset), int(position or 0))


def of_ledger(cursor: Cursor, ledger: str, partitions: int) -> Sequence[Place]:
    """The places of a cursor of this ledger. Raises CursorRefused: it is of another."""
    if cursor.ledger != ledger or len(cursor.places) != partitions:
        raise foreign()
    return cursor.places


def foreign() -> CursorRefused:
    """The error for a cursor that says nothing about this ledger."""
    return CursorRefused(
        "cursor-of-another-ledger",
        "the cursor is of another ledger than this one, or of a state that this one has lost",
        "begin anew with after=beginning",
    )


def too_old(ledger: str, earliest: Sequence[Place]) -> CursorRefused:
    """The error for a cursor before the first events that are kept."""
    begin = Cursor(ledger, tuple(earliest))
    return CursorRefused(
        "cursor-too-old",
        "events behind the cursor are not kept any more",
        f"the first ones that are follow {begin}",
        str(begin),
    )


def in_log(cursor: Cursor, ledger: str, ends: Sequence[LogPlace]) -> Sequence[LogPlace]:
    """The places in the log with which a reader may go on, in a ledger that reaches up to `ends`.

    A cursor of the topic names the last entry before it, whose events may come again.

    Raises:
        CursorRefused: the cursor is of another ledger; or it names a place in the topic alone.
    """
    places: list[LogPlace] = []
    for place in of_ledger(cursor, ledger, len(ends)):
        in_log = place.in_log if isinstance(place, TopicPlace) else place
        if in_log is None:
            raise CursorRefused(
                "cursor-of-a-topic",
                "the cursor names a place in the topic of events alone, and here the log is read",
                "begin with a time, such as after=2024-05-17T09:30:00Z, or with after=beginning",
            )
        places.append(in_log)
    if any(place.whole > end.position for place, end in zip(places, ends, strict=True)):
        raise foreign()
    return places


def unusable(text: str) -> ConfigError:
    """The error for a text that says nowhere to begin."""
    return ConfigError(
        f'"{text:.100}" is no place to begin: give beginning, end, a time such as 2024-05-17T09:30:00Z, or a cursor '
        "as an answer had it"
    )
