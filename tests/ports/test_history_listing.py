"""The console's list of the history view, on every database."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.selectors import Selector
from projectors.history import Database, HistoryProjector, JobFilter, ListPage, SqliteDatabase
from projectors.history import labels as history_labels
from projectors.history import listing as history_listing
from projectors.history.address import PostgresAddress
from projectors.history.facts import facts
from statemachine.events import (
    Condition,
    ConditionsChanged,
    Event,
    JobAdmitted,
    JobClosed,
    JobDeleted,
    LabelsChanged,
)
from statemachine.evolve import fold
from statemachine.ids import JobUid, ReplicaName
from statemachine.log.port import EntryDraft
from statemachine.log.sqlite import SqliteLog
from statemachine.phases import Phase
from statemachine.spec import Launch
from statemachine.state import JobState
from tests.support.logs import START, admitted, at, chain, entered
from tests.support.memory_log import MemoryLog


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.integration)])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    if request.param == "sqlite":
        log = await SqliteLog.open(tmp_path / "store.db")
        yield SqliteDatabase(log.store)
        await log.close()
    else:
        from projectors.history.postgres import PostgresDatabase

        opened = PostgresDatabase(PostgresAddress.of(request.getfixturevalue("postgres_database")))
        yield opened
        await opened.close()


CONTAINER = {
    "name": "pytorch",
    "resources": {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": 2, "memory": "2Gi", "nvidia.com/gpu": 1},
    },
}


def job(
    uid: str, name: str, namespace: str = "team-a", *more: Sequence[Event], **spec: Any
) -> list[EntryDraft]:
    """A job of two workers."""
    first = admitted(name, namespace)[0]
    assert isinstance(first, JobAdmitted)
    worker = {"type": "worker", "replicas": 2, "template": {"spec": {"containers": [CONTAINER]}}}
    first = first.changed(spec={"replicaSpecs": [worker], **spec})
    return chain((first, entered(Phase.PENDING)), *more, job=JobUid(uid))


def labels(**wanted: str) -> LabelsChanged:
    return LabelsChanged(labels=wanted)


def selected(selector: str, **more: Any) -> JobFilter:
    return JobFilter(labels=Selector.of(selector).requirements, **more)


FAILING = (
    ConditionsChanged(
        at=at(2),
        conditions=(
            Condition(type="ReplicaFailure", status="True", reason="ReplicaFailed", message="it fell"),
        ),
    ),
)
QUEUED = {"scheduler": {"t9kScheduler": {"queue": "night", "priority": 3}}}


@pytest.fixture
async def projector(database: Database) -> HistoryProjector:
    """The projector of a log with five jobs, at its end."""
    log = MemoryLog()
    await log.append(
        [
            *job("u1", "alpha", "team-a", [labels(team="a", tier="gold")], [entered(Phase.RUNNING, at(2))]),
            *job("u2", "beta_x", "team-b", [labels(**{"team": "b", "example.com/x": ""})], FAILING, **QUEUED),
            *job(
                "u3",
                "alphabet",
                "team-a",
                [labels(team="c")],
                [labels(team="A")],
                [entered(Phase.FAILED, at(2))],
            ),
            *job("u4", "gone", "team-a", [labels(team="a")], [JobDeleted(at=at(2)), JobClosed()]),
            *job("u5", "leaving", "team-a", [JobDeleted(at=at(2))]),
        ]
    )
    projector = HistoryProjector(log, database)
    await projector.advance()
    return projector


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (JobFilter(), ["leaving", "alphabet", "beta_x", "alpha"]),
        (JobFilter(namespace="team-b"), ["beta_x"]),
        (JobFilter(["PyTorchTrainingJob"]), ["leaving", "alphabet", "beta_x", "alpha"]),
        (JobFilter([]), []),
        (JobFilter(text="ALPHA"), ["alphabet", "alpha"]),
        (JobFilter(text="a_x"), ["beta_x"]),
        (JobFilter(text="_"), ["beta_x"]),
        (JobFilter(text="%"), []),
        (JobFilter(phases=["Running", "Failed"]), ["alphabet", "alpha"]),
        (JobFilter(phases=["Error"]), ["alphabet", "beta_x"]),
        (JobFilter(phases=["Error", "Running"]), ["alphabet", "beta_x", "alpha"]),
        (JobFilter(queues=["night"]), ["beta_x"]),
        (JobFilter(schedulers=["default"], phases=["Running"]), ["alpha"]),
        (JobFilter(resources=["nvidia.com/gpu"], text="bet"), ["alphabet", "beta_x"]),
        (JobFilter(resources=["nvidia.com"]), []),
    ],
)
async def test_jobs_that_exist_are_filtered(
    projector: HistoryProjector, wanted: JobFilter, names: list[str]
) -> None:
    page = await projector.history.listing.page(wanted)
    assert [row.name for row in page.rows] == names
    assert page.total == len(names)


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("team", ["alphabet", "beta_x", "alpha"]),
        ("team=a", ["alpha"]),
        ("team==A", ["alphabet"]),
        ("team=c", []),
        ("team=a,team=b", []),
        ("team in (a, b)", ["beta_x", "alpha"]),
        ("team in (x1, x2, x3, x4, A, b)", ["alphabet", "beta_x"]),
        ("team in (b), team", ["beta_x"]),
        ("team=a,tier", ["alpha"]),
        ("team=b,tier", []),
        ("example.com/x", ["beta_x"]),
        ("example.com/x=", ["beta_x"]),
        ("example.com/X", []),
        ("x", []),
        ("team=", []),
        ("tea", []),
        ("!team", ["leaving"]),
        ("!tier", ["leaving", "alphabet", "beta_x"]),
        ("team!=a", ["leaving", "alphabet", "beta_x"]),
        ("team notin (a, b)", ["leaving", "alphabet"]),
        ("team notin (x1, x2, x3, x4, A, b)", ["leaving", "alpha"]),
        ("team,team!=a,!tier", ["alphabet", "beta_x"]),
        ("!team,team", []),
    ],
)
async def test_jobs_are_selected_by_their_labels(
    projector: HistoryProjector, monkeypatch: pytest.MonkeyPatch, selector: str, names: list[str]
) -> None:
    """Whether labels are looked up in their table, which serves where few have one, or all jobs are scanned."""
    listing = projector.history.listing
    everybody = {row.name: row.shown["labels"] for row in (await listing.page(JobFilter())).rows}
    meant = Selector.of(selector)
    assert [name for name, held in everybody.items() if meant.selects({"labels": held})] == names
    for few in (0, 1, 1000):
        for module in (history_labels, history_listing):
            monkeypatch.setattr(module, "FEW", few)
        page = await listing.page(selected(selector))
        assert ([row.name for row in page.rows], page.total) == (names, len(names))
        page = await listing.page(selected(selector, phases=["Running"], text="alp"))
        assert [row.name for row in page.rows] == [name for name in names if name == "alpha"]


async def test_pages_have_an_order_and_a_total(projector: HistoryProjector) -> None:
    listing = projector.history.listing
    page = await listing.page(JobFilter(), sort="name", descending=False, start=1, size=2)
    assert ([row.name for row in page.rows], page.total) == (["alphabet", "beta_x"], 4)
    page = await listing.page(JobFilter(), sort="phase", descending=True, size=1)
    assert [row.phase for row in page.rows] == ["Running"]
    for wanted in (JobFilter(), selected("team"), selected("!retired")):
        everybody = await listing.page(wanted)
        total = everybody.total
        for size in range(1, 6):
            pages = [await listing.page(wanted, start=start, size=size) for start in range(0, 8, size)]
            assert [row for page in pages for row in page.rows] == everybody.rows
            assert {page.total for page in pages} == {total}
        assert await listing.page(wanted, start=100) == ListPage((), total)


async def test_a_row_says_what_the_list_shows(projector: HistoryProjector) -> None:
    (row,) = (await projector.history.listing.page(JobFilter(queues=["night"]))).rows
    assert (row.uid, row.kind, row.phase, row.is_error) == ("u2", "PyTorchTrainingJob", "Pending", True)
    assert (row.created_at, row.scheduler, row.queue) == (START, "t9k-scheduler", "night")
    shown = row.shown
    assert shown["cpu"] == [1.0, 4.0]
    assert shown["memory"] == [2.0**31, 2.0**32]
    assert shown["extended"] == {"nvidia.com/gpu": 2.0}
    assert (shown["priority"], shown["error"], shown["backoff_limit"]) == (3, "it fell", 2)
    assert [condition[:4] for condition in shown["conditions"]] == [
        ["ReplicaFailure", "True", "ReplicaFailed", "it fell"]
    ]


async def test_a_row_has_the_labels_of_now(projector: HistoryProjector) -> None:
    rows = (await projector.history.listing.page(JobFilter())).rows
    assert {row.name: row.shown["labels"] for row in rows} == {
        "alpha": {"team": "a", "tier": "gold"},
        "beta_x": {"example.com/x": "", "team": "b"},
        "alphabet": {"team": "A"},
        "leaving": {},
    }


async def test_labels_of_before_and_of_jobs_that_are_gone_are_not_kept(
    projector: HistoryProjector, database: Database
) -> None:
    labels = await database.fetch("SELECT uid, key, value FROM history_labels ORDER BY uid, key")
    assert [tuple(row) for row in labels] == [
        *(("u1", "team", "a"), ("u1", "tier", "gold")),
        *(("u2", "example.com/x", ""), ("u2", "team", "b")),
        ("u3", "team", "A"),
    ]


async def test_labels_that_change_later_are_matched_and_the_old_ones_are_not(database: Database) -> None:
    log = MemoryLog()
    drafts = job("u1", "alpha", "team-a", [labels(team="a", tier="x")], [labels(team="b")], [labels()])
    projector = HistoryProjector(log, database)
    counts = []
    for some in (drafts[:2], drafts[2:3], drafts[3:]):
        await log.append(some)
        await projector.advance()
        pages = [
            await projector.history.listing.page(selected(selector))
            for selector in ("team=a", "team=b", "tier")
        ]
        counts.append([page.total for page in pages])
    assert counts == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]


async def test_a_job_that_is_closed_is_not_listed_any_more(database: Database) -> None:
    log = MemoryLog()
    life = job("u1", "alpha", "team-a", [JobDeleted(at=at(2)), JobClosed()])
    projector = HistoryProjector(log, database)
    for draft, count in zip(life, (1, 0), strict=True):
        await log.append([draft])
        await projector.advance()
        assert (await projector.history.listing.page(JobFilter())).total == count


async def test_a_job_that_is_being_deleted_says_so(projector: HistoryProjector) -> None:
    rows = (await projector.history.listing.page(JobFilter())).rows
    assert {row.name for row in rows if row.shown["deleting"]} == {"leaving"}


async def test_there_is_only_to_choose_from_what_there_is(projector: HistoryProjector) -> None:
    choices = await projector.history.listing.choices(JobFilter())
    assert choices["scheduler"] == ["default", "t9k-scheduler"]
    assert choices["queue"] == ["night"]
    assert choices["resource"] == ["nvidia.com/gpu"]


async def test_a_view_that_is_made_again_lists_the_same(
    projector: HistoryProjector, database: Database
) -> None:
    before = await projector.history.listing.page(JobFilter())
    await database.clear()
    assert (await projector.history.listing.page(JobFilter())).total == 0
    assert await database.fetch("SELECT * FROM history_labels") == []
    projector.forget()
    await projector.advance()
    assert await projector.history.listing.page(JobFilter()) == before


async def test_the_position_grows_with_what_there_is_to_see(projector: HistoryProjector) -> None:
    assert await projector.history.positions() == 15


def test_a_launcher_is_left_out_of_the_sums() -> None:
    drafted = admitted()[0]
    assert isinstance(drafted, JobAdmitted)
    plan = drafted.plan
    assert plan is not None
    launcher = plan.types[0].changed(type="launcher", scale=1)
    spec = {
        "replicaSpecs": [
            {"type": type_, "template": {"spec": {"containers": [CONTAINER]}}}
            for type_ in ("launcher", "worker")
        ]
    }
    leads = {"primary": ReplicaName("launcher-0"), "launch": Launch.WHEN_READY}
    both = plan.changed(types=(launcher, *plan.types), **leads)
    state = fold(JobState(JobUid("u")), [drafted.changed(plan=both, spec=spec)])
    assert '"cpu": [1.0, 4.0]' in facts(state, START)[-2]
