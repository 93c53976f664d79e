"""Brokers of the model with the topics of a ledger, on simulated time, for tests of what writes to them."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import Any, Final
from unittest.mock import patch

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, RequestTimedOutError

from statemachine.log.kafka.address import Address
from statemachine.log.kafka.topics import apply
from tests.support.kafka_model.brokers import Brokers
from tests.support.kafka_model.installed import brokers_at, installed
from tests.support.kafka_model.partitions import Writing
from tests.support.kafka_model.producer import ModelProducer
from tests.support.kafka_model.transactions import Transactions
from tests.support.published_lives import topic_lines
from tests.support.simulated import run_simulated

PARTITIONS: Final = 2
_SERVER: Final = "model:9092"


class Stage:
    """The brokers, and what is in their topics."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers, self.address = brokers, Address((_SERVER,))

    async def lines(self, number: int = 0, topic: str = "") -> list[bytes]:
        """What is committed in a partition of a topic, by default that of public events."""
        return await topic_lines(self.address, topic or self.address.topic("cloudevents"), number)


def staged(test: Callable[[Stage], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """The test on a stage of its own, while the model is in the place of aiokafka."""

    @wraps(test)
    def run() -> None:
        async def main() -> None:
            stage = Stage(brokers_at(_SERVER))
            await apply(stage.address, partitions=PARTITIONS, replication=1)
            await test(stage)

        with installed():
            run_simulated(main(), 1)

    del run.__wrapped__  # pytest would take the stage for a fixture
    return run


@contextmanager
def one_commit_unanswered(*, takes_effect: bool) -> Iterator[None]:
    """Of the commits in the block the first fails, as no answer comes for too long."""
    commit, lost = ModelProducer.commit_transaction, [True]

    async def unanswered(producer: ModelProducer) -> None:
        fails = bool(lost) and lost.pop()
        if takes_effect or not fails:
            await commit(producer)
        if fails:
            raise TimeoutError

    with patch.object(ModelProducer, "commit_transaction", unanswered):
        yield
    assert not lost


@contextmanager
def one_commit_arriving_twice() -> Iterator[None]:
    """The first commit in the block gets no answer and is sent again; it arrives behind the next records."""
    late: list[Callable[[], None]] = []
    arrived: list[TopicPartition] = []
    end, produce = Transactions.end, Brokers.produce

    def end_late(self: Transactions, id_: str, writer: Writing, *, commit: bool) -> None:
        if not late:
            late.append(partial(end, self, id_, writer, commit=commit))
            raise RequestTimedOutError
        end(self, id_, writer, commit=commit)

    def produce_and_end(self: Brokers, tp: TopicPartition, *rest: Any) -> tuple[int, int]:
        answer = produce(self, tp, *rest)
        if late and not arrived:
            arrived.append(tp)
            with suppress(KafkaError):
                late[0]()
        return answer

    with patch.object(Transactions, "end", end_late), patch.object(Brokers, "produce", produce_and_end):
        yield
    assert arrived
