"""A partition's public events → a sink: from behind what it has, and further as the log grows."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Final, NamedTuple

from projectors.contract.catalogue import short_name
from projectors.contract.page import PublicEvent, index_of
from projectors.contract.publication import Publication
from projectors.contract.stream import PublishedEntry
from projectors.sinks.port import Batch, Positioned, Sink, Telling
from projectors.sinks.resuming import PublicTail, beginning
from statemachine.errors import ConfigError
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.port import EventLog
from statemachine.log.positions import Positions, SinkPosition

_MOST: Final = 200
"""Entries in a batch."""

_FULL: Final = 2**20
"""Bytes of data from which on a batch is full; an entry is never split."""

_TURN: Final = 10
"""Entries behind which others get their turn: half a millisecond of work, in which a receiver may have answered."""

Chosen = Callable[[PublishedEntry], Sequence[PublicEvent]]


class Start(NamedTuple):
    """Where a sink begins: with what stands behind `position`.

    `passed`: of the entry right behind it, what the sink is to get follows the event with this index; None: is all.
    """

    position: Position = 0
    passed: int | None = None


Starting = Callable[[], Awaitable[Start]]
"""Looks up in the log where a sink begins that has nothing yet. Raises LogUnavailable."""


def all_of(published: PublishedEntry) -> Sequence[PublicEvent]:
    """Every public event of an entry."""
    return published.events


async def _batches(tail: PublicTail) -> AsyncGenerator[Sequence[PublishedEntry]]:
    """What the tail gives, for one delivery each; while one goes on, the next is made."""
    entries: list[PublishedEntry] = []
    count = size = 0
    async for published in tail.more():
        count += 1
        if published is not None:
            entries.append(published)
            size += sum(len(event.data) for event in published.events)
        if count == _MOST or size >= _FULL:
            yield entries
            entries, count, size = [], 0, 0
        elif count % _TURN == 0:
            await asyncio.sleep(0)
    if count:
        yield entries


class Feeder:
    """Feeds `sink` from `log`, which is partition `number`: all events, or of an entry those that `chosen` gives.

    The sink itself says how far it is (see port), or `positions` do. Where neither knows, it begins at the beginning,
    or at `start`, which is kept in `positions` at once: the same words may mean a later place at the next start, and
    what came in between would be missing.
    """

    def __init__(
        self,
        log: EventLog,
        number: int,
        sink: Sink,
        publication: Publication,
        *,
        positions: Positions | None = None,
        chosen: Chosen = all_of,
        start: Starting | None = None,
    ) -> None:
        self._log, self._number, self._sink, self._publication = log, number, sink, publication
        self._positions, self._chosen, self._start = positions, chosen, start
        self._tail: PublicTail | None = None
        self._last: str | None = None
        self._begun = Start()
        self._upto: SinkPosition | None = None
        self.settled: Counter[str] = Counter()
        """Events so far that the sink has, or is known not to have, by type."""
        self.scrubbed = 0
        """How many of these had something taken out of a text."""
        self.waiting_since: datetime | None = None
        """When the ledger recorded the oldest entry that is being delivered."""

    @property
    def reached(self) -> Position:
        """Everything up to this position is settled; 0 before it is known."""
        return self._upto.position if self._upto is not None else 0

    @property
    def held(self) -> Mapping[JobUid, Seq]:
        """Jobs of which not everything could be published, and from which entry on."""
        return self._upto.held if self._upto is not None else {}

    async def advance(self) -> None:
        """The sink has what the log has, as it was when this was called.

        Raises:
            LogUnavailable, StoreUnusable: the log or the positions are out of reach.
            ConfigError: the sink cannot be fed; see Sink. Or the last event that it has is none of this log.
        """
        tail, self._tail = self._tail or await self._resumed(), None
        delivery: asyncio.Task[None] | None = None
        try:
            async with aclosing(_batches(tail)) as batches:
                async for entries in batches:
                    if delivery is not None:
                        await delivery
                    delivery = asyncio.create_task(self._settle(tail.upto, entries), name=self._sink.name)
            if delivery is not None:
                await delivery
        finally:
            if delivery is not None:
                delivery.cancel()
                await asyncio.gather(delivery, return_exceptions=True)  # it may have failed, or do so now
        if self._last is not None:
            raise self._foreign(self._last)
        # only now: if something fails half-way, the tail is ahead of the sink
        self._tail, self.waiting_since = tail, None
        # behind the last entry marks of transactions may stand, which no sink has to get
        self._upto = tail.upto

    def forget(self) -> None:
        """Somebody else may feed the sink from now on, or it goes on elsewhere."""
        self._tail = self._upto = self._last = self.waiting_since = None
        self._begun = Start()

    async def _resumed(self) -> PublicTail:
        self._last = await self._sink.last(self._number) if isinstance(self._sink, Telling) else None
        at = await self._position()
        end = await self._log.end()
        if at.position > end:
            raise ConfigError(
                f"the sink {self._sink.name} has partition {self._number} up to position {at.position}, and the log "
                f"ends at {end}: it was fed from another log; say where it is to go on with "
                f"`jobledger events sinks reset {self._sink.name} --to beginning`, or `--to end`"
            )
        self._upto = at
        return PublicTail(self._log, self._publication, at)

    async def _position(self) -> SinkPosition:
        if self._last is not None:
            return beginning(self._publication, await self._gapless(self._last))
        await self._reset()
        at = self._upto
        if isinstance(self._sink, Positioned):
            at = await self._sink.position(self._number)
        elif at is None and self._positions is not None and not isinstance(self._sink, Telling):
            at = await self._positions.load(self._sink.name, self._number)
        return at or await self._started()

    async def _started(self) -> SinkPosition:
        """The sink has nothing yet, and begins."""
        if self._start is None:
            return beginning(self._publication)
        self._begun = await self._start()
        at = beginning(self._publication, self._begun.position)
        if self._begun.passed is None:
            await self._save(at)
        return at

    async def _reset(self) -> None:
        """The sink goes on where somebody has asked it to."""
        if self._positions is None:
            return
        name, number = self._sink.name, self._number
        if (asked := await self._positions.reset_asked(name, number)) is not None:
            await self._positions.save(name, number, asked)
            await self._positions.reset_done(name, number)
            self._upto, self._begun = None, Start()

    async def _settle(self, upto: SinkPosition, entries: Sequence[PublishedEntry]) -> None:
        if entries:
            self.waiting_since = entries[0].entry.seen_at
        events = self._new([event for published in entries for event in self._wanted(published)])
        await self._sink.deliver(Batch(self._number, events, upto))
        await self._save(upto)
        self._upto = upto
        self.settled.update(short_name(str(event.attributes["type"])) for event in events)
        self.scrubbed += sum(event.is_scrubbed for event in events)

    def _wanted(self, published: PublishedEntry) -> Sequence[PublicEvent]:
        events = self._chosen(published)
        passed = self._begun.passed
        if passed is None or published.position != self._begun.position + 1:
            return events
        return [event for event in events if index_of(event) > passed]

    async def _save(self, at: SinkPosition) -> None:
        """The position is kept, if the sink does not do so itself."""
        if self._positions is not None and not isinstance(self._sink, (Positioned, Telling)):
            await self._positions.save(self._sink.name, self._number, at)

    # ---- a sink that shows its last event ------------------------------------------------------------------

    async def _gapless(self, last: str) -> Position:
        """As `_before`, of a sink that has nothing from before its start, or all up to it."""
        before = await self._before(last)
        start = await self._start() if self._start is not None else Start()
        if before < start.position - 1:
            raise ConfigError(
                f"partition {self._number} of {self._sink.name} ends with the event {last}, which stands before the "
                "place to begin at: what is between them would be missing. Without --from it goes on behind that "
                "event; or give one that is empty"
            )
        return before

    async def _before(self, last: str) -> Position:
        """A position right before the entry of the event with this id."""
        job, _, rest = last.partition("/")
        seq = rest.partition("/")[0]
        if seq.isdecimal():
            pages = self._log.scan(job=JobUid(job)) if self._log.finds_jobs else self._log.scan()
            async for records in pages:
                for record in records:
                    if record.job == job and record.seq == int(seq):
                        return record.position - 1
        raise self._foreign(last)

    def _new(self, events: Sequence[PublicEvent]) -> Sequence[PublicEvent]:
        """The events behind the last one that the sink had."""
        if self._last is None:
            return events
        for place, event in enumerate(events, 1):
            if event.attributes["id"] == self._last:
                self._last = None
                return events[place:]
        return ()

    def _foreign(self, last: str) -> ConfigError:
        return ConfigError(
            f"the last event in {self._sink.name}, {last}, is none that this release makes of the log: it is of "
            "another ledger or a later release; give another directory"
        )
