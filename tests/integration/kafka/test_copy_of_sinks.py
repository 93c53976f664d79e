"""Positions of sinks in a copy of a ledger, into Kafka and back."""

from pathlib import Path

import pytest

from jobledger.wiring.copying import copied
from jobledger.wiring.identity import identity_of
from jobledger.wiring.ledger import Kafka, reading
from jobledger.wiring.positions import positions_of
from projectors.sinks.feeding import Feeder
from projectors.sinks.kafka import KafkaSink
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.publishing import Target
from tests.contract.lives import PUBLICATION
from tests.harness.fixtures import LEDGER_PARTITIONS
from tests.unit.wiring.test_carrying import FAILURE, Gathering, ids, stories, write

pytestmark = pytest.mark.integration


async def feed(where: Path | Kafka) -> list[str]:
    sink = Gathering()
    async with reading(where) as partitions, positions_of(where) as positions:
        for number, log in enumerate(partitions.logs):
            await Feeder(log, number, sink, PUBLICATION, positions=positions).advance()
    return sink.ids


async def test_in_kafka_and_back_a_sink_gets_what_it_lacks(tmp_path: Path, ledger_topics: Address) -> None:
    first, back = tmp_path / "first.db", tmp_path / "back.db"
    kafka = Kafka(ledger_topics, "aiokafka", "", 10.0)
    written = stories()
    await write(first, written, range(1, 2))
    await identity_of(first, "prod-1")
    before = await feed(first)
    await write(first, written, range(2, 9))
    async with positions_of(first) as positions:
        await positions.fail("pager", FAILURE)
    await copied(first, kafka)
    async with positions_of(kafka, read_only=True) as positions:
        assert await positions.failures("pager") == {FAILURE.event: FAILURE}
        assert len(await positions.all("pager")) == LEDGER_PARTITIONS
    after = await feed(kafka)
    assert set(before) | set(after) == ids(written)
    assert not set(before) & set(after)
    await copied(kafka, back)
    assert await feed(back) == []


async def test_what_is_known_of_a_topic_stays_with_it(tmp_path: Path, ledger_topics: Address) -> None:
    kafka, back = Kafka(ledger_topics, "aiokafka", "", 10.0), tmp_path / "back.db"
    first = tmp_path / "first.db"
    await write(first, stories(), range(1, 9))
    await copied(first, kafka)
    await identity_of(kafka, "prod-1")
    sink = await KafkaSink.open("kafka", Target.of(ledger_topics), LEDGER_PARTITIONS)
    async with reading(kafka) as partitions:
        for number, log in enumerate(partitions.logs):
            await Feeder(log, number, sink, PUBLICATION).advance()
    await sink.close()
    await feed(kafka)
    await copied(kafka, back)
    async with positions_of(back) as positions:
        assert await positions.all("kafka") == {}
        assert await positions.all("pager") != {}
