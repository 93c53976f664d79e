"""`jobledger dead-letters retry` while a server runs on the same store."""

import asyncio
from pathlib import Path

import pytest

from statemachine.log.codec import encode_observation
from statemachine.log.port import DeadLetter
from statemachine.log.sqlite import SqliteLog
from tests.integration.cli_words import Place, wait_until
from tests.support.scenario import START, Story, workers

pytestmark = pytest.mark.integration


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def kept(place: Place) -> None:
    """The store has a letter: a job that nobody has heard of."""
    observation = Story(workers(1), name="late", uid="job-late").submit().entries[0].cause
    log = await SqliteLog.open(place.store)
    await log.add_dead_letter(
        DeadLetter(START, observation.job, encode_observation(observation), "ValueError: repaired by now")
    )
    await log.close()


def test_a_running_server_decides_what_is_retried(place: Place) -> None:
    asyncio.run(kept(place))
    with place.server():
        assert place.run("history", "late").returncode == 2
        assert place.ok("dead-letters", "retry", "--all") == "retried 1: JobObserved of job job-late\n"
        wait_until(lambda: place.run("history", "job-late", "-n", "demo").returncode == 0)
    assert place.ok("dead-letters", "retry", "--all") == "nothing to retry\n"
    assert "repaired by now" in place.ok("dead-letters", "list")
