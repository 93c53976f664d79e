"""Snapshots of a store that has a key: what no holder of it has made is not used, and the log says the same."""

import asyncio
import hmac
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from statemachine.engine.step import Delivery, Owner
from statemachine.errors import InvariantBroken
from statemachine.ids import JobUid
from statemachine.log.codec import decode_state, encode_state
from statemachine.log.reader import Reader
from statemachine.log.seal import Seal
from statemachine.log.sqlite import SqliteLog
from statemachine.observations import Observation
from statemachine.phases import Phase
from statemachine.state import changed
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock

KEY, ANOTHER = b"k" * 32, b"a" * 32
DONE, LIVE, GONE = JobUid("done"), JobUid("live"), JobUid("gone")


def test_marks_are_macs_as_python_s_library_makes_them() -> None:
    key = hmac.digest(KEY, b"snapshot here", "sha512")
    digest = hmac.digest(key, b"4 live7 1 head", "sha512")
    mark = Seal(KEY, "here").mark(b"live", b"7 1 head")
    assert (mark.mac, mark.member) == (digest[:32], int.from_bytes(digest[32:]))
    covered = hmac.digest(KEY, b"covered here", "sha512")
    assert Seal(KEY, "here").whole(b"9 2", 5) == hmac.digest(covered, bytes(31) + b"\x059 2", "sha512")[:32]


def life(uid: JobUid) -> Story:
    return Story(workers(2), uid=uid).submit().at(5).all_pods("Running")


def causes(story: Story) -> Sequence[Observation]:
    return [entry.cause for entry in story.entries]


def succeeded() -> Story:
    return life(DONE).at(9).pod("worker-0", "Succeeded")


@asynccontextmanager
async def opened(path: Path, key: bytes | None = KEY) -> AsyncIterator[SqliteLog]:
    log = await SqliteLog.open(path, key=key)
    try:
        yield log
    finally:
        await log.close()


async def save(log: SqliteLog, reader: Reader) -> None:
    snapshots = reader.unsaved()
    await log.save_snapshots(reader.position, snapshots)
    reader.saved(snapshots)


async def decided(path: Path, key: bytes | None, *batches: Sequence[Observation]) -> None:
    """An engine took the batches, and saved the states after each."""
    async with opened(path, key) as log:
        reader = Reader(keeps=0)
        await reader.recover(log)
        owner = Owner(log, reader, LoopClock(START))
        for batch in batches:
            await owner.take([Delivery(observation) for observation in batch])
            await save(log, reader)


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    """A job that has succeeded after it was saved while it ran, one that lives, one that is closed."""
    path, closed = tmp_path / "store.db", life(GONE).delete().gone("worker-0").gone("worker-1")
    early = causes(life(DONE))
    late = [*causes(succeeded())[len(early) :], *causes(life(LIVE)), *causes(closed)]
    await decided(path, KEY, early, late)
    return path


class Start(NamedTuple):
    """What a process knows when it has begun, and how many snapshots it did not use."""

    reader: Reader
    refused: int


async def started(path: Path, key: bytes | None = KEY) -> Start:
    async with opened(path, key) as log:
        reader = Reader(keeps=0)
        await reader.recover(log)
        return Start(reader, log.refused_snapshots)


async def recovered(path: Path, key: bytes | None = KEY) -> Reader:
    return (await started(path, key)).reader


def edit(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def row(path: Path, job: JobUid) -> tuple[object, ...]:
    query = (
        "SELECT s.seq, s.head, s.version, s.body, m.digest, m.mac FROM snapshots s "
        "JOIN snapshot_macs m ON m.snapshot = s.rowid WHERE s.job = ?"
    )
    with closing(sqlite3.connect(path)) as db:
        row: tuple[object, ...] = db.execute(query, (job,)).fetchone()
    return row


def body_of(path: Path, job: JobUid) -> bytes:
    body = row(path, job)[3]
    assert isinstance(body, bytes)
    return body


def believed(reader: Reader) -> dict[str, object]:
    jobs = {job: reader.tracked(job) for job in sorted(reader.jobs)}
    return {
        "open": {job: (tracked.state, tracked.seq, tracked.head) for job, tracked in jobs.items()},
        "closed": reader.forgotten,
    }


async def test_what_a_holder_of_the_key_has_saved_is_used(store: Path) -> None:
    async with opened(store) as log:
        covered, snapshots, closed, _ = await log.saved()
        assert (covered, log.refused_snapshots) == (await log.end(), 0)
    assert {snapshot.job for snapshot in snapshots} == {DONE, LIVE}
    assert closed.keys() == {GONE}


async def altered_state(path: Path) -> None:
    state = decode_state(body_of(path, DONE))
    assert state.phase is Phase.SUCCEEDED
    edit(
        path,
        "UPDATE snapshots SET body = ? WHERE job = ?",
        encode_state(changed(state, phase=Phase.RUNNING)),
        DONE,
    )


async def altered_state_and_digest(path: Path) -> None:
    await altered_state(path)
    seal = Seal(ANOTHER, "sqlite")
    edit(
        path,
        "UPDATE snapshot_macs SET mac = ? WHERE snapshot = (SELECT rowid FROM snapshots WHERE job = ?)",
        seal.mark(DONE.encode(), body_of(path, DONE)).mac,
        DONE,
    )


async def altered_number(path: Path) -> None:
    edit(path, "UPDATE snapshots SET seq = seq + 1 WHERE job = ?", DONE)


async def altered_head(path: Path) -> None:
    edit(path, "UPDATE snapshots SET head = ? WHERE job = ?", "0" * 64, DONE)


async def altered_layout(path: Path) -> None:
    edit(path, "UPDATE snapshots SET version = 0 WHERE job = ?", DONE)


async def called_closed(path: Path) -> None:
    edit(path, "UPDATE snapshots SET version = -version - 1 WHERE job = ?", LIVE)


async def another_jobs(path: Path) -> None:
    edit(path, "UPDATE snapshots SET body = ? WHERE job = ?", body_of(path, LIVE), DONE)


async def without_mac(path: Path) -> None:
    edit(path, "DELETE FROM snapshot_macs")


async def of_no_job(path: Path) -> None:
    edit(path, "INSERT INTO snapshots VALUES ('forged', 3, '', 1, x'7b7d')")
    edit(path, "UPDATE checkpoints SET position = position + 1 WHERE reader = ' snapshot count'")


async def covering_more(path: Path) -> None:
    edit(path, "UPDATE checkpoints SET position = position + 5 WHERE reader = ' snapshots'")


FORGERIES = (
    altered_state,
    altered_state_and_digest,
    altered_number,
    altered_head,
    altered_layout,
    called_closed,
    another_jobs,
    without_mac,
    of_no_job,
    covering_more,
)


@pytest.mark.parametrize("forge", FORGERIES)
async def test_what_was_altered_is_not_used_but_counted_and_the_log_is_folded(
    store: Path, forge: Callable[[Path], object]
) -> None:
    honest = believed(await recovered(store))
    await forge(store)  # type: ignore[misc]
    reader, refused = await started(store)
    assert refused > 0
    assert believed(reader) == honest
    assert reader.tracked(DONE).state.phase is Phase.SUCCEEDED


async def test_an_older_snapshot_that_is_put_back_is_detected_though_its_mac_holds(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    early = causes(life(DONE))
    await decided(path, KEY, early)
    seq, head, version, body, digest, mac = row(path, DONE)
    await decided(path, KEY, [*causes(succeeded())[len(early) :], *causes(life(LIVE))])
    honest = believed(await recovered(path))
    edit(
        path,
        "UPDATE snapshots SET seq = ?, head = ?, version = ?, body = ? WHERE job = ?",
        seq,
        head,
        version,
        body,
        DONE,
    )
    edit(
        path,
        "UPDATE snapshot_macs SET digest = ?, mac = ? WHERE snapshot = (SELECT rowid FROM snapshots WHERE job = ?)",
        digest,
        mac,
        DONE,
    )
    reader, refused = await started(path)
    assert believed(reader) == honest
    assert refused == 1


async def test_an_altered_snapshot_is_believed_by_a_process_without_the_key(store: Path) -> None:
    await altered_state(store)
    assert (await recovered(store, None)).tracked(DONE).state.phase is Phase.RUNNING


@pytest.mark.parametrize("before", [None, ANOTHER])
async def test_of_what_was_saved_without_the_key_or_with_another_nothing_is_used(
    tmp_path: Path, before: bytes | None
) -> None:
    path = tmp_path / "store.db"
    await decided(path, before, causes(succeeded()), causes(life(LIVE)))
    reader, refused = await started(path)
    assert refused == 2
    assert reader.tracked(DONE).state.phase is Phase.SUCCEEDED
    await decided(path, KEY, causes(life(GONE)))
    assert (await started(path)).refused == 0


async def test_a_refused_snapshot_is_gone_after_the_next_save(store: Path) -> None:
    await of_no_job(store)
    await altered_state(store)
    async with opened(store) as log:
        reader = Reader(keeps=0)
        await reader.recover(log)
        await save(log, reader)
    again, refused = await started(store)
    assert refused == 0
    assert believed(again)["closed"].keys() == {GONE}  # type: ignore[attr-defined]
    assert set(again.jobs) == {DONE, LIVE}


async def test_what_is_saved_without_being_read_before_holds(store: Path) -> None:
    """An engine whose log was opened anew."""
    reader = await recovered(store)
    reader.forget_places()
    async with opened(store) as log:
        owner = Owner(log, reader, LoopClock(START))
        await owner.take([Delivery(cause) for cause in causes(life(JobUid("new")))])
        await save(log, reader)
    assert (await started(store)).refused == 0


async def test_without_snapshots_nothing_is_refused(store: Path) -> None:
    edit(store, "DELETE FROM snapshots")
    edit(store, "DELETE FROM snapshot_macs")
    async with opened(store) as log:
        assert ((await log.saved()).covered, log.refused_snapshots) == (0, 0)
        reader = Reader(keeps=0)
        await reader.recover(log)
        await save(log, reader)
        assert (await log.saved()).covered == await log.end()


async def test_a_save_that_fails_leaves_what_was_there(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(store) as log:
        reader = Reader(keeps=0)
        await reader.recover(log)
        owner = Owner(log, reader, LoopClock(START))
        await owner.take([Delivery(cause) for cause in causes(life(JobUid("new")))])
        snapshots = reader.unsaved()
        with pytest.raises(InvariantBroken):
            await log.save_snapshots(reader.position, [*snapshots, replace(snapshots[0], body=object())])
        assert (await log.saved()).covered > 0
        assert log.refused_snapshots == 0
        await save(log, reader)
        assert (await log.saved()).covered == reader.position


async def test_what_is_saved_after_a_save_whose_caller_was_cancelled_holds(store: Path) -> None:
    """The cancelled one is made all the same."""
    async with opened(store) as log:
        reader = Reader(keeps=0)
        await reader.recover(log)
        owner = Owner(log, reader, LoopClock(START))
        await save(log, reader)
        await owner.take([Delivery(cause) for cause in causes(life(LIVE).at(9).pod("worker-0", "Succeeded"))])
        cancelled = asyncio.create_task(log.save_snapshots(reader.position, reader.unsaved()))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        await save(log, reader)
    start = await started(store)
    assert start.refused == 0
    async with opened(store) as log:
        assert (await log.saved()).covered == await log.end()


async def test_a_closed_job_keeps_its_state_for_who_reads_all(store: Path) -> None:
    async with opened(store) as log:
        _, snapshots = await log.snapshots()
    assert {snapshot.job: snapshot.closed for snapshot in snapshots} == {DONE: False, LIVE: False, GONE: True}


def test_a_mac_is_of_its_key_its_value_and_its_scope() -> None:
    """Where a key ends and its value begins counts, too; and what one partition has saved says nothing in another."""
    one = Seal(KEY, "jobs/0")
    marks = [
        one.mark(b"ab", b"c"),
        one.mark(b"a", b"bc"),
        Seal(KEY, "jobs/1").mark(b"ab", b"c"),
        Seal(ANOTHER, "jobs/0").mark(b"ab", b"c"),
    ]
    assert len({mark.mac for mark in marks}) == len(marks)
    assert len({mark.member for mark in marks}) == len(marks)
