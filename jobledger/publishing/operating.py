"""What operators ask of sinks: how they are doing, off and on, elsewhere, and events that were not delivered."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, NamedTuple, Self

from jobledger.program.errors import nearest
from jobledger.publishing.beginnings import places_behind
from jobledger.publishing.cursors import cursor_in, short_id, unusable
from jobledger.publishing.looking import entry_of, newest_of
from jobledger.settings.model import Settings
from jobledger.settings.sinks import ConfiguredSink, FilesSink, LineageSink, WebHookSink, sinks_in
from jobledger.wiring.cluster import log_of
from jobledger.wiring.configured_sinks import chosen_by, ignored, poster
from jobledger.wiring.fed_sink import PublicationOnce
from jobledger.wiring.ledger import reading
from jobledger.wiring.positions import positions_of
from projectors.contract.page import PublicEvent
from projectors.sinks.feeding import Chosen, all_of
from projectors.sinks.resuming import beginning
from statemachine.errors import ConfigError
from statemachine.ids import Position
from statemachine.log.partitions import Partitions
from statemachine.log.port import EventLog
from statemachine.log.positions import Positions, SinkFailure, SinkOrders

_COUNTED: Final = 2_000
"""Positions up to which entries are counted one by one."""


class SinkReport(NamedTuple):
    """How a sink is doing. `behind`: entries that it has yet to get, None where the sink alone knows.

    Of many in Kafka it is a little too large: marks of transactions have positions, too.
    """

    name: str
    type: str
    disabled: str
    behind: int | None
    failed: int


class Operation:
    """The sinks of a ledger: those of the settings' file, and those that only left positions behind."""

    def __init__(
        self,
        configured: Sequence[ConfiguredSink],
        partitions: Partitions,
        positions: Positions,
        naming: PublicationOnce,
    ) -> None:
        self._configured = {sink.name: sink for sink in configured}
        self._partitions, self._naming = partitions, naming
        self.positions = positions

    @classmethod
    @asynccontextmanager
    async def of(cls, settings: Settings, url: str | None, *, writes: bool) -> AsyncIterator[Self]:
        """Of the ledger at `url`, by default the store. Without `writes` nothing is written there.

        Raises ConfigError, LogUnavailable, StoreUnusable.
        """
        configured = sinks_in(settings.events.sinks)
        where = log_of(url, settings) if url else settings.store
        async with AsyncExitStack() as stack:
            partitions = await stack.enter_async_context(reading(where))
            positions = await stack.enter_async_context(positions_of(where, read_only=not writes))
            yield cls(configured, partitions, positions, PublicationOnce(settings, where))

    async def reports(self) -> Sequence[SinkReport]:
        """All sinks, those of the file first."""
        orders = await self.positions.orders()
        names = [*self._configured, *sorted(orders.keys() - self._configured.keys())]
        return [await self._report(name, orders.get(name, SinkOrders())) for name in names]

    async def _report(self, name: str, orders: SinkOrders) -> SinkReport:
        sink = self._configured.get(name)
        behind = None
        if not isinstance(sink, FilesSink):
            known = await self.positions.all(name)
            behind = 0
            for number, log in enumerate(self._partitions.logs):
                behind += await _entries(log, known[number].position if number in known else 0)
        return SinkReport(name, sink.type if sink else "-", orders.disabled, behind, orders.failed)

    async def _ends(self) -> Sequence[Position]:
        return [await log.end() for log in self._partitions.logs]

    async def known(self, name: str) -> str:
        """The name, of which something is known. Raises ConfigError."""
        names = sorted({*self._configured, *await self.positions.sinks()})
        if name not in names:
            near = nearest(name, names)
            hint = f'did you mean "{near}"?' if near else "`jobledger events sinks list` shows all"
            raise ConfigError(f'there is no sink "{name}"; {hint}')
        return name

    def _posting(self, name: str) -> WebHookSink | LineageSink:
        """The sink as the file has it, which posts what it gets. Raises ConfigError."""
        if name not in self._configured:
            raise ConfigError(f'the file of sinks (setting events.sinks) has no sink "{name}"')
        sink = self._configured[name]
        if not isinstance(sink, WebHookSink | LineageSink):
            raise ConfigError(f"the sink {name} is no web hook and no lineage system: nobody there answers")
        return sink

    async def reset(self, name: str, to: str) -> None:
        """The sink goes on at `to`: beginning, end, or a cursor. Raises ConfigError."""
        if isinstance(self._configured.get(name), FilesSink):
            raise ConfigError(
                f"the sink {name} goes on behind the last line of its files: give it another directory instead"
            )
        publication = await self._naming.known()
        for number, position in enumerate(await self._places(to)):
            await self.positions.ask_reset(name, number, beginning(publication, position))

    async def _places(self, to: str) -> Sequence[Position]:
        ends = await self._ends()
        if to in {"beginning", "end"}:
            return ends if to == "end" else [0] * len(ends)
        if (cursor := cursor_in(to)) is None:
            raise unusable(to)
        places = places_behind(cursor, short_id(await self._naming.ledger()), ends)
        return [place.whole for place in places]

    # ---- events ----------------------------------------------------------------------------------------------

    async def test(self, name: str) -> str:
        """Sends the newest event of the sink once more. Empty if it was taken, else why not. Raises ConfigError."""
        sink = self._posting(name)
        newest = await newest_of(self._partitions, await self._naming.known(), chosen_by(sink))
        if newest is None:
            raise ConfigError(f"the log has no event yet that the sink {name} gets")
        return await self._attempt(sink, newest)

    async def retry(self, name: str, failure: SinkFailure) -> str:
        """Sends an event once more. Empty if it was taken, which settles it, else why not. Raises ConfigError."""
        sink = self._posting(name)
        events = await self._events(failure.event, chosen_by(sink))
        if not events:
            return "the log gives no such event to this release"
        for event in events:
            if error := await self._attempt(sink, event):
                return error
        await self.positions.settle_failure(name, failure.event)
        return ""

    async def event(self, id_: str) -> PublicEvent | None:
        """The event with this id, made again; None if the log gives none."""
        return next(iter(await self._events(id_, all_of)), None)

    async def _events(self, id_: str, chosen: Chosen) -> Sequence[PublicEvent]:
        """What a sink gets under this id, in order: of an end of a run that never ran its START, too."""
        published = await entry_of(id_, self._partitions, await self._naming.known())
        events = chosen(published) if published is not None else ()
        return [event for event in events if event.attributes["id"] == id_]

    async def _attempt(self, sink: WebHookSink | LineageSink, event: PublicEvent) -> str:
        hook = poster(sink, ignored)
        try:
            return await hook.attempt(event)
        finally:
            await hook.close()


async def _entries(log: EventLog, position: Position) -> int:
    """How many stand behind the position."""
    distance = await log.end() - position
    if not 0 < distance <= _COUNTED:
        return max(0, distance)
    return sum([len(records) async for records in log.scan(position)])
