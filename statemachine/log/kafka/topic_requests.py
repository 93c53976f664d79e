"""Requests to brokers about topics: which are there, and how; make one, give one more partitions, change settings.

`topics` decides what is asked for.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    InvalidConfigurationError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    KafkaConnectionError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    for_code,
)

from statemachine.errors import ConfigError, LogUnavailable, StoreUnusable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import insisted
from statemachine.log.kafka.failures import FAILURES, token_hint, translated
from statemachine.log.kafka.layout import Setting, Topic
from statemachine.log.kafka.refusals import OtherProtocol, saying_why

_TIMEOUT: Final = 10_000
"""Milliseconds until a request has failed."""

_OWN: Final = 1
"""Source of a setting: the topic's own. Source: Kafka, DescribeConfigs, DYNAMIC_TOPIC_CONFIG."""


@dataclass(frozen=True, slots=True)
class LiveTopic:
    """A topic as it is: `copies` of the partition that has fewest, `settings` that hold, `own` of the topic alone."""

    partitions: int
    copies: int
    is_led: bool
    settings: Mapping[str, str]
    own: Mapping[str, str]

    @classmethod
    def of(cls, metadata: Mapping[str, Any], entries: list[Any]) -> Self:
        """Source: Kafka, responses to Metadata and DescribeConfigs."""
        parts = metadata["partitions"]
        held = {name: value for name, value, *_ in entries if value is not None}
        own = {name: value for name, value, _, source, *_ in entries if source == _OWN and value is not None}
        copies = min((len(part["replicas"]) for part in parts), default=0)
        return cls(len(parts), copies, all(part["leader"] >= 0 for part in parts), held, own)


@asynccontextmanager
async def admin_of(address: Address) -> AsyncIterator[AIOKafkaAdminClient]:
    """A client for the requests below, and our errors in the place of its.

    Raises:
        LogUnavailable: no broker answers.
        StoreUnusable: the brokers say no.
    """
    admin = AIOKafkaAdminClient(**address.options(), request_timeout_ms=_TIMEOUT)
    try:
        async with saying_why(admin):
            await admin.start()
        yield admin
    except (InvalidConfigurationError, InvalidTopicError, PolicyViolationError) as error:
        raise StoreUnusable(f"Kafka at {address} refuses: {error}") from error
    except KafkaConnectionError as error:
        why = error if isinstance(error, OtherProtocol) else "no broker answers us"
        raise LogUnavailable(f"Kafka at {address} cannot be reached: {why}{token_hint(address)}") from error
    except FAILURES as error:
        raise translated(error, address, "manage the topics") from error
    finally:
        await admin.close()


async def live_topics(admin: AIOKafkaAdminClient, names: Collection[str]) -> dict[str, LiveTopic]:
    """Those of the names, whole ones, that are there.

    All topics are asked for: brokers may make one that is asked for by its name.
    """
    there = {
        topic["topic"]: topic for topic in await insisted(admin.describe_topics) if topic["topic"] in names
    }
    if not there:
        return {}
    settings = await insisted(lambda: _settings(admin, there))
    return {name: LiveTopic.of(there[name], entries) for name, entries in settings.items()}


async def _settings(admin: AIOKafkaAdminClient, names: Collection[str]) -> dict[str, list[Any]]:
    """By topic, its settings as a broker tells them; one may not know yet what another has made."""
    settings = {}
    for response in await admin.describe_configs(
        [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    ):
        for code, message, _, name, entries in response.resources:
            _raise_for(code, message, f"the settings of {name}")
            settings[name] = entries
    return settings


async def broker_count(admin: AIOKafkaAdminClient) -> int:
    """How many brokers there are."""
    return len((await insisted(admin.describe_cluster))["brokers"])


async def make_topic(admin: AIOKafkaAdminClient, topic: Topic, name: str, count: int, copies: int) -> bool:
    """The topic is asked for; False if it is there already. Raises ConfigError for so many copies."""
    settings = {setting.name: setting.value for setting in topic.settings(copies)}
    new = NewTopic(name, count, copies, topic_configs=settings)
    response = await insisted(lambda: admin.create_topics([new], _TIMEOUT))
    for _, code, message in response.topic_errors:
        try:
            _raise_for(code, message, name)
        except TopicAlreadyExistsError:
            return False
        except InvalidReplicationFactorError as error:
            raise ConfigError(f"{name} cannot be kept on {copies} brokers: {message}") from error
    return True


async def grow_topic(admin: AIOKafkaAdminClient, name: str, count: int) -> None:
    """The topic is asked to have so many partitions."""
    await insisted(lambda: admin.create_partitions({name: NewPartitions(count)}, _TIMEOUT))


async def change_settings(
    admin: AIOKafkaAdminClient, name: str, topic: LiveTopic, changed: Sequence[Setting]
) -> None:
    """The settings are asked for. The others of its own are, too: the request replaces all of them."""
    settings = {**topic.own, **{setting.name: setting.value for setting in changed}}
    resource = ConfigResource(ConfigResourceType.TOPIC, name, settings)
    for response in await insisted(lambda: admin.alter_configs([resource])):
        for code, message, *_ in response.resources:
            _raise_for(code, message, f"the settings of {name}")


async def is_empty(address: Address, name: str, count: int) -> bool:
    """No record is in any of the topic's partitions, of which there are `count`."""
    consumer = AIOKafkaConsumer(**address.options(), request_timeout_ms=_TIMEOUT)
    await consumer.start()
    try:
        parts = [TopicPartition(name, number) for number in range(count)]
        begin, end = await consumer.beginning_offsets(parts), await consumer.end_offsets(parts)
    finally:
        await consumer.stop()
    return bool(begin == end)


def _raise_for(code: int, message: str | None, what: str) -> None:
    if code:
        raise for_code(code)(f"{what}: {message or for_code(code).message}")
