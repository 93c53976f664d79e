"""The engine role on Kafka, with a feed that fails while it hands over."""

import asyncio

import pytest

from statemachine.engine.kafka import worker
from statemachine.engine.kafka.assignment import Assignment, Feed
from statemachine.engine.kafka.worker import Worker
from statemachine.errors import LogUnavailable
from statemachine.log.kafka.address import Address
from tests.support.scenario import START
from tests.support.simulated import LoopClock, run_simulated


class Failing(Feed):
    """Runs until it is cancelled, and then cannot commit."""

    async def run(self) -> None:
        """See Feed."""
        try:
            await asyncio.sleep(1e9)
        finally:
            raise LogUnavailable("no broker answers")


def test_a_worker_that_is_cancelled_ends_although_handing_over_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def partitions(_: Address) -> int:
        return 2

    def made(_: Worker, assignment: Assignment) -> Feed:
        return Failing()

    monkeypatch.setattr(worker, "partitions", partitions)
    monkeypatch.setattr(Worker, "_made", made)

    async def main() -> None:
        working = asyncio.create_task(
            Worker(Address.of("kafka://127.0.0.1:1"), "aiokafka", LoopClock(START)).run()
        )
        await asyncio.sleep(1)
        working.cancel()
        done, _ = await asyncio.wait([working], timeout=60)
        assert done
        assert working.cancelled()

    run_simulated(main(), seed=1)
