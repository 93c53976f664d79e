"""The log and what is read of it: one bad history, old histories, repeats, and numbers that were used."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from jobledger.wiring.levels import Levels
from projectors.history import HistoryProjector, SqliteDatabase
from projectors.history.database import Change
from statemachine import moving
from statemachine.engine.step import Delivery, Owner
from statemachine.errors import EntryUnreadable, ViewUnavailable
from statemachine.events import ReplicaRequested
from statemachine.log import codec
from statemachine.log import reader as reader_module
from statemachine.log.codec import entry_hash
from statemachine.log.entry import Entry, EntryEvents
from statemachine.log.port import Record
from statemachine.log.reader import Reader, Tracked, read
from statemachine.log.store import SqliteStore
from statemachine.state import ReplicaState
from tests.histories.record import HERE
from tests.museum.exhibit import exhibit, given, swap
from tests.museum.scene import Scene
from tests.support.controllers import controller_of
from tests.support.logs import JOB, OTHER, chain, history, placed, said
from tests.support.memory_log import MemoryLog
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock, on_simulated_time


def folded(records: Iterable[Record]) -> Reader:
    """A reader of these records, as far as it comes."""
    reader = Reader()
    try:
        for record in records:
            reader.accept(record)
    except EntryUnreadable:
        return reader
    return reader


def fatal(_: Reader, record: Record, _last: Tracked, reason: str) -> None:
    raise EntryUnreadable(reason, record.body)


@exhibit(
    "flux-framework/flux-core#5147",
    "One job that could not be replayed kept the job manager from starting at all.",
    wrong=(swap(Reader, "_quarantine", fatal),),
)
def test_flux_framework_flux_core_5147_one_history_that_cannot_be_read_stops_no_other() -> None:
    mine, theirs = history(3), history(3, OTHER)
    broken = replace(mine[1], body=b"\x00" + mine[1].body[1:])
    reader = folded(placed([mine[0], theirs[0], broken, theirs[1], mine[2], theirs[2]]))
    assert reader.tracked(OTHER).seq == 3
    assert list(reader.quarantined) == [JOB]


def without_phases(body: bytes) -> EntryEvents:
    return RIGHT_DECODING(body.replace(b'"PhaseEntered"', b'"PhaseWasEntered"'))


RIGHT_DECODING = codec.decode_events


@exhibit(
    "flux-framework/flux-core#4398",
    "A release replayed old jobs by events that only new ones have, and did not start on stored jobs.",
    wrong=(swap(reader_module, "decode_events", without_phases),),
)
def test_flux_framework_flux_core_4398_what_the_first_release_wrote_can_be_read() -> None:
    files = sorted((HERE / "0.1.0").glob("*.jsonl"))
    given(len(files) > 3, "there are histories of the first release")
    unreadable = {}
    for file in files:
        bodies = file.read_bytes().splitlines()
        job = RIGHT_DECODING(bodies[0]).job
        records = [Record(place, job, place, body) for place, body in enumerate(bodies, 1)]
        unreadable[file.stem] = folded(records).quarantined
    assert unreadable == {file.stem: {} for file in files}


def whatever_comes(_: Reader, record: Record, _last: Tracked) -> Entry | EntryEvents:
    return read(record)


@exhibit(
    "flux-framework/flux-core#2547",
    "An event log held entries twice, and a reader that relied on one of each corrupted its memory.",
    wrong=(swap(Reader, "_next", whatever_comes),),
)
def test_flux_framework_flux_core_2547_an_entry_that_is_there_twice_counts_once() -> None:
    one, two, three = history(3)
    reader = folded(placed([one, two, two, one, three]))
    assert (reader.tracked(JOB).seq, reader.skipped) == (3, 2)


def all_forgotten(replica: ReplicaState) -> ReplicaState:
    return ReplicaState(replica.name)


@exhibit(
    "flux-framework/flux-core#4300",
    "The highest job id was only saved at an orderly stop; after a crash used ids were given out again.",
    wrong=(swap(moving, "forgotten", all_forgotten),),
)
def test_flux_framework_flux_core_4300_no_attempt_has_a_number_twice() -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 3}
    story = TorchStory(training(master=False, workers=2, elastic=elastic)).submit().up()
    for _ in range(3):
        story.scale(1).all_gone().scale(2).up()
    asked = [
        event.attempt
        for entry in story.entries
        for event in entry.events
        if isinstance(event, ReplicaRequested) and event.replica == "worker-1"
    ]
    assert asked == [1, 2, 3, 4]


class Unsteady(SqliteDatabase):
    """A database that does not take one change."""

    refusals = 0

    async def change(self, partition: int, change: Change) -> None:
        """What `change` says is done, or the database is away."""
        if self.refusals:
            self.refusals -= 1
            raise ViewUnavailable("the database is away")
        await super().change(partition, change)


async def ahead_of_the_rows(self: HistoryProjector) -> bool:
    reader = self._reader or await self._start()
    self._reader = reader
    async for batch in self._log.scan(reader.position):
        await self._take(reader, batch)
    return True


@exhibit(
    "armadaproject/armada#5084",
    "A view acknowledged the messages of a batch whose updates had not been written; those were missing for good.",
    wrong=(swap(HistoryProjector, "_followed", ahead_of_the_rows),),
)
def test_armadaproject_armada_5084_a_view_goes_on_where_its_rows_end() -> None:
    async def entries(folder: str) -> int:
        log = MemoryLog()
        store = await SqliteStore.open(Path(folder) / "view.db")
        database = Unsteady(store)
        projector = HistoryProjector(log, database)
        await log.append(history(2))
        await projector.advance()
        await log.append(chain(said("once more"), after=2, prev=entry_hash(history(2)[1].body)))
        database.refusals = 1
        for _ in range(2):
            with suppress(ViewUnavailable):
                await projector.advance()
        number = await projector.history.count_entries()
        await store.close()
        return number

    with TemporaryDirectory() as folder:
        assert asyncio.run(entries(folder)) == 3


@exhibit(
    "temporalio/temporal#459",
    "Tasks that had been scheduled and not handed on were lost when the process that hands them on was restarted.",
    wrong=(swap(Levels, "add", lambda *_: None),),
)
@on_simulated_time
async def test_temporalio_temporal_459_what_was_decided_before_a_crash_is_done_after_it() -> None:
    story, log = Story(workers(1)).submit(), MemoryLog()
    scene = Scene(story)
    await scene.submit()
    await Owner(log, Reader(), LoopClock(START)).take([Delivery(entry.cause) for entry in story.entries])
    controller = asyncio.create_task(controller_of(log, scene.cluster, LoopClock(START)).run())
    await asyncio.wait([controller], timeout=60)
    controller.cancel()
    await asyncio.wait([controller])
    assert [pod["metadata"]["name"] for pod in scene.pods()] == ["mnist-7ac1b-worker-0"]
