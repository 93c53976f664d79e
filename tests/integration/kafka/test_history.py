"""A server whose log is in Kafka has the history that `--history` names: SQLite or PostgreSQL, and none without."""

import asyncio
from pathlib import Path

import pytest

from jobledger.wiring.history import opened, where_of
from projectors.history import History, JobRow
from statemachine.log.kafka.address import Address
from statemachine.phases import Phase
from tests.integration.cli_words import Place, environment, script, wait_until
from tests.support.history_rows import jobs_of

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.timeout(600)
def test_a_job_is_in_the_history_from_its_beginning_to_its_end(
    kind: str, tmp_path: Path, ledger_topics: Address, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite://{tmp_path}/history.db"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_database")
    place = Place(tmp_path, environment(JOBLEDGER_HISTORY=url, JOBLEDGER_KAFKA__FEED="aiokafka"))
    names = [f"job-{number}" for number in range(4)]
    file = place.write("jobs.yaml", *(script(name, "print('done')") for name in names))
    with place.server("--log", str(ledger_topics)):
        place.ok("submit", file)
        wait_until(lambda: ended(url) == set(names), "the end of all jobs in the history")
    rows = listed(url)
    for row in rows:
        counted = len(asyncio.run(entries(url, row)))
        assert counted == row.last_seq > 2


def test_jobs_of_a_log_in_kafka_are_shown_when_no_server_runs(tmp_path: Path, ledger_topics: Address) -> None:
    place = Place(tmp_path, environment(JOBLEDGER_KAFKA__FEED="aiokafka"))
    file = place.write("job.yaml", script("digits", "print('done')"))
    with place.server("--log", str(ledger_topics)):
        place.ok("submit", file)
        place.ok("wait", "digits", "--for", "phase=Succeeded", "--timeout", "100s")
    for verb in (["get"], ["describe", "digits"]):
        said = place.run(*verb, "--log", str(ledger_topics), "--store", str(tmp_path / "none.db"))
        assert (said.returncode, "digits" in said.stdout, "Succeeded" in said.stdout) == (0, True, True)
        assert said.stderr == (
            f"jobledger: no server is asked; this is the state in the log {ledger_topics}\n"
        )


def ended(url: str) -> set[str]:
    return {row.name for row in listed(url) if row.phase is Phase.SUCCEEDED}


def listed(url: str) -> list[JobRow]:
    async def work() -> list[JobRow]:
        where = where_of(url)
        assert where is not None
        async with opened(where) as database:
            view = History(database)
            await view.prepare()
            return await jobs_of(view)

    return asyncio.run(work())


async def entries(url: str, job: JobRow) -> list[object]:
    where = where_of(url)
    assert where is not None
    async with opened(where) as database:
        return list(await History(database).entries(job.uid))
