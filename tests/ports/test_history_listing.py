"""The console's list of the history view, on every database."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from projectors.history import Database, HistoryProjector, SqliteDatabase, Wanted
from projectors.history.address import Address
from projectors.history.facts import facts
from statemachine.events import Condition, ConditionsChanged, Event, JobAdmitted, JobClosed, JobDeleted
from statemachine.evolve import fold
from statemachine.ids import JobUid, ReplicaName
from statemachine.log.memory import MemoryLog
from statemachine.log.port import Draft
from statemachine.log.sqlite import SqliteLog
from statemachine.phases import Phase
from statemachine.spec import Launch
from statemachine.state import JobState
from tests.support.logs import START, admitted, at, chain, entered


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.integration)])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    if request.param == "sqlite":
        log = await SqliteLog.open(tmp_path / "store.db")
        yield SqliteDatabase(log.store)
        await log.close()
    else:
        from projectors.history.postgres import PostgresDatabase

        opened = PostgresDatabase(Address.of(request.getfixturevalue("postgres_database")))
        yield opened
        await opened.close()


CONTAINER = {
    "name": "pytorch",
    "resources": {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": 2, "memory": "2Gi", "nvidia.com/gpu": 1},
    },
}


def job(uid: str, name: str, namespace: str = "team-a", *more: Sequence[Event], **spec: Any) -> list[Draft]:
    """A job of two workers."""
    first = admitted(name, namespace)[0]
    assert isinstance(first, JobAdmitted)
    worker = {"type": "worker", "replicas": 2, "template": {"spec": {"containers": [CONTAINER]}}}
    first = first.model_copy(update={"spec": {"replicaSpecs": [worker], **spec}})
    return chain((first, entered(Phase.PENDING)), *more, job=JobUid(uid))


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
            *job("u1", "alpha", "team-a", [entered(Phase.RUNNING, at(2))]),
            *job("u2", "beta_x", "team-b", FAILING, **QUEUED),
            *job("u3", "alphabet", "team-a", [entered(Phase.FAILED, at(2))]),
            *job("u4", "gone", "team-a", [JobDeleted(at=at(2)), JobClosed()]),
            *job("u5", "leaving", "team-a", [JobDeleted(at=at(2))]),
        ]
    )
    found = HistoryProjector(log, database)
    await found.advance()
    return found


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Wanted(), ["leaving", "alphabet", "beta_x", "alpha"]),
        (Wanted(namespace="team-b"), ["beta_x"]),
        (Wanted(["PyTorchTrainingJob"]), ["leaving", "alphabet", "beta_x", "alpha"]),
        (Wanted([]), []),
        (Wanted(text="ALPHA"), ["alphabet", "alpha"]),
        (Wanted(text="a_x"), ["beta_x"]),
        (Wanted(text="_"), ["beta_x"]),
        (Wanted(text="%"), []),
        (Wanted(phases=["Running", "Failed"]), ["alphabet", "alpha"]),
        (Wanted(phases=["Error"]), ["alphabet", "beta_x"]),
        (Wanted(phases=["Error", "Running"]), ["alphabet", "beta_x", "alpha"]),
        (Wanted(queues=["night"]), ["beta_x"]),
        (Wanted(schedulers=["default"], phases=["Running"]), ["alpha"]),
        (Wanted(resources=["nvidia.com/gpu"], text="bet"), ["alphabet", "beta_x"]),
        (Wanted(resources=["nvidia.com"]), []),
    ],
)
async def test_jobs_that_exist_are_filtered(
    projector: HistoryProjector, wanted: Wanted, names: list[str]
) -> None:
    page = await projector.history.listing.page(wanted)
    assert [each.name for each in page.rows] == names
    assert page.total == len(names)


async def test_pages_have_an_order_and_a_total(projector: HistoryProjector) -> None:
    listing = projector.history.listing
    page = await listing.page(Wanted(), sort="name", descending=False, start=1, size=2)
    assert ([each.name for each in page.rows], page.total) == (["alphabet", "beta_x"], 4)
    page = await listing.page(Wanted(), sort="phase", descending=True, size=1)
    assert [each.phase for each in page.rows] == ["Running"]
    assert (await listing.page(Wanted(), start=100)).rows == ()


async def test_a_row_says_what_the_list_shows(projector: HistoryProjector) -> None:
    (row,) = (await projector.history.listing.page(Wanted(queues=["night"]))).rows
    assert (row.uid, row.kind, row.phase, row.is_error) == ("u2", "PyTorchTrainingJob", "Pending", True)
    assert (row.created_at, row.scheduler, row.queue) == (START, "t9k-scheduler", "night")
    shown = row.shown
    assert shown["cpu"] == [1.0, 4.0]
    assert shown["memory"] == [2.0**31, 2.0**32]
    assert shown["extended"] == {"nvidia.com/gpu": 2.0}
    assert (shown["priority"], shown["error"], shown["backoff_limit"]) == (3, "it fell", 2)
    assert [each[:4] for each in shown["conditions"]] == [
        ["ReplicaFailure", "True", "ReplicaFailed", "it fell"]
    ]


async def test_a_job_that_is_being_deleted_says_so(projector: HistoryProjector) -> None:
    rows = (await projector.history.listing.page(Wanted())).rows
    assert {each.name for each in rows if each.shown["deleting"]} == {"leaving"}


async def test_there_is_only_to_choose_from_what_there_is(projector: HistoryProjector) -> None:
    found = await projector.history.listing.choices(Wanted())
    assert found["scheduler"] == ["default", "t9k-scheduler"]
    assert found["queue"] == ["night"]
    assert found["resource"] == ["nvidia.com/gpu"]


async def test_a_view_that_is_made_again_lists_the_same(
    projector: HistoryProjector, database: Database
) -> None:
    before = await projector.history.listing.page(Wanted())
    await database.clear()
    assert (await projector.history.listing.page(Wanted())).total == 0
    projector.forget()
    await projector.advance()
    assert await projector.history.listing.page(Wanted()) == before


async def test_the_position_grows_with_what_there_is_to_see(projector: HistoryProjector) -> None:
    assert await projector.history.positions() == 10


def test_a_launcher_is_left_out_of_the_sums() -> None:
    drafted = JobAdmitted.model_validate_json(admitted()[0].model_dump_json())
    plan = drafted.plan
    assert plan is not None
    launcher = plan.types[0].model_copy(update={"type": "launcher", "scale": 1})
    spec = {
        "replicaSpecs": [
            {"type": each, "template": {"spec": {"containers": [CONTAINER]}}}
            for each in ("launcher", "worker")
        ]
    }
    leads = {"primary": ReplicaName("launcher-0"), "launch": Launch.WHEN_READY}
    both = plan.model_copy(update={"types": (launcher, *plan.types), **leads})
    state = fold(JobState(JobUid("u")), [drafted.model_copy(update={"plan": both, "spec": spec})])
    assert '"cpu": [1.0, 4.0]' in facts(state, START)[-1]
