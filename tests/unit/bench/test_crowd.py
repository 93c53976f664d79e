"""Stores of many jobs that are all alike are such as a controller would have written."""

import sqlite3
from contextlib import closing
from pathlib import Path

from statemachine.decide import decide
from statemachine.evolve import fold
from statemachine.ids import JobUid
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.phases import Phase
from tests.bench.crowd import AlikeJobs, write_store

LIVE, ENDED = 3, 4


async def test_jobs_fold_from_their_entries_to_what_their_snapshots_say(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    await write_store(store, LIVE, ENDED)
    restored = await _recovered(store)
    assert (len(restored.open_jobs), len(restored.forgotten)) == (LIVE, ENDED)
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        assert db.execute("DELETE FROM snapshots").rowcount == LIVE + ENDED
    folded = await _recovered(store)
    assert folded.skipped == 0
    assert folded.position == restored.position
    assert folded.forgotten == restored.forgotten
    names = set()
    for job in restored.open_jobs:
        assert folded.tracked(job) == restored.tracked(job)
        names.add(folded.tracked(job).state.name)
        assert folded.tracked(job).state.phase is Phase.RUNNING
    assert len(names) == LIVE


async def _recovered(store: Path) -> Reader:
    log, reader = await SqliteLog.open(store), Reader(keeps=0)
    try:
        await reader.recover(log)
    finally:
        await log.close()
    return reader


def test_what_is_observed_of_a_live_job_later_changes_it_to_its_end() -> None:
    crowd = AlikeJobs.running()
    state = fold(crowd.state, ())
    for observation in crowd.later(999_999_999_999):
        events = decide(state, observation)
        assert events
        state = fold(state, events)
    assert state.phase is Phase.SUCCEEDED


def test_observations_of_a_live_job_are_of_its_number() -> None:
    assert {observation.job for observation in AlikeJobs.running().later(7)} == {
        JobUid("00000000-0000-4000-8000-000000000007")
    }
