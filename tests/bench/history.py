"""The history in PostgreSQL: how fast it is made, and how long what CLI and console ask takes in a large one.

By hand, as millions of rows take minutes: `python -m tests.bench.history [--entries 5000000]`. Rows are generated in
the database, then every query is asked several times and its plan is looked at: none may read a whole table.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rich.console import Console

from projectors.history import History, HistoryProjector
from projectors.history.address import PostgresAddress
from projectors.history.postgres import PostgresDatabase
from statemachine.ids import JobUid
from tests.harness import Postgres
from tests.support.logs import history
from tests.support.memory_log import MemoryLog

say = Console(width=132, highlight=False).print

EACH: Final = 40
"""Entries of a job."""

_NEWEST: Final = "ORDER BY began_at DESC, partition DESC, first_position DESC LIMIT 50"

_JOBS: Final = """INSERT INTO history_jobs SELECT 'uid-' || n, 'batch.tensorstack.dev/v1beta1',
    (ARRAY['PyTorchTrainingJob', 'MPIJob', 'TFJob'])[1 + n % 3], 'team-' || n % 50, 'job-' || n % 5000,
    CASE WHEN n > $1::bigint - 500 THEN 'Running' WHEN n % 7 = 0 THEN 'Failed' ELSE 'Succeeded' END,
    t, t, t + interval '1 hour', n % 3 > 0, n % 4, 8, $2::bigint, t + interval '1 hour', t, n % 12,
    n / 12 * $2::bigint + 1
    FROM (SELECT n, timestamptz '2026-01-01 00:00Z' + n * interval '1 minute' AS t
          FROM generate_series(0, $1::bigint - 1) n) numbers"""

_ENTRIES: Final = """INSERT INTO history_entries SELECT n % 12, n / 12 * $2::bigint + s, 'uid-' || n, s,
    timestamptz '2026-01-01 00:00Z' + n * interval '1 minute' + s * interval '1 second', NULL, '', 'PodObserved',
    'Running', ARRAY['ReplicaStarted', 'ConditionsChanged'], 'worker-' || s || ' started on node-' || n % 100
    FROM generate_series(0, $1::bigint - 1) n, generate_series(1, $2::bigint) s"""


async def main(entries: int) -> None:
    with Postgres() as server:
        database = PostgresDatabase(PostgresAddress.of(server.url(server.fresh())))
        await database.prepare()
        await made(database)
        await database.clear()
        jobs = entries // EACH
        began = time.monotonic()
        await filled(database, jobs)
        say(f"{jobs} jobs, {jobs * EACH} entries generated in {time.monotonic() - began:.0f} s")
        say(
            server.sql(
                "SELECT pg_size_pretty(pg_database_size(current_database()))", database.address.database
            )
        )
        await asked(History(database), jobs)
        await database.close()


async def made(database: PostgresDatabase) -> None:
    """How fast a projector is that has all of a log before it."""
    log = MemoryLog()
    for number in range(1000):
        await log.append(history(EACH, JobUid(f"uid-{number}")))
    began, cpu = time.monotonic(), time.process_time()
    await HistoryProjector(log, database).advance()
    spent, busy = time.monotonic() - began, time.process_time() - cpu
    say(f"projected: {1000 * EACH / spent:.0f} entries/s, {1000 * EACH / busy:.0f} per second of our CPU")


async def filled(database: PostgresDatabase, jobs: int) -> None:
    import asyncpg

    connection: Any = await asyncpg.connect(database.address.url, command_timeout=3600)
    await connection.execute(_JOBS, jobs, EACH)
    await connection.execute(_ENTRIES, jobs, EACH)
    await connection.execute("ANALYZE")
    await connection.close()


async def asked(view: History, jobs: int) -> None:
    def newest(where: str = "true", *values: object) -> Callable[[], Awaitable[Any]]:
        """A question in SQL, as a user of the tables asks it."""
        query = f"SELECT * FROM history_jobs WHERE {where} {_NEWEST}"  # noqa: S608 - our own words
        return lambda: view._database.fetch(query, *values)

    def counted(where: str = "true") -> Callable[[], Awaitable[Any]]:
        """How many jobs are in each phase, in SQL."""
        return lambda: view._database.fetch(
            f"SELECT phase, count(*) FROM history_jobs WHERE {where} GROUP BY phase"  # noqa: S608
        )

    middle = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=jobs // 2)
    questions: dict[str, Callable[[], Awaitable[Any]]] = {
        "newest 50": newest(),
        "50 of a namespace": newest("namespace = 'team-7'"),
        "50 of a phase": newest("phase = 'Failed'"),
        "50 of a phase that few have": newest("phase = 'Running'"),
        "50 of a namespace and phase": newest("namespace = 'team-7' AND phase = 'Failed'"),
        "50 of a kind, not deleted": newest("kind = 'MPIJob' AND NOT deleted"),
        "50 from the middle on": newest("(began_at, partition, first_position) < ($1, 0, 0)", middle),
        "50 of a phase nobody has": newest("phase = 'Pending'"),
        "a job by its uid": lambda: view.find_job(f"uid-{jobs // 3}"),
        "the newest of a name": lambda: view.find_job("job-77"),
        "of a name in a namespace": lambda: view.find_job("job-77", "team-27"),
        "all entries of a job": lambda: view.entries(JobUid(f"uid-{jobs // 2}")),
        "jobs by phase, a namespace": counted("namespace = 'team-7'"),
        "jobs by phase, all": counted(),
        "jobs, all": view.count_jobs,
        "entries, all": view.count_entries,
    }
    for name, ask in questions.items():
        times = []
        for _ in range(15):
            began = time.perf_counter()
            await ask()
            times.append((time.perf_counter() - began) * 1000)
        say(f"{name:30} median {statistics.median(times):8.2f} ms   worst {max(times):8.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.history", description=__doc__)
    parser.add_argument("--entries", type=int, default=5_000_000)
    asyncio.run(main(parser.parse_args().entries))
