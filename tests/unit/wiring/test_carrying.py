"""Positions of sinks in a copy of a ledger: nothing is sent again, and nothing is left out."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from jobledger.wiring.carrying import Carried, put
from jobledger.wiring.copying import backed_up, copied
from jobledger.wiring.identity import identity_of
from jobledger.wiring.ledger import reading
from jobledger.wiring.positions import positions_of
from projectors.sinks.feeding import Feeder
from projectors.sinks.port import Batch
from statemachine.log.port import EntryDraft
from statemachine.log.positions import Positions, SinkFailure, SinkPosition
from statemachine.log.sqlite import SqliteLog
from tests.contract.lives import PUBLICATION
from tests.support.scenario import Story, workers
from tests.unit.contract.made import of_story

FAILURE = SinkFailure(
    "aaaa-0000/1/0", "the receiver answered 422", 3, "2026-01-01T00:00:00Z", "2026-01-01T00:01:05Z"
)


class Gathering:
    """A sink that keeps the ids of what it gets."""

    name = "pager"

    def __init__(self) -> None:
        self.ids: list[str] = []

    async def deliver(self, batch: Batch) -> None:
        self.ids += [str(event.attributes["id"]) for event in batch.events]

    async def close(self) -> None:
        """Nothing is open."""


def stories() -> list[Story]:
    return [
        Story(workers(1), name=f"job-{number}", uid=f"aaaa-{number:04}").submit().all_pods("Running")
        for number in range(4)
    ]


async def write(path: Path, written: Sequence[Story], seqs: range) -> None:
    """The entries of all jobs with these numbers, one of each job after the other."""
    log = await SqliteLog.open(path)
    for seq in seqs:
        having = [story for story in written if len(story.bodies) >= seq]
        await log.append([EntryDraft(story.uid, seq, story.bodies[seq - 1]) for story in having])
    await log.close()


async def feed(path: Path) -> list[str]:
    """What a sink gets of the ledger that goes on where its positions say."""
    sink = Gathering()
    async with reading(path) as partitions, positions_of(path) as positions:
        for number, log in enumerate(partitions.logs):
            await Feeder(log, number, sink, PUBLICATION, positions=positions).advance()
    return sink.ids


@asynccontextmanager
async def of(path: Path) -> AsyncIterator[Positions]:
    async with positions_of(path) as positions:
        yield positions


def ids(written: Sequence[Story]) -> set[str]:
    return {str(event.attributes["id"]) for story in written for event in of_story(story)}


async def test_a_sink_that_had_everything_gets_what_is_new_in_the_copy(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    written = stories()
    longest = max(len(story.bodies) for story in written)
    await write(first, written, range(1, longest))
    await identity_of(first, "prod-1")
    before = await feed(first)
    assert before
    await copied(first, second)
    await write(second, written, range(longest, longest + 1))
    after = await feed(second)
    assert after
    assert set(before) | set(after) == ids(written)
    assert not set(before) & set(after)


async def test_a_sink_that_lagged_gets_the_rest_of_the_copy(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    written = stories()
    await write(first, written, range(1, 2))
    await identity_of(first, "prod-1")
    before = await feed(first)
    await write(first, written, range(2, 9))
    await backed_up(first, second)
    after = await feed(second)
    assert set(before) | set(after) == ids(written)
    assert not set(before) & set(after)
    async with of(first) as positions:
        await positions.ask_reset("pager", 0, SinkPosition(0, {}, "1.0", "x"))
    await backed_up(first, second)
    assert set(await feed(second)) == ids(written)


async def test_held_jobs_failures_and_switches_go_along(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    written = stories()
    await write(first, written, range(1, 9))
    await identity_of(first, "prod-1")
    held = SinkPosition(3, {written[0].uid: 2}, "1.0", "fingerprint")
    async with of(first) as positions:
        await positions.save("pager", 0, held)
        await positions.fail("pager", FAILURE)
        await positions.switch("pager", disabled="by mary")
        await positions.fail("chat", FAILURE)
    await copied(first, second)
    async with of(second) as positions:
        assert await positions.load("pager", 0) == held
        assert await positions.failures("pager") == {FAILURE.event: FAILURE}
        assert await positions.disabled("pager") == "by mary"
        assert (await positions.load("chat", 0), await positions.disabled("chat")) == (None, "")
        assert await positions.failures("chat") == {FAILURE.event: FAILURE}


async def test_of_a_ledger_that_nobody_published_of_nothing_goes_along(tmp_path: Path) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    await write(first, stories(), range(1, 9))
    await copied(first, second)
    async with of(second) as positions:
        assert await positions.sinks() == []


async def test_a_position_in_the_copy_is_a_place_in_its_own_log(tmp_path: Path) -> None:
    path, written = tmp_path / "copy.db", stories()
    await write(path, written, range(1, 9))
    held = SinkPosition(900, {written[0].uid: 2}, "1.0", "fingerprint")
    async with reading(path) as partitions, of(path) as positions:
        end = await partitions.logs[0].end()
        await put([Carried("pager", {}, held, (), "")], positions, partitions)
        assert await positions.load("pager", 0) == held._replace(position=end)
