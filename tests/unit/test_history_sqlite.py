"""The history view in a SQLite store: full disks, other layouts, and readers beside whoever writes."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from projectors.history import History, HistoryProjector, SqliteDatabase
from projectors.history.sqlite import text
from statemachine.errors import LogUnavailable, StoreUnusable
from statemachine.log.sqlite import SqliteLog
from statemachine.log.store import SqliteStore
from tests.support.logs import JOB, OTHER, history


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
    assert [each.seq for each in await view.entries(JOB)] == list(range(1, 901))


async def test_tables_of_another_layout_are_made_anew(log: SqliteLog, projector: HistoryProjector) -> None:
    await log.append(history(3))
    await projector.advance()
    before = await projector.history.list_jobs(), await projector.history.entries(JOB)
    await log.store.run(lambda db: db.execute("UPDATE meta SET value = '0' WHERE key = 'history layout'"))
    await log.store.run(lambda db: db.execute("ALTER TABLE history_jobs DROP COLUMN replicas"))
    again = HistoryProjector(log, SqliteDatabase(log.store))
    await again.advance()
    assert (await again.history.list_jobs(), await again.history.entries(JOB)) == before


async def test_the_view_can_be_read_beside_the_server_that_writes_it(
    log: SqliteLog, projector: HistoryProjector
) -> None:
    await log.append(history(3))
    await projector.advance()
    store = await SqliteStore.open(log.store.path, read_only=True)
    beside = History(SqliteDatabase(store))
    await beside.prepare()
    assert [each.uid for each in await beside.list_jobs()] == [JOB]
    await log.append(history(1, OTHER))
    await projector.advance()
    assert [each.uid for each in await beside.list_jobs()] == [OTHER, JOB]
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
        text(each.astimezone(timezone(timedelta(hours=hours)))) for each in instants for hours in (-11, 0, 13)
    ]
    assert texts == sorted(texts)
    assert len(set(texts)) == len(instants), "an instant has one text"
