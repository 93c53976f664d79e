"""The log in Kafka, over the model of brokers: what a broker of our own would take long to show."""

import asyncio

from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.topics import apply
from tests.support.kafka_model.installed import brokers_at, installed
from tests.support.logs import history
from tests.support.simulated import run_simulated


def test_an_append_that_fails_when_nobody_waits_for_it_any_more_is_no_error_of_the_loop() -> None:
    async def main() -> None:
        brokers = brokers_at("model:9092")
        address = Address(("model:9092",))
        await apply(address, partitions=1, replication=1)
        log = await KafkaLog.open(address, 0)
        brokers.go_away()
        appending = asyncio.create_task(log.append(history(1)))
        await asyncio.sleep(1)
        (writing,) = log._works
        appending.cancel()
        await asyncio.wait([appending, writing])
        assert not writing._log_traceback, "asyncio would log that its exception was never retrieved"
        assert writing.exception() is not None
        await log.close()

    with installed():
        run_simulated(main(), 1)
