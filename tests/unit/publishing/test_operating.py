"""How far sinks are behind, of a log with marks of transactions, and of one with very many entries."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobledger.publishing import operating
from jobledger.publishing.operating import Operation
from jobledger.settings.model import Settings
from jobledger.wiring.fed_sink import PublicationOnce
from projectors.sinks.resuming import beginning
from statemachine.ids import JobUid
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft
from statemachine.log.positions import Positions
from statemachine.log.sqlite_positions import SqlitePositionRecords
from statemachine.log.store import SqliteStore
from tests.contract.lives import PUBLICATION
from tests.support.marked_log import Marked


@pytest.fixture
async def positions(tmp_path: Path) -> AsyncIterator[Positions]:
    """A sink `pager` has two entries."""
    store = await SqliteStore.open(tmp_path / "ledger.db")
    kept = Positions(await SqlitePositionRecords.open(store))
    await kept.save("pager", 0, beginning(PUBLICATION, 2))
    yield kept
    await store.close()


async def behind(positions: Positions, entries: int, marks: int) -> int | None:
    log = Marked()
    await log.append([EntryDraft(JobUid("u-1"), seq, b"{}") for seq in range(1, entries + 1)])
    log.marks = marks
    naming = PublicationOnce(Settings(), Path("unused.db"))
    (report,) = await Operation([], Partitions([log]), positions, naming).reports()
    return report.behind


@pytest.mark.parametrize(("entries", "marks", "left"), [(2, 0, 0), (2, 5, 0), (7, 3, 5), (1, 0, 0)])
async def test_a_sink_is_behind_by_entries_and_not_by_marks(
    positions: Positions, entries: int, marks: int, left: int
) -> None:
    assert await behind(positions, entries, marks) == left


async def test_of_very_many_the_positions_are_counted(
    positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operating, "_COUNTED", 7)
    assert await behind(positions, 6, 3) == 4
    assert await behind(positions, 6, 4) == 8
