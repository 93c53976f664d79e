"""A topic with the public events of a ledger."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.harness import Kafka
from tests.harness.fixtures import fresh_address
from tests.integration.consumers.published import exported, ledger
from tests.integration.consumers.topics import fill


class Published(NamedTuple):
    """Where the events are, and the same events as `jobledger events export` writes them, a line each."""

    servers: str
    topic: str
    lines: list[str]


@pytest.fixture
def published(kafka: Kafka, tmp_path: Path) -> Iterator[Published]:
    """All public events of a ledger with three jobs in a topic of two partitions, gone after the test."""
    with fresh_address(kafka) as address:
        topic = f"{address.prefix}.cloudevents"
        lines = exported(ledger(tmp_path))
        fill(kafka.servers, topic, lines)
        yield Published(kafka.servers, topic, lines)
