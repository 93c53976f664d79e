"""The topics of a ledger on its brokers: made, set right, and checked for what would lose data."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
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
from statemachine.log.kafka.clients import FAILURES, OtherProtocol, insisted, token_hint, told_why, translated
from statemachine.log.kafka.layout import DEFAULT_COPIES, DEFAULT_PARTITIONS, EVENTS, TOPICS, Topic, faults

_TIMEOUT: Final = 10_000
"""Milliseconds until a request has failed."""

_SETTLE: Final = 60
"""Seconds until brokers know of everything that was asked for."""

_OWN: Final = 1
"""Source of a setting: the topic's own. Source: Kafka, DescribeConfigs, DYNAMIC_TOPIC_CONFIG."""


@dataclass(frozen=True, slots=True)
class Found:
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


@dataclass(frozen=True, slots=True)
class Survey:
    """The topics that are there, by their whole names, and a sentence for everything that would lose data."""

    there: Mapping[str, Found]
    wrong: Sequence[str]


async def apply(address: Address, partitions: int | None = None, replication: int | None = None) -> list[str]:
    """All topics are there, with settings that lose nothing; gives a sentence for everything that was done.

    A topic that is missing gets as many partitions as the others have, in a new ledger `partitions`, default 12; and
    `replication` copies, default three, or as many as there are brokers. Of a topic that is there, settings are
    changed that `check` would name, and no other; an empty one with too few partitions gets more. What cannot be
    set right like that stays for `check` to say.

    Raises:
        ConfigError: the ledger has another number of partitions; or so many copies are not possible.
        LogUnavailable: no broker answers.
        StoreUnusable: the brokers say no.
    """
    done: list[str] = []
    async with _admin(address) as admin, asyncio.timeout(_SETTLE):
        while True:
            asked = await _apply(admin, address, partitions, replication)
            if asked == []:
                return done
            done += [each for each in asked or () if each not in done]
            await asyncio.sleep(0.05)


async def check(address: Address) -> list[str]:
    """What is wrong with the topics so that data would be lost, a sentence each, naming topic and setting.

    Raises:
        LogUnavailable: no broker answers.
        StoreUnusable: the brokers say no.
    """
    return list((await survey(address)).wrong)


async def survey(address: Address) -> Survey:
    """The topics as they are, and what is wrong with them. Raises as `check` does."""
    async with _admin(address) as admin:
        there = await _look(admin, address)
    wrong = []
    for topic in TOPICS:
        name = address.topic(topic.name)
        found = there.get(topic.name)
        if found is None:
            wrong.append(f"{name}: the topic is missing, or we have no right to see it")
        else:
            wrong += faults(topic, name, found.copies, found.settings)
    return Survey(
        {address.topic(name): each for name, each in there.items()}, wrong + _uneven(address, there)
    )


async def partitions(address: Address) -> int:
    """How many partitions the ledger has.

    Raises:
        LogUnavailable: no broker answers.
        StoreUnusable: there are no topics, or they have other numbers of partitions.
    """
    async with _admin(address) as admin:
        there = await _look(admin, address)
    if EVENTS.name not in there:
        raise StoreUnusable(
            f"there is no topic {address.topic(EVENTS.name)}, or we have no right to see it; "
            f"`jobledger topics apply --log {address}` makes the topics"
        )
    if uneven := _uneven(address, there):
        raise StoreUnusable(uneven[0])
    return there[EVENTS.name].partitions


# ---- what is wrong with numbers of partitions --------------------------------------------------------------------


def _number(address: Address, there: Mapping[str, Found], wanted: int | None) -> int:
    """How many partitions a topic has that is made now."""
    known = [(topic.name, there[topic.name].partitions) for topic in TOPICS if topic.name in there]
    if not known:
        return wanted or DEFAULT_PARTITIONS
    name, count = known[0]
    if wanted is not None and wanted != count:
        raise ConfigError(
            f"{address.topic(name)} has {count} partitions, not {wanted}: with another number, jobs would be looked "
            "for in partitions that do not hold their histories"
        )
    return count


def _uneven(address: Address, there: Mapping[str, Found]) -> list[str]:
    if EVENTS.name not in there:
        return []
    count = there[EVENTS.name].partitions
    return [
        f"{address.topic(topic.name)}: it has {there[topic.name].partitions} partitions, but must have {count}, as "
        f"{address.topic(EVENTS.name)} has. A job is in the partition of the same number in all of them."
        for topic in TOPICS
        if topic.name in there and there[topic.name].partitions != count
    ]


# ---- requests ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _admin(address: Address) -> AsyncIterator[AIOKafkaAdminClient]:
    """A client, and our errors in the place of its."""
    admin = AIOKafkaAdminClient(**address.options(), request_timeout_ms=_TIMEOUT)
    try:
        async with told_why(admin):
            await admin.start()
        yield admin
    except (InvalidConfigurationError, InvalidTopicError, PolicyViolationError) as error:
        raise StoreUnusable(f"Kafka at {address} refuses: {error}") from error
    except KafkaConnectionError as error:
        why = error if isinstance(error, OtherProtocol) else "no broker answers us"
        raise LogUnavailable(f"Kafka at {address} cannot be reached: {why}{token_hint(address)}") from error
    except FAILURES as error:
        raise translated(error, address, "look after the topics") from error
    finally:
        await admin.close()


async def _look(admin: AIOKafkaAdminClient, address: Address) -> dict[str, Found]:
    """The topics that are there, by their name without prefix.

    All topics are asked for: brokers may make one that is asked for by its name.
    """
    ours = {address.topic(topic.name): topic.name for topic in TOPICS}
    there = {each["topic"]: each for each in await insisted(admin.describe_topics) if each["topic"] in ours}
    if not there:
        return {}
    settings = await insisted(lambda: _settings(admin, there))
    return {ours[name]: Found.of(there[name], entries) for name, entries in settings.items()}


async def _settings(admin: AIOKafkaAdminClient, names: Iterable[str]) -> dict[str, list[Any]]:
    """By topic, its settings as a broker tells them; one may not know yet what another has made."""
    found = {}
    for response in await admin.describe_configs(
        [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    ):
        for code, message, _, name, entries in response.resources:
            _raise_for(code, message, f"the settings of {name}")
            found[name] = entries
    return found


async def _brokers(admin: AIOKafkaAdminClient) -> int:
    return len((await insisted(admin.describe_cluster))["brokers"])


async def _apply(
    admin: AIOKafkaAdminClient, address: Address, partitions: int | None, replication: int | None
) -> list[str] | None:
    """A sentence for all that was missing or wrong, and that brokers were asked for; None if it has to be seen first.

    Brokers know a moment later what they were asked for, so that this is done until there is nothing to ask for.
    """
    there = await _look(admin, address)
    count = _number(address, there, partitions)
    asked: list[str] = []
    for topic in TOPICS:
        name = address.topic(topic.name)
        found = there.get(topic.name)
        if found is None:
            copies = replication or min(DEFAULT_COPIES, await _brokers(admin))
            if not await _make(admin, topic, name, count, copies):
                return asked or None  # made by others, perhaps with another number of partitions
            asked.append(f"made {name}: {_plural(count, 'partition')}, {_plural(copies, 'copy', 'copies')}")
        else:
            asked += await _grow(admin, address, topic, found, count)
            asked += await _set_right(admin, topic, name, found)
    return asked if asked or all(each.is_led for each in there.values()) else None


async def _make(admin: AIOKafkaAdminClient, topic: Topic, name: str, count: int, copies: int) -> bool:
    """False if the topic is there already."""
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


async def _grow(
    admin: AIOKafkaAdminClient, address: Address, topic: Topic, found: Found, count: int
) -> list[str]:
    """Only of an empty topic: what is in another would be in the wrong partitions."""
    name = address.topic(topic.name)
    if found.partitions >= count or not await _is_empty(address, name, found.partitions):
        return []
    await insisted(lambda: admin.create_partitions({name: NewPartitions(count)}, _TIMEOUT))
    return [f"gave {name} {_plural(count, 'partition')}, of which it had {found.partitions}"]


async def _set_right(admin: AIOKafkaAdminClient, topic: Topic, name: str, found: Found) -> list[str]:
    """What the topic has set besides is set again with it: the request replaces all of the topic's own settings."""
    wrong = [
        setting
        for setting in topic.settings(found.copies)
        if setting.name in found.settings and not setting.allows(found.settings[setting.name])
    ]
    if not wrong:
        return []
    settings = {**found.own, **{each.name: each.value for each in wrong}}
    changed = ConfigResource(ConfigResourceType.TOPIC, name, settings)
    for response in await insisted(lambda: admin.alter_configs([changed])):
        for code, message, *_ in response.resources:
            _raise_for(code, message, f"the settings of {name}")
    return [
        f"set {each.name} of {name} to {each.value}, it was {found.settings[each.name]}" for each in wrong
    ]


async def _is_empty(address: Address, name: str, count: int) -> bool:
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


def _plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
