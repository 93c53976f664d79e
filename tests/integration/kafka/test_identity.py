"""What a ledger in Kafka is called: written once, by the process that comes first, and kept by copies."""

import asyncio
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from statemachine.errors import ConfigError, StoreUnusable
from statemachine.log.identity import Identity
from statemachine.log.identity import identity as identity_in_file
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.identity import identity, known_identity
from statemachine.log.sqlite import SqliteLog
from tests.harness import Kafka, program
from tests.harness.fixtures import ledger_topics_on
from tests.support.logs import history

pytestmark = pytest.mark.integration


async def test_a_name_is_written_once_and_stays(ledger_topics: Address) -> None:
    assert await known_identity(ledger_topics) is None
    made = await identity(ledger_topics, "prod-1")
    assert made.name == "prod-1"
    assert await identity(ledger_topics) == made == await known_identity(ledger_topics)
    with pytest.raises(ConfigError, match="is called prod-1, and a name stays"):
        await identity(ledger_topics, "prod-2")


async def test_those_who_come_at_once_agree(ledger_topics: Address) -> None:
    made = await asyncio.gather(*(identity(ledger_topics) for _ in range(4)))
    assert len(set(made)) == 1
    assert made[0].name == made[0].id.replace("-", "")[:12]
    assert await known_identity(ledger_topics) == made[0]


async def test_a_ledger_of_before_gets_no_name_without_its_topic(ledger_topics: Address) -> None:
    admin = AIOKafkaAdminClient(**ledger_topics.options())
    await admin.start()
    name = ledger_topics.topic("positions")
    await admin.delete_topics([name])
    async with asyncio.timeout(60):
        while name in await admin.list_topics():  # noqa: ASYNC110 - brokers set no event
            await asyncio.sleep(0.05)
    await admin.close()
    with pytest.raises(
        StoreUnusable, match=r"positions does not exist, .*`jobledger topics apply --log kafka:"
    ):
        await identity(ledger_topics)
    assert await known_identity(ledger_topics) is None


def test_copies_have_the_name_of_the_original_and_an_id_of_their_own(tmp_path: Path, kafka: Kafka) -> None:
    first, back = tmp_path / "first.db", tmp_path / "back.db"
    asyncio.run(_write(first))
    made = identity_in_file(first, "prod-1")
    with ledger_topics_on(kafka) as one, ledger_topics_on(kafka) as other:
        for source, target in (
            (f"sqlite://{first}", str(one)),
            (str(one), str(other)),
            (str(one), f"sqlite://{back}"),
        ):
            copied = program.run("log", "copy", source, target)
            assert (copied.returncode, copied.stderr) == (0, "")
        ledgers = [made, *map(_known, (one, other)), identity_in_file(back)]
        assert [ledger and ledger.name for ledger in ledgers] == ["prod-1"] * 4
        assert len({ledger.id for ledger in ledgers if ledger}) == 4


def test_a_target_with_another_name_is_refused(tmp_path: Path, ledger_topics: Address) -> None:
    first = tmp_path / "first.db"
    asyncio.run(_write(first))
    identity_in_file(first, "prod-1")
    asyncio.run(identity(ledger_topics, "prod-2"))
    copied = program.run("log", "copy", f"sqlite://{first}", str(ledger_topics))
    assert copied.returncode == 2
    assert "is called prod-1, and that in" in copied.stderr
    assert "Traceback" not in copied.stderr


def _known(address: Address) -> Identity | None:
    return asyncio.run(known_identity(address))


async def _write(path: Path) -> None:
    log = await SqliteLog.open(path)
    await log.append(history(3))
    await log.close()
