"""An engine on Kafka knows by the append times of its own writes how far its clock is off."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from statemachine.engine.clock import WallClock
from statemachine.engine.kafka.worker import Worker
from statemachine.engine.skew import ClockCheck
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog

pytestmark = pytest.mark.integration


class Ahead(WallClock):
    """A clock that is ahead of the brokers' by `by`."""

    def __init__(self, by: timedelta) -> None:
        self.by = by

    def now(self) -> datetime:
        return super().now() + self.by


@pytest.mark.parametrize("hours", [0, 1, -1])
async def test_a_log_that_was_idle_tells_the_time_once_states_are_saved(
    ledger_topics: Address, hours: int
) -> None:
    off = timedelta(hours=hours)
    check = ClockCheck(Ahead(off))

    def stamping() -> Callable[[datetime], None]:
        sent = check.begin()
        return lambda at: check.note(sent, at)

    log = await KafkaLog.open(ledger_topics, 0, stamping=stamping)
    try:
        assert check.trouble == ""
        await log.save_snapshots(0, [])
        assert check.is_known
        assert abs(check.ahead - off) < timedelta(seconds=30)
        assert check.is_trusted is (hours == 0)
    finally:
        await log.close()


async def test_a_worker_compares_its_clock_with_what_it_writes(ledger_topics: Address) -> None:
    worker = Worker(ledger_topics, "aiokafka", Ahead(timedelta(hours=1)))
    log = await worker.open_log(0)
    try:
        await log.save_snapshots(0, [])
        assert "s ahead" in worker.check.trouble
    finally:
        await log.close()
