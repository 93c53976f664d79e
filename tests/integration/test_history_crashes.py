"""Projectors of the history killed with SIGKILL, again and again: the tables are those of a fold from offset 0.

The rivals of those that are killed have real starts.
"""

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from jobledger.settings.sections import KafkaSettings
from jobledger.wiring.history import Where, opened, streams_of, where_of
from jobledger.wiring.ledger import Kafka, reading, writing
from jobledger.wiring.rebuilding import rebuild
from projectors.history import History
from statemachine.ids import JobUid
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft
from statemachine.log.reader import Reader
from tests.harness import program
from tests.support.history_rows import jobs_of
from tests.support.logs import history
from tests.support.repetition import kills
from tests.support.seeds import chance

pytestmark = pytest.mark.integration

KILLS = kills(3)
JOBS = 24
LENGTH = 120
"""Entries of each job."""

Contents = tuple[Sequence[object], Sequence[object]]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a history that is not there yet."""
    if request.param == "sqlite":
        return f"sqlite://{tmp_path}/history.db"
    return str(request.getfixturevalue("postgres_database"))


@pytest.fixture(params=["sqlite", "kafka"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path | Kafka:
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    return Kafka.of(str(request.getfixturevalue("ledger_topics")), KafkaSettings(feed="aiokafka"))


@pytest.mark.timeout(600)
async def test_a_projector_that_is_killed_again_and_again_leaves_exactly_what_the_log_says(
    log: Path | Kafka, url: str, tmp_path: Path
) -> None:
    choices, while_growing = chance(7), 0
    async with writing(log) as partitions:
        lives = [history(LENGTH, JobUid(f"job-{number}")) for number in range(JOBS)]
        pace = Pace()
        writer = asyncio.create_task(write(partitions, lives, choices, pace))
        for _ in range(KILLS):
            with projecting(log, url, real=True) as rival, projecting(log, url) as victim:
                for process in (rival, victim):
                    await asyncio.to_thread(working, process)
                pace.goes_on.set()
                await asyncio.sleep(choices.uniform(0, 0.6))
                while_growing += not writer.done()
                victim.kill()
                await asyncio.sleep(choices.uniform(0, 0.2))
                rival.kill()
                pace.goes_on.clear()
        pace.hurry()
        await writer
    assert while_growing, "no projector was killed while there was something to project"
    assert await contents(log, place(url)) == await whole(log, tmp_path)


@pytest.mark.timeout(600)
async def test_a_rebuild_beside_a_projector_that_works_on_a_log_that_grows_does_no_harm(
    log: Path | Kafka, url: str, tmp_path: Path
) -> None:
    said = f"sqlite://{log}" if isinstance(log, Path) else str(log)
    words = ["history", "--rebuild", "--log", said, "--history", url]
    async with writing(log) as partitions:
        lives = [history(LENGTH, JobUid(f"job-{number}")) for number in range(JOBS)]
        pace = Pace()
        writer = asyncio.create_task(write(partitions, lives, chance(3), pace))
        with projecting(log, url) as other:
            await asyncio.to_thread(working, other)
            pace.goes_on.set()
            for _ in range(2):
                done = await asyncio.to_thread(program.run, *words)
                assert (done.returncode, done.stderr) == (0, "")
                assert done.stdout.startswith("the history has been made again: ")
            pace.hurry()
            await writer
            other.kill()
    assert await contents(log, place(url)) == await whole(log, tmp_path)


async def whole(log: Path | Kafka, tmp_path: Path) -> Contents:
    """What a history holds that is made in one go, from the first entry on."""
    fresh = tmp_path / "whole.db"
    counts = await rebuild(log, fresh, lambda _: None)
    assert counts == (JOBS, JOBS * LENGTH)
    expected = await contents(log, fresh)
    assert len(expected[1]) == JOBS * LENGTH
    return expected


class Pace:
    """How fast a writer goes: not before it may, then slowly, and in the end without pauses."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()
        self._pause = 0.08

    def hurry(self) -> None:
        """There is nothing left to wait for."""
        self._pause = 0.0
        self.goes_on.set()

    async def keep(self) -> None:
        """It is time for the next step."""
        await asyncio.sleep(self._pause)
        await self.goes_on.wait()


async def write(partitions: Partitions, lives: list[list[EntryDraft]], choices: Random, pace: Pace) -> None:
    """All lives, a few entries at a time, with snapshots in between as an engine takes them."""
    readers = [Reader() for _ in partitions.logs]
    while lives := [life for life in lives if life]:
        some = choices.choice(lives)
        number = partitions.number_of(some[0].job)
        log, reader = partitions.logs[number], readers[number]
        count = choices.randrange(1, 40)
        for record in await log.append(some[:count]):
            reader.accept(record)
        del some[:count]
        if not choices.randrange(10):
            snapshots = reader.unsaved()
            await log.save_snapshots(reader.position, snapshots)
            reader.saved(snapshots)
        await pace.keep()


def projecting(log: Path | Kafka, url: str, *, real: bool = False) -> "subprocess.Popen[str]":
    module = "tests.integration.history_process"
    return program.start(str(log), url, module=module, stdout=subprocess.PIPE, text=True, real=real)


def working(process: "subprocess.Popen[str]") -> None:
    """It has begun. It may have ended already."""
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"


def place(url: str) -> Where:
    where = where_of(url)
    assert where is not None
    return where


async def contents(log: Path | Kafka, where: Where) -> Contents:
    """All rows of a history, which is brought to the end of the log first."""
    async with reading(log) as partitions, opened(where) as database:
        for streams in streams_of(database, partitions.logs):
            await streams[0].advance()
        view = History(database)
        jobs = await jobs_of(view)
        return jobs, [entry for job in jobs for entry in await view.entries(job.uid)]
