"""Sinks of public events, made of what a user configures."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobledger.settings.model import Settings
from jobledger.settings.sinks import (
    ConfiguredSink,
    LineageOverHttp,
    LineageOverKafka,
    LineageSink,
    TopicSink,
    WebHookSink,
)
from jobledger.wiring.ledger import Kafka
from k8s_bridge.selectors import Selector
from projectors.sinks.feeding import Chosen
from projectors.sinks.filtering import Filter
from projectors.sinks.lineage import lineage_sink, runs_of
from projectors.sinks.port import Sink
from projectors.sinks.webhook import Failed, Receiver, WebHook
from statemachine.errors import ConfigError
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import TOPICS
from statemachine.log.positions import SinkFailure

if TYPE_CHECKING:
    from projectors.contract.binding import Mode
    from statemachine.log.kafka.publishing import Target


def chosen_by(configured: ConfiguredSink) -> Chosen:
    """What of an entry the sink gets."""
    selector = Selector.of(configured.label_selector)
    if isinstance(configured, LineageSink):
        return runs_of(Filter((), configured.namespaces, selector).of)
    return Filter(configured.types, configured.namespaces, selector).of


async def ignored(_: SinkFailure) -> None:
    """For a sink that delivers nothing, or a single attempt: what that comes to is its result."""


def poster(
    configured: WebHookSink | LineageSink, failed: Failed, attempted: Callable[[str], None] = lambda _: None
) -> WebHook:
    """The sink that posts what it gets. Raises ConfigError."""
    if isinstance(configured, WebHookSink):
        keys = tuple(key.secret_file for key in configured.keys)
        origin = configured.origin if configured.handshake else ""
        receiver = replace(_receiver(configured, configured, keys), origin=origin)
        return WebHook(receiver, failed, attempted=attempted)
    there = configured.transport
    if isinstance(there, LineageOverKafka):
        raise ConfigError(f"the sink {configured.name} writes to a topic: nothing is posted")
    keys = (there.api_key_file,) if there.api_key_file else ()
    return lineage_sink(_receiver(configured, there, keys), failed, attempted=attempted)


def _receiver(
    configured: WebHookSink | LineageSink, there: WebHookSink | LineageOverHttp, keys: tuple[Path, ...]
) -> Receiver:
    return Receiver(
        configured.name,
        there.url.get_secret_value(),
        keys,
        there.insecure,
        there.concurrency,
        there.give_up_after,
    )


async def topic_sink(name: str, topic: "Target", partitions: int, mode: "Mode", log_at: Path | Kafka) -> Sink:
    """The sink of a topic; of the ledger's own it keeps positions beside it. Raises as `KafkaSink.open`."""
    from projectors.sinks.kafka import KafkaSink
    from projectors.sinks.topic import TopicSink as OtherTopic

    if isinstance(log_at, Kafka) and topic == type(topic).of(log_at.address):
        return await KafkaSink.open(name, topic, partitions, mode)
    return await OtherTopic.open(topic, partitions, mode)


def lineage_topics(sinks: Sequence[ConfiguredSink], address: Address) -> Sequence[str]:
    """The topics that sinks of lineage write to, by their whole names. Raises ConfigError: one is of the ledger."""
    own = {address.topic(topic.name) for topic in TOPICS}
    names: dict[str, None] = {}
    for sink in sinks:
        if isinstance(sink, LineageSink) and isinstance(sink.transport, LineageOverKafka):
            name = sink.transport.topic
            if name in own:
                raise ConfigError(
                    f"the sink {sink.name} writes to {name}, which is a topic of the ledger: name another"
                )
            names[name] = None
    return tuple(names)


def target_of(settings: Settings, log_at: Path | Kafka, configured: TopicSink) -> "Target":
    """Where the sink writes to. Raises ConfigError."""
    from jobledger.wiring.topics import topic_of

    return topic_of(f"the sink {configured.name}", configured.url or "kafka:", log_at, settings)
