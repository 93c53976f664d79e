"""Traces through Kafka: a bridge and an engine that share only the topics, a real collector and the real exporter."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from jobledger.service.app import App
from jobledger.telemetry.instruments import Instruments
from jobledger.telemetry.tracing import instruments_of
from jobledger.wiring import Controller, running
from jobledger.wiring.ledger import Kafka as KafkaLedger
from jobledger.wiring.ledger import ledger_of
from jobledger.wiring.roles import Role, Roles
from k8s_bridge.admission import admit
from statemachine.engine.clock import WallClock
from statemachine.engine.kafka.worker import FeedName
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import EVENTS, OBSERVATIONS
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Message
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.otlp import Receiver, receiving
from tests.unit.api.words import job, phase, written

pytestmark = pytest.mark.integration

ENGINE = frozenset({Role.ENGINE})
OTHERS = frozenset(Role) - ENGINE


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    with receiving() as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.endpoint)
        yield server


@asynccontextmanager
async def process(
    address: Address, feed: FeedName, roles: Roles, instruments: Instruments
) -> AsyncIterator[Controller]:
    """A controller with these roles, running, as its process would be."""
    kafka = KafkaLedger(address, feed, "", 6.0)
    async with ledger_of(kafka, roles, trace=instruments.trace) as ledger:
        controller = controller_of(
            ledger.partitions,
            MemoryCluster(admit=admit),
            WallClock(),
            roles=roles,
            outbox=ledger.outbox,
            worker=ledger.worker,
            instruments=instruments,
        )
        async with running(controller):
            yield controller
    await instruments.close()


async def life(address: Address, feed: FeedName, bridge: Instruments, engine: Instruments) -> str:
    """A job runs to its end; its uid."""
    async with process(address, feed, ENGINE, engine), process(address, feed, OTHERS, bridge) as controller:
        app = App(controller)
        (made,) = await app.submit(written(job("train", replicas=1, run_seconds="0.05")), "alice")
        await phase(app, "train", "Succeeded")
    return str(made["metadata"]["uid"])


async def headers(address: Address, topic: str) -> list[dict[str, bytes | None]]:
    """The headers of all records of a topic, as they lie there."""
    messages: list[Message] = []
    for number in range(2):
        part = Partition(address, address.topic(topic), number)
        async for batch in part.read(0, await part.end()):
            messages += batch
        await part.close()
    return [dict(message.headers) for message in messages]


@pytest.mark.parametrize("feed", ["aiokafka", "faust"])
async def test_an_entry_carries_the_trace_of_what_was_observed_in_another_process(
    ledger_topics: Address, receiver: Receiver, feed: FeedName
) -> None:
    uid = await life(ledger_topics, feed, instruments_of(os.environ), instruments_of(os.environ))
    observed = {span.id: span for span in receiver.named("observe")}
    decided = receiver.named("decide", job_uid=uid)
    carried = [
        (header.get("traceparent") or b"").decode() for header in await headers(ledger_topics, EVENTS.name)
    ]
    assert len(carried) == len(decided) >= 3
    for carried_trace in carried:
        version, trace, span, flags = carried_trace.split("-")
        assert (version, int(flags, 16) & 1) == ("00", 1)
        assert observed[bytes.fromhex(span)].trace == bytes.fromhex(trace)
    for one in decided:
        assert (
            observed[one.parent].attributes["jobledger.observation.type"]
            == (one.attributes["jobledger.observation.type"])
        )
    (first,) = receiver.named("decide", entry_seq=1)
    pods = receiver.named("write", write_verb="create")
    assert pods
    assert {pod.trace for pod in pods} == {first.trace}


async def test_without_tracing_no_record_has_such_a_header(ledger_topics: Address) -> None:
    await life(ledger_topics, "aiokafka", Instruments(), Instruments())
    for topic in (EVENTS.name, OBSERVATIONS.name):
        carried = await headers(ledger_topics, topic)
        assert carried
        assert not any("traceparent" in carried_headers for carried_headers in carried)
