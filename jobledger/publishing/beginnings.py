"""Where a reader of a log's public events begins, as users say it. Pure."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from jobledger.program.errors import CursorRefused
from jobledger.publishing.cursors import Cursor, LogPlace, cursor_in, in_log, is_behind
from jobledger.publishing.filters import moment_of
from projectors.contract.page import PublicEvent
from projectors.contract.stream import PublishedEntry
from statemachine.errors import ConfigError
from statemachine.ids import JobUid, Position


class Begin(NamedTuple):
    """At the beginning; or at the end, with what was recorded `since` a time, or behind a `cursor`.

    `moves`: the same words mean another place later, so a command that is started again would leave out what came
    in between.
    """

    at_end: bool = False
    since: datetime | None = None
    cursor: Cursor | None = None
    moves: bool = False


BEGINNING: Final = Begin()


def begin_of(flag: str, text: str) -> Begin:
    """What the text means, which users gave with `flag`. Raises ConfigError: nothing."""
    if text in {"", "beginning"}:
        return BEGINNING
    if text == "end":
        return Begin(at_end=True, moves=True)
    if (cursor := cursor_in(text)) is not None:
        return Begin(cursor=cursor)
    try:
        since = moment_of(flag, text)
    except ConfigError:
        raise ConfigError(
            f'{flag} "{text:.100}" is no place to begin: give beginning, end, a time such as 2024-05-17T09:30:00Z, a '
            "while ago such as -5m, or a cursor of `GET /v1/events`"
        ) from None
    return Begin(since=since, moves=text.startswith("-"))


def fixed_begin(flag: str, text: str) -> Begin:
    """The same, of a place that stays. Raises ConfigError: it means nothing, or moves."""
    begin = begin_of(flag, text)
    if begin.moves:
        raise ConfigError(
            f'{flag} "{text}" is another place whenever the command starts, and what comes while it does not run '
            "would be missing: give a time such as 2024-05-17T09:30:00Z, or a cursor"
        )
    return begin


def places_behind(cursor: Cursor, ledger: str, ends: Sequence[Position]) -> Sequence[LogPlace]:
    """The places of the cursor in the partitions of the ledger, whose id is `ledger` and whose log reaches to `ends`.

    Raises ConfigError: it is of another ledger, or names no place in the log.
    """
    try:
        return in_log(cursor, ledger, [LogPlace(end) for end in ends])
    except CursorRefused as error:
        raise ConfigError(f"nobody can begin at {cursor}: {error.reason}") from error


class Behind(NamedTuple):
    """Chooses what stands behind `places`, one in each partition; `number_of` gives the partition of a job."""

    places: Sequence[LogPlace]
    number_of: Callable[[JobUid], int]

    def of(self, published: PublishedEntry, events: Sequence[PublicEvent]) -> Sequence[PublicEvent]:
        """Of the entry's `events` those behind the place in its partition."""
        place = self.places[self.number_of(published.state.uid)]
        return [event for event in events if is_behind(event, place)]
