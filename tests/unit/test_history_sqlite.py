"""The history view in a SQLite store: full disks, other layouts, and readers beside a writer."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from operator import methodcaller
from pathlib import Path
from typing import Any, cast

import pytest

from projectors.history import History, HistoryProjector, SqliteDatabase
from projectors.history.sqlite import text
from statemachine.errors import LogUnavailable, StoreUnusable
from statemachine.events import JobClosed, JobDeleted
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.port import Record, Saved
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.log.store import SqliteStore
from tests.support.faulty_store import TABLES, MemoryStore
from tests.support.history_rows import jobs_of
from tests.support.logs import JOB, OTHER, START, accepted, admitted, chain, history
from tests.support.memory_log import MemoryLog


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteLog]:
    opened = await SqliteLog.open(tmp_path / "store.db")
    yield opened
    await opened.close()


@pytest.fixture
def projector(log: SqliteLog) -> HistoryProjector:
    return HistoryProjector(log, SqliteDatabase(log.store))


async def test_an_advance_that_failed_half_way_is_made_up_for_by_the_next(
    log: SqliteLog, projector: HistoryProjector
) -> None:
    view = projector.history
    await log.append(history(1))
    await projector.advance()
    await log.append(history(900)[1:])
    pages = await log.store.read(lambda db: int(db.execute("PRAGMA page_count").fetchone()[0]))
    await log.store.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 30}").fetchone())
    with pytest.raises(LogUnavailable):
        await projector.advance()
    assert 1 < await view.position() < 900
    await log.store.read(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
    await projector.advance()
    assert [entry.seq for entry in await view.entries(JOB)] == list(range(1, 901))


class Asked(MemoryLog):
    """Counts how often its snapshots were read, and how many records."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = self.given = 0

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See EventLog."""
        async for batch in super().scan(after, job=job, after_seq=after_seq):
            self.given += len(batch)
            yield batch

    async def saved(self) -> Saved:
        """See EventLog."""
        self.loads += 1
        return await super().saved()


@pytest.mark.parametrize("behind", [0, 1])
async def test_a_view_goes_on_beside_a_reader_and_reads_snapshots_only_where_that_one_is_further(
    tmp_path: Path, behind: int
) -> None:
    event_log, store = Asked(), await SqliteStore.open(tmp_path / "view.db")
    both = [*history(4), *chain(admitted(), job=OTHER)]
    await event_log.append(both[: 3 - behind])
    await HistoryProjector(event_log, SqliteDatabase(store)).advance()
    reader = Reader()
    await reader.recover(event_log)
    await event_log.append(both[3 - behind : 3])
    async for _ in reader.catch_up(event_log):
        pass
    event_log.loads = event_log.given = 0
    projector = HistoryProjector(event_log, SqliteDatabase(store))
    projector.stand_beside(reader)
    await projector.advance()
    assert event_log.loads == behind
    await event_log.append(both[3:])
    await projector.advance()
    assert behind or event_log.given == len(both[3:])
    assert reader.position == 3
    assert [entry.seq for entry in await projector.history.entries(JOB)] == [1, 2, 3, 4]
    assert [job.uid for job in await jobs_of(projector.history)] == [OTHER, JOB]
    await store.close()


class PutBack(SqliteDatabase):
    """Another process brings the view on; its copy is put back once the view has said that a job is closed."""

    def __init__(self, store: MemoryStore, log: MemoryLog) -> None:
        super().__init__(cast(SqliteStore, store))
        self._memory, self._before = store, store.copy()
        self._other = HistoryProjector(log, store.database())
        self.meets = 1

    async def fetch(self, sql: str, *values: object) -> Sequence[Sequence[Any]]:
        """See Database."""
        if "last_seq" not in sql or not self.meets:
            return await super().fetch(sql, *values)
        self.meets -= 1
        await self._other.advance()
        rows = await super().fetch(sql, *values)
        self._memory.put_back(self._before)
        return rows


async def test_a_view_that_is_put_back_while_it_is_brought_on_is_made_whole() -> None:
    log, store = MemoryLog(), MemoryStore()
    life = chain(admitted(), accepted(1), (JobDeleted(at=START),), (JobClosed(),))
    await log.append(life[:1])
    await HistoryProjector(log, store.database()).advance()
    reader = Reader()
    await reader.recover(log)
    await log.save_snapshots(reader.position, reader.unsaved())
    await log.append(life[1:])
    projector = HistoryProjector(log, PutBack(store, log))
    await projector.advance()
    assert [entry.seq for entry in await projector.history.entries(JOB)] == [1, 2, 3, 4]


async def test_a_view_that_is_put_back_while_nothing_happens_is_made_whole_at_the_next_look() -> None:
    log, store = MemoryLog(), MemoryStore()
    await log.append(history(2))
    projector = HistoryProjector(log, store.database())
    await projector.advance()
    before = store.copy()
    await log.append(history(4)[2:])
    await projector.advance()
    store.put_back(before)
    await projector.advance()
    assert [entry.seq for entry in await projector.history.entries(JOB)] == [1, 2, 3, 4]


async def test_tables_that_are_dropped_are_made_and_filled_again_behind_the_look_that_misses_them() -> None:
    log, store = MemoryLog(), MemoryStore()
    await log.append(history(4))
    projector = HistoryProjector(log, store.database())
    await projector.advance()
    for statement in (*(f"DROP TABLE {table}" for table in TABLES), "DELETE FROM meta"):
        await store.run(methodcaller("execute", statement))
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await projector.advance()
    await projector.advance()
    assert [entry.seq for entry in await projector.history.entries(JOB)] == [1, 2, 3, 4]


async def test_tables_of_another_layout_are_made_anew(log: SqliteLog, projector: HistoryProjector) -> None:
    await log.append(history(3))
    await projector.advance()
    before = await jobs_of(projector.history), await projector.history.entries(JOB)
    await log.store.run(lambda db: db.execute("UPDATE meta SET value = '0' WHERE key = 'history layout'"))
    await log.store.run(lambda db: db.execute("ALTER TABLE history_jobs DROP COLUMN replicas"))
    again = HistoryProjector(log, SqliteDatabase(log.store))
    await again.advance()
    assert (await jobs_of(again.history), await again.history.entries(JOB)) == before


async def test_the_view_can_be_read_beside_the_server_that_writes_it(
    log: SqliteLog, projector: HistoryProjector
) -> None:
    await log.append(history(3))
    await projector.advance()
    store = await SqliteStore.open(log.store.path, read_only=True)
    beside = History(SqliteDatabase(store))
    await beside.prepare()
    assert [job.uid for job in await jobs_of(beside)] == [JOB]
    await log.append(history(1, OTHER))
    await projector.advance()
    assert [job.uid for job in await jobs_of(beside)] == [OTHER, JOB]
    await store.close()


async def test_a_store_without_a_view_says_so_to_its_readers(log: SqliteLog) -> None:
    store = await SqliteStore.open(log.store.path, read_only=True)
    with pytest.raises(StoreUnusable, match="no history"):
        await History(SqliteDatabase(store)).prepare()
    await store.close()


def test_texts_of_instants_are_in_the_order_of_time_whatever_their_zone() -> None:
    noon = datetime(2024, 1, 9, 12, tzinfo=UTC)
    instants = [noon + timedelta(microseconds=step) for step in (-1, 0, 1, 1_000_000)]
    texts = [
        text(instant.astimezone(timezone(timedelta(hours=hours))))
        for instant in instants
        for hours in (-11, 0, 13)
    ]
    assert texts == sorted(texts)
    assert len(set(texts)) == len(instants), "an instant has one text"
