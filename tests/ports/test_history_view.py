"""What the history view has to say about a log, on every database: one suite for SQLite and PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from projectors.history import (
    Database,
    EntryRow,
    History,
    HistoryProjector,
    JobRow,
    SqliteDatabase,
)
from projectors.history.address import PostgresAddress
from statemachine.errors import ViewUnavailable
from statemachine.events import (
    Cause,
    CauseClass,
    Event,
    JobAdmitted,
    JobClosed,
    JobDeleted,
    PhaseEntered,
    RestartScheduled,
)
from statemachine.ids import JobUid, replica_name
from statemachine.log.codec import encode
from statemachine.log.entry import GENESIS
from statemachine.log.port import EntryDraft, EventLog, Record
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.log.store import SqliteStore
from statemachine.phases import Phase, Trigger
from tests.support.history_rows import jobs_of
from tests.support.logs import (
    JOB,
    OTHER,
    PLAN,
    START,
    accepted,
    admitted,
    at,
    chain,
    entered,
    entry,
    history,
    said,
)
from tests.support.memory_log import MemoryLog
from tests.support.newer import newer_cause, newer_event
from tests.support.seeds import seeds

WORKER = replica_name("worker", 1)
OUT_OF_MEMORY = Cause(kind=CauseClass.OUT_OF_MEMORY, rule="T11", exit_code=137)

DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.integration)]


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteLog]:
    opened = await SqliteLog.open(tmp_path / "store.db")
    yield opened
    await opened.close()


@asynccontextmanager
async def database_of(request: pytest.FixtureRequest, store: SqliteStore) -> AsyncIterator[Database]:
    if request.param == "sqlite":
        yield SqliteDatabase(store)
        return
    from projectors.history.postgres import PostgresDatabase

    opened = PostgresDatabase(PostgresAddress.of(request.getfixturevalue("postgres_database")))
    yield opened
    await opened.close()


@pytest.fixture(params=DATABASES)
async def database(request: pytest.FixtureRequest, log: SqliteLog) -> AsyncIterator[Database]:
    async with database_of(request, log.store) as opened:
        yield opened


@pytest.fixture
def projector(log: SqliteLog, database: Database) -> HistoryProjector:
    return HistoryProjector(log, database)


@pytest.fixture
def view(projector: HistoryProjector) -> History:
    return projector.history


def named(job: str, name: str, namespace: str = "team-a", *more: Sequence[Event]) -> list[EntryDraft]:
    return chain(admitted(name, namespace), *more, job=JobUid(job))


async def contents(view: History) -> tuple[Sequence[JobRow], list[Sequence[EntryRow]]]:
    jobs = await jobs_of(view)
    return jobs, [await view.entries(job.uid) for job in jobs]


async def from_the_beginning(log: EventLog, tmp_path: Path) -> object:
    """What a view holds that was made in one go."""
    store = await SqliteStore.open(tmp_path / "again.db")
    projector = HistoryProjector(log, SqliteDatabase(store))
    await SqliteDatabase(store).clear()
    await projector.advance()
    view = await contents(projector.history)
    await store.close()
    return view


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
    )


async def test_a_deleted_job_stays_in_the_history(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(chain(admitted(), [JobDeleted(at=at(2))]))
    await projector.advance()
    assert [job.deleted for job in await jobs_of(view)] == [True]


async def test_a_job_without_a_plan_has_no_replicas(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    first = admitted()[0]
    assert isinstance(first, JobAdmitted)
    await log.append(chain([first.changed(plan=None)]))
    await projector.advance()
    assert [job.replicas for job in await jobs_of(view)] == [0]


async def test_a_job_is_looked_up_by_uid_or_name(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(named("u1", "alpha"))
    await projector.advance()
    by_uid, by_name = await view.find_job("u1"), await view.find_job("alpha", "team-a")
    assert by_uid == by_name is not None
    assert await view.find_job("beta") is None


async def test_of_several_jobs_of_a_name_the_newest_is_meant(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append([*named("u1", "alpha"), *named("u2", "alpha"), *named("u3", "alpha", "team-b")])
    await projector.advance()
    rows = [await view.find_job("alpha", namespace) for namespace in ("team-a", "team-b", None, "team-c")]
    assert [row and row.uid for row in rows] == ["u2", "u3", "u3", None]


async def test_a_uid_goes_before_a_name(log: SqliteLog, projector: HistoryProjector, view: History) -> None:
    await log.append([*named("u1", "alpha"), *named("u2", "u1")])
    await projector.advance()
    row = await view.find_job("u1")
    assert row is not None
    assert row.name == "alpha"


async def test_jobs_are_listed_newest_first_whatever_their_clocks_say(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    first = encode(entry(JobUid("u1"), 1, GENESIS, admitted("first"), START + timedelta(days=1)))
    await log.append([EntryDraft(JobUid("u1"), 1, first), *named("u2", "second")])
    await projector.advance()
    assert [job.name for job in await jobs_of(view)] == ["second", "first"]


async def test_jobs_and_entries_are_counted(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    running = [entered(Phase.RUNNING)]
    await log.append(
        [*named("u1", "a"), *named("u2", "b", "team-b", running), *named("u3", "c", "team-a", running)]
    )
    await projector.advance()
    assert (await view.count_jobs(), await view.count_entries()) == (3, 5)


@pytest.mark.parametrize(
    "filters",
    [
        "namespace = 'x'",
        "kind = 'x'",
        "phase = 'x'",
        "name = 'x' AND namespace = 'y'",
        "namespace = 'x' AND phase = 'y'",
        "1 = 1",
    ],
)
async def test_no_list_reads_the_whole_table_or_sorts_it(
    view: History, database: Database, filters: str
) -> None:
    await view.prepare()
    query = (
        f"SELECT * FROM history_jobs WHERE {filters} AND (began_at, partition, first_position) < ($1, $2, $3) "  # noqa: S608
        "ORDER BY began_at DESC, partition DESC, first_position DESC"
    )
    if isinstance(database, SqliteDatabase):
        rows = await database.fetch(f"EXPLAIN QUERY PLAN {query}", START, 0, 1)
        assert [row[3][:6] for row in rows] == ["SEARCH"]
    else:
        plan = await planned(database, query)
        assert "Index Scan" in plan
        assert "Sort" not in plan


async def planned(database: Database, query: str) -> str:
    """How PostgreSQL would do it, were the table large."""
    import asyncpg

    from projectors.history.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    large = {f"enable_{plan}": "off" for plan in ("seqscan", "sort", "bitmapscan")}
    connection = await asyncpg.connect(database.address.url, server_settings=large)
    rows = await connection.fetch(
        f"EXPLAIN {query}".replace("$1", "now()").replace("$2", "0").replace("$3", "1")
    )
    await connection.close()
    return "\n".join(row[0] for row in rows)


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


# ---- following the log ----


async def test_the_view_says_how_far_it_is(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(history(3))
    await projector.advance()
    assert await view.position() == await log.end()


async def test_advancing_step_by_step_gives_the_same_view_as_advancing_once(
    log: SqliteLog, projector: HistoryProjector, view: History, tmp_path: Path
) -> None:
    for draft in [*history(5), *history(4, OTHER)]:
        await log.append([draft])
        await projector.advance()
    assert await contents(view) == await from_the_beginning(log, tmp_path)


async def test_a_projector_started_anew_goes_on_where_the_view_is(
    log: SqliteLog, database: Database, tmp_path: Path
) -> None:
    await log.append([*history(3), *history(2, OTHER)])
    await HistoryProjector(log, database).advance()
    await log.append(history(6)[3:])
    await HistoryProjector(log, database).advance()
    view = await contents(History(database))
    assert view == await from_the_beginning(log, tmp_path)
    assert [row.last_seq for row in view[0]] == [2, 6]


async def test_entries_that_no_reader_accepts_are_not_in_the_view(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append([*history(2), EntryDraft(JOB, 3, b"torn"), *history(2, OTHER)])
    await projector.advance()
    assert [row.seq for row in await view.entries(JOB)] == [1, 2]
    assert await view.position() == 5


async def test_a_character_that_a_database_cannot_hold_stops_nothing(
    log: SqliteLog, projector: HistoryProjector, view: History
) -> None:
    await log.append(chain(admitted(), said("a\0b")))
    await projector.advance()
    assert (await view.entries(JOB))[1].summary == "Noted: a\N{REPLACEMENT CHARACTER}b"


async def test_partitions_are_unrelated_in_their_positions_and_together_in_lists(
    database: Database, view: History
) -> None:
    left, right = MemoryLog(), MemoryLog()
    await left.append([begun("first", 1), begun("third", 9)])
    await right.append([begun("second", 5)])
    for number, half in enumerate((left, right)):
        await HistoryProjector(half, database, number).advance()
    assert [job.name for job in await jobs_of(view)] == ["third", "second", "first"]
    assert [await view.position(number) for number in (0, 1, 2)] == [2, 1, 0]


def begun(name: str, second: int) -> EntryDraft:
    """The first entry of a job that was observed then."""
    job = JobUid(f"uid of {name}")
    return EntryDraft(job, 1, encode(entry(job, 1, GENESIS, admitted(name), at(second))))


# ---- several, and again ----


async def test_two_that_project_the_same_partition_neither_double_nor_lose_anything(
    log: SqliteLog, database: Database, tmp_path: Path
) -> None:
    rivals = [HistoryProjector(log, database) for _ in range(2)]
    for start in range(0, 900, 300):
        await log.append(history(900)[start : start + 300])
        await asyncio.gather(*(rival.advance() for rival in rivals))
    assert await contents(History(database)) == await from_the_beginning(log, tmp_path)


async def test_a_writer_that_comes_back_after_another_has_gone_on_writes_nothing_twice(
    log: SqliteLog, database: Database, tmp_path: Path
) -> None:
    sleeper, other = HistoryProjector(log, database), HistoryProjector(log, database)
    await log.append(history(3))
    await sleeper.advance()
    await log.append(history(6)[3:])
    await other.advance()
    await log.append(history(9)[6:])
    await sleeper.advance()
    sleeper.forget()
    await sleeper.advance()
    assert await contents(History(database)) == await from_the_beginning(log, tmp_path)


async def test_entries_that_the_database_did_not_take_are_written_at_the_next_try(
    log: SqliteLog,
    database: Database,
    projector: HistoryProjector,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def away(*_: object) -> None:
        raise ViewUnavailable("the database is away")

    await log.append(history(3))
    await projector.advance()
    await log.append(history(6)[3:])
    with monkeypatch.context() as patched:
        patched.setattr(database, "change", away)
        with pytest.raises(ViewUnavailable):
            await projector.advance()
    await projector.advance()
    assert await contents(projector.history) == await from_the_beginning(log, tmp_path)


async def test_a_view_that_is_emptied_under_a_projector_is_made_again_from_the_first_entry(
    log: SqliteLog, database: Database, projector: HistoryProjector, tmp_path: Path
) -> None:
    await log.append([*history(300), *history(300, OTHER)])
    await projector.advance()
    await database.clear()
    await log.append(history(301)[300:])
    await projector.advance()
    view = await contents(projector.history)
    assert [len(entries) for entries in view[1]] == [300, 301]
    assert view == await from_the_beginning(log, tmp_path)


async def test_a_view_can_be_emptied_while_others_project(
    log: SqliteLog, database: Database, tmp_path: Path
) -> None:
    await log.append([*history(700), *history(700, OTHER)])
    rivals = [HistoryProjector(log, database) for _ in range(2)]
    working = asyncio.gather(*(rival.advance() for rival in rivals))
    for _ in range(3):
        await asyncio.sleep(0.05)
        await database.clear()
    await working
    rivals[0].forget()
    await rivals[0].advance()
    assert await contents(History(database)) == await from_the_beginning(log, tmp_path)


async def test_a_view_of_another_log_is_not_gone_on_with(log: SqliteLog, database: Database) -> None:
    longer = MemoryLog()
    await longer.append(history(5))
    await HistoryProjector(longer, database).advance()
    await log.append(history(2))
    with pytest.raises(ViewUnavailable, match="made from another log"):
        await HistoryProjector(log, database).advance()


# ---- starting in the middle ----


@pytest.mark.parametrize("seed", seeds(15))
async def test_wherever_view_and_snapshots_are_a_projector_goes_on_as_if_it_had_never_stopped(
    database: Database, tmp_path: Path, seed: int
) -> None:
    """Entries of several jobs in any order, among repeats and rubbish; snapshots and starts at any place."""
    chance = Random(seed)
    log = MemoryLog()
    lives = {JobUid(f"u{number}"): life(f"u{number}", chance) for number in range(6)}
    written: list[EntryDraft] = []
    projector = HistoryProjector(log, database)
    while any(lives.values()):
        job = chance.choice([uid for uid, left in lives.items() if left])
        written.append(lives[job].pop(0))
        forged(log, written[-1])
        match chance.randrange(12):
            case 0:
                forged(log, chance.choice(written))
            case 1:
                forged(log, EntryDraft(job, chance.randrange(1, 9), b"rubbish"))
            case 2:
                reader = Reader()
                await reader.recover(log)
                await log.save_snapshots(reader.position, reader.unsaved())
            case 3:
                await projector.advance()
            case 4:
                projector = HistoryProjector(log, database)
                await projector.advance()
            case 5:
                log.forget_snapshots()
            case _:
                pass
    await projector.advance()
    assert await contents(projector.history) == await from_the_beginning(log, tmp_path)


async def test_a_job_that_was_in_quarantine_before_a_start_still_is_after_it(
    database: Database, tmp_path: Path
) -> None:
    log, reader = MemoryLog(), Reader()
    for draft in (EntryDraft(JOB, 1, b"torn"), *history(2, OTHER)):
        forged(log, draft)
    await reader.recover(log)
    await log.save_snapshots(reader.position, reader.unsaved())
    await HistoryProjector(log, database).advance()
    for draft in (*history(2), *history(3, OTHER)[2:]):
        forged(log, draft)
    await HistoryProjector(log, database).advance()
    view = await contents(History(database))
    assert [(row.uid, row.last_seq) for row in view[0]] == [(OTHER, 3)]
    assert view == await from_the_beginning(log, tmp_path)


def life(uid: str, chance: Random) -> list[EntryDraft]:
    steps = [accepted(start) for start in range(1, chance.randrange(2, 9))]
    end = (
        [said("over"), (JobClosed(),), *([said("late")] * chance.randrange(2))] if chance.randrange(2) else []
    )
    return chain(admitted(uid), *steps, *end, job=JobUid(uid))


def forged(log: MemoryLog, draft: EntryDraft) -> None:
    """Any bytes under any number, as a client with the right to write to a topic could put there."""
    log._records.append(Record(len(log._records) + 1, draft.job, draft.seq, draft.body))


# ---- entries of a newer release ----


async def test_an_entry_whose_cause_is_not_known_is_shown(
    log: SqliteLog, projector: HistoryProjector
) -> None:
    await log.append([*newer_cause(), *history(2, OTHER)])
    await projector.advance()
    entries = await projector.history.entries(JOB)
    causes = [(row.seq, row.cause_type) for row in entries][1:]
    assert causes == [(2, "WeatherObserved"), (3, "TimerFired")]
    assert "rain" in entries[1].summary
    assert len(await projector.history.entries(OTHER)) == 2


async def test_a_job_whose_events_are_not_known_is_left_out(
    log: SqliteLog, projector: HistoryProjector
) -> None:
    await log.append([*newer_event(), *history(2, OTHER)])
    await projector.advance()
    assert len(await projector.history.entries(OTHER)) == 2
    assert await projector.history.find_job(JOB) is None
