"""Topics of public events as users name them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from jobledger.settings.model import Settings
from jobledger.settings.sinks import ConfiguredSink, LineageOverKafka, LineageSink
from jobledger.wiring.ledger import Kafka
from statemachine.errors import ConfigError
from statemachine.log.kafka.address import DEFAULT_PREFIX, Address
from statemachine.log.kafka.layout import CLOUDEVENTS, TOPICS
from statemachine.log.kafka.publishing import Target


def elsewhere(settings: Settings, where: Path | Kafka) -> str:
    """URL of the topic that the setting `events.kafka` names in place of the ledger's own; empty if it names that."""
    said = settings.events.kafka
    if isinstance(where, Kafka):
        own = where.address.topic(CLOUDEVENTS.name)
        servers = said.address or ",".join(where.address.servers)
        is_own = servers == ",".join(where.address.servers) and (said.topic or own) == own
        return "" if is_own else f"kafka://{servers}/{said.topic or own}"
    return (
        f"kafka://{said.address}/{said.topic or f'{DEFAULT_PREFIX}.{CLOUDEVENTS.name}'}"
        if said.address
        else ""
    )


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


def topic_of(flag: str, place: str, where: Path | Kafka, settings: Settings) -> Target:
    """The topic that is meant by `kafka:` (of `events.kafka`) or `kafka://HOST:PORT,…/TOPIC`. Raises ConfigError."""
    from statemachine.log.kafka import privates

    privates.check(faust=False)
    if place == "kafka:" and (other := elsewhere(settings, where)):
        flag, place = "events.kafka", other
    if place == "kafka:":
        if not isinstance(where, Kafka):
            raise ConfigError(
                f"{flag} kafka: is the topic of a log in Kafka; give kafka://HOST:PORT/TOPIC, or the setting "
                "events.kafka.address"
            )
        return Target.of(where.address)
    wrong = f'{flag} needs kafka:, or kafka://HOST:PORT,HOST:PORT/TOPIC, not "{place}"'
    try:
        named = Address.of(place, settings.kafka.security())
    except ConfigError as error:
        raise ConfigError(wrong) from error
    if not urlsplit(place).path.strip("/"):
        raise ConfigError(wrong)
    named.options()  # files that cannot be read are reported at once
    return Target.of(replace(named, prefix=DEFAULT_PREFIX), named.prefix)
