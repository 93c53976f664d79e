"""Which labels there are to choose from in the history view, on every database."""

from projectors.history import Database, HistoryProjector, JobFilter
from projectors.history.known_labels import MOST, KnownLabels
from tests.ports.test_history_listing import database, job, labels
from tests.support.memory_log import MemoryLog

__all__ = ["database"]


async def known(to: Database) -> KnownLabels:
    """The labels of four jobs in two namespaces, one of which has a great many."""
    log = MemoryLog()
    many = {f"k{number:03}": "x" for number in range(60)}
    for uid, namespace, has in (
        ("u-1", "team-a", {"team": "a", "tier": "gold"}),
        ("u-2", "team-a", {"team": "b", "Team": "A", "app/name": ""}),
        ("u-3", "team-b", {"team": "c", "hidden": "1"}),
        ("u-4", "team-c", many),
    ):
        await log.append(job(uid, f"name-{uid}", namespace, [labels(**has)]))
    await HistoryProjector(log, to).advance()
    return KnownLabels(to)


async def test_keys_and_values_are_each_listed_once_and_in_order(database: Database) -> None:
    labels = await known(database)
    ours = JobFilter(namespace="team-a")
    assert sorted(await labels.keys(ours)) == ["Team", "app/name", "team", "tier"]
    assert await labels.values(JobFilter(), "team") == ["a", "b", "c"]
    assert await labels.values(JobFilter(), "team", "b") == ["b", "c"]
    assert await labels.values(ours, "app/name") == [""]
    assert await labels.values(ours, "nobody") == []
    assert await labels.values(ours, "team' OR 1 = 1 --") == []


async def test_what_may_not_be_read_is_not_listed(database: Database) -> None:
    labels = await known(database)
    assert "hidden" not in await labels.keys(JobFilter(namespace="team-a"))
    assert await labels.values(JobFilter(namespace="team-a"), "team") == ["a", "b"]
    assert await labels.values(JobFilter(["PyTorchTrainingJob"], "team-b"), "team") == ["c"]
    assert await labels.keys(JobFilter(["PyTorchJob"])) == []
    assert await labels.keys(JobFilter([])) == []


async def test_no_more_are_listed_than_anybody_reads(database: Database) -> None:
    labels = await known(database)
    keys = await labels.keys(JobFilter())
    assert len(keys) == len({*keys}) <= MOST
    assert sum(key.startswith("k0") for key in keys) == 60
