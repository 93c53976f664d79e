"""A ledger opened: what a controller needs of its log, whether that is a file or topics in Kafka."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Self

from jobledger.settings.locations import make_default_folder
from jobledger.settings.sections import KafkaSettings
from jobledger.settings.values import in_pod
from jobledger.wiring import history as views
from jobledger.wiring.keys import key_of
from jobledger.wiring.roles import Role, Roles
from jobledger.wiring.share import Share
from jobledger.wiring.streams import Stream
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Worker
from statemachine.errors import StoreUnusable
from statemachine.log.inbox import Inbox, MemoryInbox, Outbox, Trace, untraced
from statemachine.log.partitions import Merged, Partitions
from statemachine.log.port import EventLog
from statemachine.log.room import Room

if TYPE_CHECKING:
    from statemachine.engine.kafka.worker import FeedName
    from statemachine.log.kafka.address import Address


@dataclass(frozen=True, slots=True)
class Kafka:
    """A log in Kafka: where its topics are, what feeds an engine, its name, and its patience (seconds)."""

    address: "Address"
    feed: "FeedName"
    instance: str
    session: float

    @classmethod
    def of(cls, url: str, settings: KafkaSettings) -> Self:
        """What the URL and the settings say. Raises ConfigError."""
        from statemachine.log.kafka import privates
        from statemachine.log.kafka.address import Address

        privates.check(faust=settings.feed == "faust")
        address = Address.of(url, settings.security())
        address.options()  # files that cannot be read are reported at once
        instance = settings.instance or (gethostname() if in_pod() else "")
        return cls(address, settings.feed, instance, settings.session)

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The partitions as this process reads them, and what decides and projects them here.

    `inbox` carries observations between processes (None: no other puts any), `outbox` leads to the process that
    decides, where that takes them from a topic. With a `worker` the role of an engine is the worker's, everything
    else follows the log. Of several processes that project, each does its `share` of the partitions. `streams`: the
    stream projectors of each partition beside the built-in ones, in the order of their numbers. `room` is what is
    known of the disk.
    """

    partitions: Partitions
    streams: Sequence[Sequence[Stream]] = ()
    inbox: Inbox | None = None
    outbox: Outbox | None = None
    worker: Worker | None = None
    share: Share | None = None
    check: ClockCheck | None = None
    """Our clock against another, where there is one, and this process writes the log."""
    room: Room = field(default_factory=Room)

    @property
    def way(self) -> Outbox:
        """The way to the process that decides; where there is none, to nobody."""
        return self.outbox or self.inbox or MemoryInbox()


@asynccontextmanager
async def ledger_of(
    log: Path | Kafka,
    roles: Roles,
    history: views.Where | None = None,
    trace: Trace = untraced,
    *,
    key_file: Path | None = None,
) -> AsyncIterator[Ledger]:
    """The ledger for a process with these roles, its history at `history`; then all of it is closed.

    Projectors bring the history on; a front by itself shows what they made, and needs no right to write there.

    `trace` tells the trace contexts of observations that leave the process. `key_file` has the key of snapshots.

    Raises:
        StoreInUse, StoreUnusable, LogUnavailable: the log cannot be this process's.
        ConfigError: the history's database lets nobody in, or is newer than this program; or there is no such key.
    """
    if isinstance(log, Path):
        make_default_folder(log)
    key = key_of(key_file, log if isinstance(log, Path) else None, roles)
    history = history if roles & {Role.PROJECTORS, Role.FRONT} else None
    opened = (
        _in_kafka(log, roles, history, trace, key)
        if isinstance(log, Kafka)
        else _in_file(log, roles, history, key)
    )
    async with opened as ledger:
        yield ledger


@asynccontextmanager
async def _in_file(
    path: Path, roles: Roles, history: views.Where | None, key: bytes | None
) -> AsyncIterator[Ledger]:
    from statemachine.log.sqlite import SqliteLog
    from statemachine.log.sqlite_inbox import SqliteInbox

    event_log = await SqliteLog.open(path, beside=Role.ENGINE not in roles, key=key)
    try:
        reads = Role.PROJECTORS not in roles
        async with views.opened_or_beside(history, event_log.store, read_only=reads) as database:
            streams = views.streams_of(database, [event_log])
            yield Ledger(Partitions([event_log]), streams, await SqliteInbox.open(event_log.store))
    finally:
        await event_log.close()


@asynccontextmanager
async def reading_kafka(kafka: Kafka) -> AsyncIterator[Merged]:
    """The whole ledger, to be read. Raises LogUnavailable, StoreUnusable."""
    async with reading(kafka) as partitions:
        yield Merged(partitions)


@asynccontextmanager
async def reading(log: Path | Kafka) -> AsyncIterator[Partitions]:
    """The partitions of the whole ledger, to be read. Raises LogUnavailable, StoreUnusable."""
    if isinstance(log, Kafka):
        from statemachine.log.kafka import topics

        count = await topics.partitions(log.address)
        async with _opened(log.address, range(count)) as logs:
            yield _partitions(logs, count)
        return
    from statemachine.log.sqlite import SqliteLog

    event_log = await SqliteLog.open(log, read_only=True)
    try:
        yield Partitions([event_log])
    finally:
        await event_log.close()


@asynccontextmanager
async def writing(log: Path | Kafka) -> AsyncIterator[Partitions]:
    """The whole ledger, this process's to write. Raises as `ledger_of` does."""
    if isinstance(log, Kafka):
        count = await _checked(log.address)
        async with _opened(log.address, range(count), read_only=False) as logs:
            yield _partitions(logs, count)
        return
    from statemachine.log.sqlite import SqliteLog

    event_log = await SqliteLog.open(log)
    try:
        yield Partitions([event_log])
    finally:
        await event_log.close()


async def _checked(address: "Address") -> int:
    """The number of partitions of topics that lose nothing. Raises LogUnavailable, StoreUnusable."""
    from statemachine.log.kafka.layout import EVENTS
    from statemachine.log.kafka.topics import survey

    surveyed = await survey(address)
    if wrong := surveyed.wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise StoreUnusable(
            f"{wrong[0]}{more} `jobledger topics apply --log {address}` sets right what can be"
        )
    return surveyed.there[address.topic(EVENTS.name)].partitions


@asynccontextmanager
async def _in_kafka(
    kafka: Kafka, roles: Roles, history: views.Where | None, trace: Trace, key: bytes | None
) -> AsyncIterator[Ledger]:
    """An engine alone reads only what it owns."""
    from statemachine.engine.clock import WallClock
    from statemachine.engine.kafka.share import KafkaShare
    from statemachine.engine.kafka.worker import Worker as KafkaWorker
    from statemachine.log.kafka.outbox import KafkaOutbox

    address = kafka.address
    count = await _checked(address)
    async with AsyncExitStack() as stack:
        logs = await stack.enter_async_context(
            _opened(address, range(count if roles != {Role.ENGINE} else 0), key=key)
        )
        outbox = await KafkaOutbox.open(address, trace)
        stack.push_async_callback(outbox.close)
        worker = (
            KafkaWorker(
                address, kafka.feed, WallClock(), instance=kafka.instance, session=kafka.session, key=key
            )
            if Role.ENGINE in roles
            else None
        )
        share = (
            KafkaShare(address, instance=kafka.instance, session=kafka.session)
            if Role.PROJECTORS in roles
            else None
        )
        check = worker.check if worker is not None else None
        reads = Role.PROJECTORS not in roles
        database = await stack.enter_async_context(views.opened_or_beside(history, None, read_only=reads))
        streams = views.streams_of(database, logs)
        yield Ledger(
            _partitions(logs, count), streams, outbox=outbox, worker=worker, share=share, check=check
        )


@asynccontextmanager
async def _opened(
    address: "Address", numbers: Iterable[int], *, read_only: bool = True, key: bytes | None = None
) -> AsyncIterator[Sequence[EventLog]]:
    """The logs of these partitions."""
    from statemachine.log.kafka.log import KafkaLog

    async with AsyncExitStack() as stack:
        logs = []
        for number in numbers:
            logs.append(await KafkaLog.open(address, number, read_only=read_only, key=key))
            stack.push_async_callback(logs[-1].close)
        yield logs


def _partitions(logs: Sequence[EventLog], count: int) -> Partitions:
    from statemachine.log.kafka.partitioner import partition_of

    return Partitions(logs, partial(partition_of, partitions=count))
