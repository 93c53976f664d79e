"""Topics of public events as users name them."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from jobledger.settings.model import Settings
from jobledger.wiring.ledger import Kafka
from statemachine.errors import ConfigError
from statemachine.log.kafka.address import DEFAULT_PREFIX, Address, brokers
from statemachine.log.kafka.layout import CLOUDEVENTS
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
    needed = f"{flag} needs kafka:, or kafka://HOST:PORT,HOST:PORT/TOPIC"
    wrong = f'{needed}, not "{place}"'
    brokers(place, needed)
    try:
        named = Address.of(place, settings.kafka.security())
    except ConfigError as error:
        raise ConfigError(wrong) from error
    if not urlsplit(place).path.strip("/"):
        raise ConfigError(wrong)
    named.options()  # files that cannot be read are reported at once
    return Target.of(replace(named, prefix=DEFAULT_PREFIX), named.prefix)
