"""A ledger copied as a whole: nothing is on its way in the first, and no view tells the past again in the other."""

from collections.abc import Sequence
from pathlib import Path

from jobledger.wiring.carrying import Carried, carried, put
from jobledger.wiring.identity import identity_of, known_identity_of
from jobledger.wiring.ledger import Kafka, reading, writing
from jobledger.wiring.positions import positions_beside, positions_of
from projectors.kube_events import READER
from statemachine.errors import ConfigError, StoreUnusable
from statemachine.ids import Position
from statemachine.log.copying import Copied, NotTheSame, copy
from statemachine.log.partitions import Merged, Partitions


async def backed_up(source: Path | Kafka, target: Path | Kafka) -> Copied:
    """`target` holds a beginning of each history in `source`, which others may write meanwhile.

    A partition is read up to the end that it has when its turn comes. A job is in one partition, and its entries
    follow each other there, so any beginning of a partition is a ledger. What is not decided yet is left out.

    Raises:
        StoreUnusable: one of them cannot be used.
        NotTheSame: see `statemachine.log.copying.copy`. So is LogError.
        ConfigError: they have different names.
    """
    if isinstance(source, Kafka):
        async with reading(source) as read, writing(target) as written:
            return await _begun(source, read, target, written)
    from statemachine.log.sqlite import SqliteLog

    log = await SqliteLog.open(source, read_only=True)
    try:
        async with writing(target) as written:
            return await _begun(source, Partitions([log]), target, written)
    finally:
        await log.close()


async def _begun(source: Path | Kafka, read: Partitions, target: Path | Kafka, written: Partitions) -> Copied:
    """How far sinks are is asked before the copy is made: what they get meanwhile, the copy sends again."""
    sinks: Sequence[Carried] = ()
    if await _named(source, target):  # else nobody has published of it
        async with positions_of(source, read_only=True) as positions:
            sinks = await carried(positions, read)
    copied = await copy(Merged(read), written)
    await _skip_past_events(written)
    async with positions_beside(written, target) as positions:
        await put(sinks, positions, written)
    return copied


async def copied(source: Path | Kafka, target: Path | Kafka) -> Copied:
    """`target` holds what `source` does. Nobody may write either meanwhile.

    Raises:
        StoreUnusable: `source` holds an observation that is not decided; or one of them cannot be used.
        NotTheSame: somebody has written `source` meanwhile; or see `statemachine.log.copying.copy`.
        LogError: see there.
        ConfigError: they have different names.
    """
    if isinstance(source, Kafka):
        return await _from_kafka(source, target)
    from statemachine.log.sqlite import SqliteLog
    from statemachine.log.sqlite_inbox import SqliteInbox

    log = await SqliteLog.open(source, read_only=True)
    try:
        _refuse(await SqliteInbox(log.store).waiting(), f"store {source}", f"--store {source}")
        return await _copied(source, Partitions([log]), target)
    finally:
        await log.close()


async def _from_kafka(source: Kafka, target: Path | Kafka) -> Copied:
    from statemachine.engine.kafka.offsets import Offsets
    from statemachine.log.kafka.topics import partitions

    numbers = range(await partitions(source.address))
    async with Offsets(source.address) as offsets:
        begins, ends = await offsets.begins(numbers), await offsets.ends(numbers)
    _refuse(sum(ends.values()) - sum(begins.values()), str(source), f"--roles engine --log {source}")
    async with reading(source) as read:
        return await _copied(source, read, target)


async def _copied(source: Path | Kafka, read: Partitions, target: Path | Kafka) -> Copied:
    ends = await _ends(read)
    async with writing(target) as written:
        begun = await _begun(source, read, target, written)
        if await _ends(read) != ends:
            raise NotTheSame("somebody writes the log that is copied: stop the controller, and copy again")
        return begun


async def _named(source: Path | Kafka, target: Path | Kafka) -> bool:
    """The copy is called as the first is, so that its public events are the same; it is another ledger all the same.

    False if the first has no name yet.

    Raises ConfigError: the target is called otherwise, for good.
    """
    if (known := await known_identity_of(source)) is None:
        return False
    there = await known_identity_of(target)
    if there is not None and there.name != known.name:
        raise ConfigError(
            f"the ledger in {source} is called {known.name}, and that in {target} {there.name}: a copy has the name "
            "of the original, and a name stays; copy to one that has none"
        )
    await identity_of(target, known.name)
    return True


async def _ends(ledger: Partitions) -> list[Position]:
    return [await log.end() for log in ledger.logs]


async def _skip_past_events(target: Partitions) -> None:
    """The projector of Kubernetes Events begins behind what was copied: the first one wrote those of the past."""
    for log in target.logs:
        if not await log.checkpoint(READER):
            await log.save_checkpoint(READER, await log.end())


def _refuse(undecided: int, where: str, flags: str) -> None:
    if undecided:
        raise StoreUnusable(
            f"{where} holds what is not decided yet and would be left behind (observations: {undecided}): stop "
            f"the bridge, let `jobledger controller {flags}` decide it, then stop that and copy"
        )
