"""`jobledger log copy`: from a file to Kafka and back, as an operator does it."""

import asyncio
from pathlib import Path

import pytest

from statemachine.log.kafka.address import Address
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.port import EntryDraft, Record
from statemachine.log.sqlite import SqliteLog
from statemachine.observations import JobGone
from tests.harness import Kafka, program
from tests.harness.fixtures import ledger_topics_on
from tests.support.logs import OTHER, START, history, records

pytestmark = pytest.mark.integration


def cli(*words: str) -> tuple[int, str, str]:
    done = program.run(*words)
    return done.returncode, done.stdout, done.stderr


def write(path: Path, drafts: list[EntryDraft]) -> None:
    async def work() -> None:
        log = await SqliteLog.open(path)
        await log.append(drafts)
        await log.close()

    asyncio.run(work())


def read(path: Path) -> list[Record]:
    async def work() -> list[Record]:
        log = await SqliteLog.open(path, read_only=True)
        written = await records(log)
        await log.close()
        return written

    return asyncio.run(work())


def test_a_log_goes_into_kafka_and_comes_back_as_it_was(tmp_path: Path, ledger_topics: Address) -> None:
    first, back, kafka = tmp_path / "first.db", tmp_path / "back.db", str(ledger_topics)
    write(first, [*history(700), *history(5, OTHER)])
    assert cli("log", "copy", f"sqlite://{first}", kafka) == (
        0,
        "the same in both: 2 jobs, 705 entries\n",
        "",
    )
    again = cli("log", "copy", f"sqlite://{first}", kafka)
    assert again[:2] == (0, "the same in both: 2 jobs, 705 entries, 705 of them before\n")
    assert cli("log", "copy", kafka, f"sqlite://{back}")[0] == 0
    left, right = ({(record.job, record.seq): record.body for record in read(path)} for path in (first, back))
    assert left == right


def test_a_ledger_at_work_is_backed_up_and_comes_back(tmp_path: Path, kafka: Kafka) -> None:
    written, backup = tmp_path / "written.db", tmp_path / "backup.db"
    with ledger_topics_on(kafka) as working, ledger_topics_on(kafka) as restored:
        write(written, history(5))
        assert cli("log", "copy", f"sqlite://{written}", str(working))[0] == 0
        asyncio.run(notice(working))
        assert "not decided yet" in cli("log", "copy", str(working), f"sqlite://{backup}")[2]
        first = cli("log", "backup", str(working), f"sqlite://{backup}")
        assert first == (0, "backed up: 1 jobs, 5 entries\n", "")
        write(written, history(9)[5:])
        assert cli("log", "copy", f"sqlite://{written}", str(working))[0] == 0
        again = cli("log", "backup", str(working), f"sqlite://{backup}")
        assert again == (0, "backed up: 1 jobs, 9 entries, 5 of them before\n", "")
        back = cli("log", "copy", f"sqlite://{backup}", str(restored))
        assert back[:2] == (0, "the same in both: 1 jobs, 9 entries\n")
        assert {(record.job, record.seq): record.body for record in read(backup)} == {
            (record.job, record.seq): record.body for record in history(9)
        }


async def notice(address: Address) -> None:
    """An observation of a job that no engine has decided."""
    outbox = await KafkaOutbox.open(address)
    await outbox.put([JobGone(job=OTHER, at=START)])
    await outbox.close()


def test_another_ledger_in_the_topics_is_not_written_over(tmp_path: Path, ledger_topics: Address) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    write(one, history(3))
    write(two, history(3, OTHER))
    assert cli("log", "copy", f"sqlite://{one}", str(ledger_topics))[0] == 0
    code, said, wrong = cli("log", "copy", f"sqlite://{two}", str(ledger_topics))
    assert (code, said) == (1, "")
    assert wrong.startswith("jobledger: job ")
    assert "is not the same in both logs" in wrong
    assert "Traceback" not in wrong
