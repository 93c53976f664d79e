"""The history view: what it says about the log, and that it always says the same."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projectors.history import EntryRow, History, HistoryProjector, JobRow, tables
from projectors.history.phrases import summary
from statemachine.errors import LogUnavailable, StoreUnusable
from statemachine.events import (
    Announced,
    Cause,
    CauseClass,
    Event,
    JobAdmitted,
    JobDeleted,
    PhaseEntered,
    ReplicaFailed,
    RestartScheduled,
    TimerSet,
)
from statemachine.ids import JobUid, PodUid, replica_name
from statemachine.log.port import Draft
from statemachine.log.sqlite import SqliteLog
from statemachine.log.store import SqliteStore
from statemachine.phases import Phase, Trigger
from tests.support.arbitrary import arbitrary
from tests.support.logs import (
    JOB,
    OTHER,
    PLAN,
    START,
    admitted,
    at,
    chain,
    entered,
    history,
)

WORKER = replica_name("worker", 1)
OUT_OF_MEMORY = Cause(kind=CauseClass.OUT_OF_MEMORY, rule="T11", exit_code=137)


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteLog]:
    opened = await SqliteLog.open(tmp_path / "store.db")
    yield opened
    await opened.close()


@pytest.fixture
def projector(log: SqliteLog) -> HistoryProjector:
    return HistoryProjector(log, log.store)


@pytest.fixture
def view(projector: HistoryProjector) -> History:
    return projector.history


def named(job: str, name: str, namespace: str = "team-a", *more: Sequence[Event]) -> list[Draft]:
    return chain(admitted(name, namespace), *more, job=JobUid(job))


async def contents(view: History) -> tuple[Sequence[JobRow], list[Sequence[EntryRow]]]:
    jobs = await view.list_jobs(limit=1000)
    return jobs, [await view.entries(job.uid) for job in jobs]


# ---- jobs ----


async def test_a_job_is_shown_as_its_last_entry_left_it(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(
        chain(
            admitted(),
            [RestartScheduled(replica=WORKER, spent=1, limit=2, cause=OUT_OF_MEMORY)],
            [PhaseEntered(phase=Phase.FAILED, trigger=Trigger.FAILURE_MET, rule="T9", at=at(3))],
        )
    )
    await projector.advance()
    assert await view.find_job(JOB) == JobRow(
        uid=JOB,
        api_version="batch.tensorstack.dev/v1beta1",
        kind="PyTorchTrainingJob",
        namespace="team-a",
        name="mnist",
        phase=Phase.FAILED,
        created_at=START,
        started_at=START,
        completed_at=at(3),
        deleted=False,
        restarts=1,
        replicas=PLAN.scale,
        last_seq=3,
        updated_at=at(3),
        first_position=1,
    )


async def test_a_deleted_job_stays_in_the_history(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(chain(admitted(), [JobDeleted(at=at(2))]))
    await projector.advance()
    assert [each.deleted for each in await view.list_jobs()] == [True]
    assert await view.list_jobs(deleted=False) == []


async def test_a_job_without_a_plan_has_no_replicas(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    first = admitted()[0]
    assert isinstance(first, JobAdmitted)
    await log.append(chain([first.model_copy(update={"plan": None})]))
    await projector.advance()
    assert [each.replicas for each in await view.list_jobs()] == [0]


async def test_a_job_is_found_by_uid_or_name(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(named("u1", "alpha"))
    await projector.advance()
    by_uid, by_name = await view.find_job("u1"), await view.find_job("alpha", "team-a")
    assert by_uid == by_name is not None
    assert await view.find_job("beta") is None


async def test_of_several_jobs_of_a_name_the_newest_is_found(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append([*named("u1", "alpha"), *named("u2", "alpha"), *named("u3", "alpha", "team-b")])
    await projector.advance()
    found = [await view.find_job("alpha", namespace) for namespace in ("team-a", "team-b", None, "team-c")]
    assert [each and each.uid for each in found] == ["u2", "u3", "u3", None]


async def test_a_uid_goes_before_a_name(log: SqliteLog, projector: HistoryProjector, view: History) -> None:
    await log.append([*named("u1", "alpha"), *named("u2", "u1")])
    await projector.advance()
    found = await view.find_job("u1")
    assert found is not None
    assert found.name == "alpha"


async def test_jobs_are_listed_newest_first_whatever_their_clocks_say(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    later = chain(admitted("late", when=START + timedelta(days=1)), job=JobUid("u1"))
    await log.append([*later, *named("u2", "early")])
    await projector.advance()
    assert [each.name for each in await view.list_jobs()] == ["early", "late"]


async def test_lists_can_be_narrowed(log: SqliteLog, projector: HistoryProjector, view: History) -> None:
    running = [entered(Phase.RUNNING)]
    await log.append(
        [*named("u1", "a"), *named("u2", "b", "team-b", running), *named("u3", "c", "team-a", running)]
    )
    await projector.advance()
    assert [each.uid for each in await view.list_jobs(namespace="team-a")] == ["u3", "u1"]
    assert [each.uid for each in await view.list_jobs(phase=Phase.RUNNING)] == ["u3", "u2"]
    assert [each.uid for each in await view.list_jobs(namespace="team-a", phase=Phase.PENDING)] == ["u1"]
    assert await view.list_jobs(kind="MPIJob") == []


async def test_pages_follow_each_other_without_gap_or_repeat_while_jobs_are_added(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append([draft for number in range(7) for draft in named(f"u{number}", f"job-{number}")])
    await projector.advance()
    first = await view.list_jobs(limit=3)
    await log.append(named("u9", "new"))
    await projector.advance()
    second = await view.list_jobs(limit=3, before=first[-1].first_position)
    third = await view.list_jobs(limit=3, before=second[-1].first_position)
    assert [each.uid for each in (*first, *second, *third)] == [f"u{number}" for number in range(6, -1, -1)]


@pytest.mark.parametrize("filters", ["namespace = 'x'", "kind = 'x'", "phase = 'x'", "name = 'x'"])
async def test_no_list_reads_the_whole_table(log: SqliteLog, view: History, filters: str) -> None:
    await view.prepare()
    query = f"EXPLAIN QUERY PLAN SELECT * FROM history_jobs WHERE {filters} ORDER BY first_position"  # noqa: S608
    plan = await log.store.read(lambda db: [row[3] for row in db.execute(query)])
    assert all(step.startswith("SEARCH") or "TEMP B-TREE" in step for step in plan)


# ---- entries ----


async def test_an_entry_is_shown_with_what_caused_it_and_what_came_of_it(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(history(2))
    await projector.advance()
    first, second = await view.entries(JOB)
    assert (first.seq, first.cause_type, first.phase_after) == (1, "JobObserved", Phase.PENDING)
    assert first.events == ("JobAdmitted", "PhaseEntered")
    assert (second.position, second.seen_at, second.happened_at) == (2, at(2), None)
    assert (second.cause_type, second.summary) == ("TimerFired", "every child accepted")


async def test_entries_can_be_asked_for_from_any_place(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(history(6))
    await projector.advance()
    assert [each.seq for each in await view.entries(JOB, after_seq=2, limit=3)] == [3, 4, 5]
    assert [each.seq for each in await view.entries(JOB, after_seq=4)] == [5, 6]


# ---- following the log ----


async def test_the_view_says_how_far_it_is(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(history(3))
    await projector.advance()
    assert await view.position() == await log.end()


async def test_advancing_step_by_step_gives_the_same_view_as_advancing_once(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    for draft in [*history(5), *history(4, OTHER)]:
        await log.append([draft])
        await projector.advance()
    by_steps = await contents(view)
    await projector.rebuild()
    assert await contents(view) == by_steps


async def test_a_projector_started_anew_goes_on_where_the_view_is(log: SqliteLog, view: History) -> None:
    await log.append([*history(3), *history(2, OTHER)])
    await HistoryProjector(log, log.store).advance()
    await log.append(history(6)[3:])
    projector = HistoryProjector(log, log.store)
    await projector.advance()
    found = await contents(view)
    await projector.rebuild()
    assert await contents(view) == found
    assert [each.last_seq for each in found[0]] == [2, 6]


async def test_entries_taken_twice_are_in_the_view_once(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(history(3))
    await projector.advance()
    await HistoryProjector(log, log.store).project([], 0)
    assert await view.position() == 3
    await HistoryProjector(log, log.store).advance()
    assert len(await view.entries(JOB)) == 3


async def test_an_advance_that_failed_half_way_is_made_up_for_by_the_next(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(history(1))
    await projector.advance()
    await log.append(history(900)[1:])
    pages = await log.store.read(lambda db: int(db.execute("PRAGMA page_count").fetchone()[0]))
    await log.store.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 40}").fetchone())
    with pytest.raises(LogUnavailable):
        await projector.advance()
    assert 1 < await view.position() < 900
    await log.store.read(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
    await projector.advance()
    assert [each.seq for each in await view.entries(JOB)] == list(range(1, 901))


async def test_entries_that_no_reader_accepts_are_not_in_the_view(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append([*history(2), Draft(JOB, 3, b"torn"), *history(2, OTHER)])
    await projector.advance()
    assert [each.seq for each in await view.entries(JOB)] == [1, 2]
    assert await view.position() == 5


async def test_tables_of_another_layout_are_made_anew(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(history(3))
    await projector.advance()
    before = await contents(view)
    await log.store.run(lambda db: db.execute("UPDATE meta SET value = '0' WHERE key = 'history layout'"))
    await log.store.run(lambda db: db.execute("ALTER TABLE history_jobs DROP COLUMN replicas"))
    await HistoryProjector(log, log.store).advance()
    assert await contents(view) == before


# ---- beside a server ----


async def test_the_view_can_be_read_beside_the_server_that_writes_it(
    log: SqliteLog, projector: HistoryProjector
) -> None:
    await log.append(history(3))
    await projector.advance()
    store = await SqliteStore.open(log.store.path, read_only=True)
    beside = History(store)
    await beside.prepare()
    assert [each.uid for each in await beside.list_jobs()] == [JOB]
    await log.append(history(1, OTHER))
    await projector.advance()
    assert [each.uid for each in await beside.list_jobs()] == [OTHER, JOB]
    await store.close()


async def test_a_store_without_a_view_says_so_to_its_readers(log: SqliteLog) -> None:
    store = await SqliteStore.open(log.store.path, read_only=True)
    with pytest.raises(StoreUnusable, match="no history"):
        await History(store).prepare()
    await store.close()


# ---- sentences ----


def test_a_summary_says_the_events_in_order() -> None:
    failed = ReplicaFailed(replica=WORKER, uid=PodUid("u"), cause=OUT_OF_MEMORY)
    restart = RestartScheduled(replica=WORKER, spent=1, limit=2, cause=OUT_OF_MEMORY)
    assert (
        summary([failed, restart])
        == "worker-1 failed (out of memory, exit code 137); worker-1 restart 1 of 2"
    )


def test_a_summary_leaves_timers_out_if_there_is_more_to_say() -> None:
    timer = TimerSet(timer="deadline", due_at=START)
    assert summary([timer, Announced(reason="Noted", message="yes")]) == "Noted: yes"
    assert summary([timer]) == "timer deadline set for 2024-05-17T09:30:00+00:00"


def test_an_entry_without_events_has_an_empty_summary() -> None:
    assert summary([]) == ""


@given(st.sampled_from(get_args(get_args(Event)[0])).flatmap(arbitrary))
def test_every_event_has_a_phrase(event: Event) -> None:
    assert summary([event])


def test_instants_are_stored_such_that_texts_sort_as_time_does() -> None:
    moments = [START + timedelta(microseconds=step) for step in (-1, 0, 1, 999_999, 10**9)]
    texts = [tables.text(each) for each in moments]
    assert texts == sorted(str(each) for each in texts)
    assert [tables.instant(each) for each in texts] == moments
