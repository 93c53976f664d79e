"""The history in PostgreSQL: its schema, wrong settings, and a server that goes and comes back."""

import asyncio
import logging
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jobledger.service.health import Health
from jobledger.wiring.running import running
from projectors.history import EntryRow, History, HistoryProjector
from projectors.history.address import PostgresAddress
from projectors.history.postgres import SCHEMAS, PostgresDatabase
from statemachine.engine.clock import WallClock
from statemachine.errors import ConfigError, StoreUnusable, ViewUnavailable
from statemachine.log.sqlite import SqliteLog
from tests.harness import Postgres, program
from tests.harness.postgres import PASSWORD, USER
from tests.support.controllers import controller_of
from tests.support.logs import JOB, history
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog

pytestmark = pytest.mark.integration

PATIENCE = 60.0


@asynccontextmanager
async def database_at(url: str, *, read_only: bool = False) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(PostgresAddress.of(url), read_only=read_only)
    try:
        yield opened
    finally:
        await opened.close()


@pytest.fixture
def own(killable_postgres: Postgres) -> Postgres:
    """A server that may be stopped."""
    return killable_postgres


# ---- the schema ----


async def test_of_many_that_start_at_once_one_makes_the_tables(postgres_database: str) -> None:
    async with database_at(postgres_database) as one, database_at(postgres_database) as other:
        await asyncio.gather(*(database.prepare() for database in (one, other, one, other)))
        assert await other.fetch("SELECT version_num FROM history_schema") == [(SCHEMAS[-1],)]


async def test_the_revisions_are_those_that_the_program_knows() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "projectors/history/migrations")
    directory = ScriptDirectory.from_config(config)
    assert tuple(revision.revision for revision in reversed(list(directory.walk_revisions()))) == SCHEMAS


async def test_a_newer_schema_is_refused_and_left_alone(postgres_database: str) -> None:
    async with database_at(postgres_database) as database:
        await database.prepare()
        await database.fetch("UPDATE history_schema SET version_num = '9999'")
        with pytest.raises(ConfigError, match=f"has schema 9999, and this jobledger knows {SCHEMAS[-1]}"):
            await database.prepare()
        with pytest.raises(ConfigError, match="9999"):
            await database.clear()


async def test_who_only_reads_makes_no_tables(postgres_database: str) -> None:
    async with database_at(postgres_database, read_only=True) as database:
        with pytest.raises(StoreUnusable, match="no history that this release can read"):
            await database.prepare()
        assert await database.fetch("SELECT to_regclass('history_jobs')::text") == [(None,)]


@pytest.mark.parametrize("tables_first", [True, False])
async def test_the_statements_of_the_documentation_make_a_front_that_only_reads(
    postgres: Postgres, postgres_database: str, *, tables_first: bool
) -> None:
    page = Path("docs/operations.md").read_text(encoding="utf-8")
    statements = page.split("```sql\n")[1].split("```")[0]
    name, front = postgres_database.rpartition("/")[2], f"front_{tables_first}".lower()
    statements = statements.replace("jobledger_front", front).replace(" ROLE jobledger ", f" ROLE {USER} ")
    log = MemoryLog()
    await log.append(history(3))
    try:
        async with database_at(postgres_database) as database:
            if tables_first:
                await HistoryProjector(log, database).advance()
            postgres.sql(statements, name)
            await HistoryProjector(log, database).advance()
        async with database_at(postgres.url(name, front, "another"), read_only=True) as reading:
            await reading.prepare()
            assert [entry.seq for entry in await entries(reading)] == [1, 2, 3]
        async with database_at(postgres.url(name, front, "another")) as writing:
            for statement in ("DELETE FROM history_entries", "CREATE TABLE mine (n int)"):
                with pytest.raises((ConfigError, StoreUnusable, ViewUnavailable), match="permission denied"):
                    await writing.fetch(statement)
    finally:
        postgres.sql(f"DROP OWNED BY {front}; DROP ROLE {front}", name)


async def test_tables_that_are_dropped_under_a_projector_are_made_and_filled_again(
    postgres_database: str,
) -> None:
    log = MemoryLog()
    async with database_at(postgres_database) as database:
        projector = HistoryProjector(log, database)
        await log.append(history(3))
        await projector.advance()
        await database.fetch(
            "DROP TABLE history_jobs, history_entries, history_labels, history_listing, history_positions, "
            "history_schema"
        )
        await log.append(history(4)[3:])
        with pytest.raises(ViewUnavailable, match="does not exist"):
            await projector.advance()
        await projector.advance()
        assert [entry.seq for entry in await entries(database)] == [1, 2, 3, 4]


async def test_two_ledgers_live_in_schemas_of_one_database(
    postgres: Postgres, postgres_database: str
) -> None:
    for name, length in (("east", 3), ("west", 1)):
        postgres.sql(f"CREATE SCHEMA {name}", postgres_database.rpartition("/")[2])
        log = MemoryLog()
        await log.append(history(length))
        async with database_at(f"{postgres_database}?search_path={name}") as database:
            await HistoryProjector(log, database).advance()
            assert len(await entries(database)) == length


# ---- settings ----


@pytest.mark.parametrize(
    ("who", "database", "says"),
    [
        (("ledger", "wrong-secret"), "postgres", "refuses the user or the password"),
        (("nobody-such", PASSWORD), "postgres", "refuses the user or the password"),
        (("ledger", PASSWORD), "not-there", 'there is no database "not-there"'),
    ],
)
def test_what_is_wrong_with_the_settings_is_a_sentence_without_the_password(
    postgres: Postgres, tmp_path: Path, who: tuple[str, str], database: str, says: str
) -> None:
    code, said = cli("serve", "--store", str(tmp_path / "s.db"), "--history", postgres.url(database, *who))
    assert (code, says in said, "Traceback" in said) == (2, True, False), said
    assert who[1] not in said


def test_a_user_without_rights_gets_a_sentence(
    postgres: Postgres, postgres_database: str, tmp_path: Path
) -> None:
    name = postgres_database.rpartition("/")[2]
    role = f"reader_{name}"
    postgres.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'reading'")
    code, said = cli(
        "serve", "--store", str(tmp_path / "s.db"), "--history", postgres.url(name, role, "reading")
    )
    assert (code, "may not do what the history needs" in said) == (2, True), said
    assert "Traceback" not in said


def test_the_password_comes_from_a_file_and_is_never_shown(
    postgres_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, secret = tmp_path / "s.db", tmp_path / "password"
    write(store)
    secret.write_text(f"{PASSWORD}\n", encoding="utf-8")
    monkeypatch.setenv("JOBLEDGER_HISTORY", postgres_database.replace(f":{PASSWORD}", ""))
    monkeypatch.setenv("JOBLEDGER_HISTORY_PASSWORD_FILE", str(secret))
    assert cli("history", "--rebuild", "--store", str(store)) == (
        0,
        "the history has been made again: 1 job, 3 entries\n",
    )
    monkeypatch.setenv("JOBLEDGER_HISTORY", postgres_database)
    for form in ("table", "json", "yaml"):
        code, said = cli("config", "-o", form)
        assert code == 0
        assert postgres_database.replace(f":{PASSWORD}", "") in said
        assert PASSWORD not in said


# ---- a server that is not there ----


async def test_a_server_that_is_away_at_the_start_and_later_is_waited_for_with_one_warning_each_time(
    own: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    name = own.fresh()
    await asyncio.to_thread(own.kill)
    caplog.set_level(logging.INFO)
    log = MemoryLog()
    async with database_at(own.url(name)) as database:
        controller = controller_of(
            log, MemoryCluster(), WallClock(), streams=[[HistoryProjector(log, database)]]
        )
        async with running(controller):
            await becomes(lambda: "history" in controller.waits)
            tries = controller.pulses()["history"].beats
            await becomes(lambda: controller.pulses()["history"].beats >= tries + 3)
            assert f"the view history waits: the history in {database}" in str(
                await Health(controller).readiness()
            )
            assert warnings(caplog) == 1
            await asyncio.to_thread(own.start)
            await becomes(lambda: not controller.waits)
            await log.append(history(3))
            await asyncio.to_thread(own.kill)
            assert controller.projectors is not None
            controller.projectors.views.shared()
            await becomes(lambda: "history" in controller.waits)
            assert "cannot be read or written now" in controller.waits["history"]
            await asyncio.to_thread(own.start)
            await becomes(lambda: not controller.waits)
            assert warnings(caplog) == 2
            assert [entry.seq for entry in await entries(database)] == [1, 2, 3]
            assert PASSWORD not in caplog.text
        await asyncio.to_thread(own.kill)
        await log.append(history(4)[3:])
        async with asyncio.timeout(PATIENCE):
            await controller.catch_up()


async def test_a_password_that_is_changed_meanwhile_stops_nothing_else(
    own: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    name = own.fresh()
    log = MemoryLog()
    async with database_at(own.url(name)) as database:
        projector = HistoryProjector(log, database)
        await projector.advance()
        own.sql("ALTER ROLE ledger PASSWORD 'another'")
        try:
            with pytest.raises(Exception, match="password"):
                own.drop(name)
            await log.append(history(1))
            await database.close()
            with pytest.raises(ViewUnavailable, match="refuses the user or the password"):
                await projector.advance()
        finally:
            own.sql(f"ALTER ROLE ledger PASSWORD '{PASSWORD}'", password="another")


async def test_a_server_that_freezes_is_left_when_asked_to(own: Postgres) -> None:
    log = MemoryLog()
    async with database_at(own.url(own.fresh())) as database:
        projector = HistoryProjector(log, database)
        await log.append(history(3))
        await projector.advance()
        own.freeze()
        await log.append(history(6)[3:])
        work = asyncio.create_task(projector.advance())
        await asyncio.sleep(1)  # the server has the question; were it not so, leaving it were easier
        assert not work.done()
        work.cancel()
        async with asyncio.timeout(PATIENCE):  # the server answers only after that
            await asyncio.wait([work])
        own.resume()
        await projector.advance()
        assert len(await entries(database)) == 6


async def entries(database: PostgresDatabase) -> Sequence[EntryRow]:
    return await History(database).entries(JOB)


async def becomes(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


def warnings(caplog: pytest.LogCaptureFixture) -> int:
    return sum("a view cannot be brought up to date now" in record.message for record in caplog.records)


def write(path: Path) -> None:
    async def work() -> None:
        log = await SqliteLog.open(path)
        await log.append(history(3))
        await log.close()

    asyncio.run(work())


def cli(*words: str) -> tuple[int, str]:
    """The exit code, and all that was said."""
    done = program.run(*words, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout
