"""A made-up newer release has written entries that this one cannot read in full."""

from pathlib import Path
from typing import cast
from unittest.mock import patch

from k8s_bridge.port import Cluster
from projectors.history import HistoryProjector, SqliteDatabase, resuming
from projectors.kube_events import KubeEvents
from statemachine.errors import EntryUnreadable
from statemachine.log.codec import decode_brief, entry_hash
from statemachine.log.entry import EntryBrief
from statemachine.log.sqlite import SqliteLog
from tests.support.logs import JOB, OTHER, admitted, chain, history, said
from tests.support.newer import newer_cause, newer_event
from tests.unit.projectors.test_kube_events import One, Taking


async def test_an_announcement_whose_cause_is_not_known_is_an_event(tmp_path: Path) -> None:
    log, cluster = await SqliteLog.open(tmp_path / "store.db"), Taking()
    await log.append(newer_cause())
    await KubeEvents(log, One(None), cast(Cluster, cluster)).advance()
    assert sorted(event.message for event in cluster.events.values()) == ["rain", "sun"]
    await log.close()


async def test_a_job_whose_first_entry_cannot_be_read_has_no_events_and_stops_nothing(tmp_path: Path) -> None:
    log, cluster = await SqliteLog.open(tmp_path / "store.db"), Taking()
    unreadable = newer_event()
    await log.append([*unreadable, *chain(said("more"), after=1, prev=entry_hash(unreadable[0].body))])
    await KubeEvents(log, One(None), cast(Cluster, cluster)).advance()
    assert cluster.events == {}
    await log.close()


def older(body: bytes) -> EntryBrief:
    """As `decode_brief` of a release that does not know what the rain is."""
    if b'"rain"' in body:
        raise EntryUnreadable("the entry cannot be read: events.0: unknown", body)
    return decode_brief(body)


async def test_an_upgraded_history_goes_on_where_the_older_one_was_and_is_whole_once_rebuilt(
    tmp_path: Path,
) -> None:
    log = await SqliteLog.open(tmp_path / "store.db")
    first, *rest = [*chain(admitted()), *history(2, OTHER)]
    await log.append([first, *rest])
    rain = chain(said("rain"), after=1, prev=entry_hash(first.body))
    database = SqliteDatabase(log.store)
    with patch.object(resuming, "decode_brief", older):
        view = HistoryProjector(log, database)
        await log.append(rain)
        await view.advance()
        assert [entry.seq for entry in await view.history.entries(JOB)] == [1]
    await log.append(chain(said("sun"), after=2, prev=entry_hash(rain[0].body)))
    upgraded = HistoryProjector(log, database)
    await upgraded.advance()
    assert [entry.seq for entry in await upgraded.history.entries(JOB)] == [1, 3]
    await database.clear()
    rebuilt = HistoryProjector(log, database)
    await rebuilt.advance()
    assert [entry.seq for entry in await rebuilt.history.entries(JOB)] == [1, 2, 3]
    assert len(await rebuilt.history.entries(OTHER)) == 2
    await log.close()
