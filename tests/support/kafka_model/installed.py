"""The model in the place of aiokafka, at the names by which the product makes its clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Final
from unittest.mock import patch

from tests.support.kafka_model.admin import ModelAdmin
from tests.support.kafka_model.brokers import Brokers
from tests.support.kafka_model.consumer import ModelConsumer
from tests.support.kafka_model.producer import ModelProducer
from tests.support.kafka_model.wire import Link, linked, unlinked

_NAMES: Final = {
    "statemachine.log.kafka.clients.AIOKafkaProducer": ModelProducer,
    "statemachine.log.kafka.clients.AIOKafkaConsumer": ModelConsumer,
    "statemachine.log.kafka.clients.AIOKafkaAdminClient": ModelAdmin,
    "statemachine.log.kafka.topic_requests.AIOKafkaAdminClient": ModelAdmin,
}


@contextmanager
def installed() -> Iterator[None]:
    """Clients that the product makes in the block are the model's."""
    patches = [patch(name, made) for name, made in _NAMES.items()]
    for patched in patches:
        patched.start()
    try:
        yield
    finally:
        for patched in patches:
            patched.stop()
        unlinked()


def brokers_at(server: str, seed: int = 1) -> Brokers:
    """New brokers, to be reached at `server`, where nothing gets lost."""
    brokers = Brokers(Random(seed))
    linked(server, Link(brokers, server))
    return brokers
