"""The topics of a ledger on its brokers: made, set right, and checked for what would lose data.

`lineage` are the whole names of the topics that sinks of lineage write to, which are made and checked with the
ledger's own. `topic_requests` speaks to the brokers.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aiokafka.admin import AIOKafkaAdminClient

from statemachine.errors import ConfigError, StoreUnusable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import (
    DEFAULT_COPIES,
    DEFAULT_PARTITIONS,
    EVENTS,
    LINEAGE,
    TOPICS,
    Topic,
    faults,
    wrong_settings,
)
from statemachine.log.kafka.topic_requests import (
    LiveTopic,
    admin_of,
    broker_count,
    change_settings,
    grow_topic,
    is_empty,
    live_topics,
    make_topic,
)

_SETTLE: Final = 60
"""Seconds until brokers know of everything that was asked for."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The topics that are there, by their whole names, and a sentence for everything that would lose data."""

    there: Mapping[str, LiveTopic]
    wrong: Sequence[str]


async def apply(
    address: Address,
    partitions: int | None = None,
    replication: int | None = None,
    lineage: Sequence[str] = (),
) -> list[str]:
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
    wanted = _wanted(address, lineage)
    done: list[str] = []
    async with admin_of(address) as admin, asyncio.timeout(_SETTLE):
        while True:
            asked = await _ask(admin, address, wanted, partitions, replication)
            if asked == []:
                return done
            done += [sentence for sentence in asked or () if sentence not in done]
            await asyncio.sleep(0.05)


async def check(address: Address, lineage: Sequence[str] = ()) -> list[str]:
    """What is wrong with the topics so that data would be lost, a sentence each, naming topic and setting.

    Raises:
        LogUnavailable: no broker answers.
        StoreUnusable: the brokers say no.
    """
    return list((await survey(address, lineage)).wrong)


async def survey(address: Address, lineage: Sequence[str] = ()) -> Survey:
    """The topics as they are, and what is wrong with them. Raises as `check` does."""
    wanted = _wanted(address, lineage)
    async with admin_of(address) as admin:
        there = await live_topics(admin, wanted)
    wrong = []
    for name, topic in wanted.items():
        live = there.get(name)
        if live is None:
            wrong.append(f"{name}: the topic is missing, or we have no right to see it")
        else:
            wrong += faults(topic, name, live.copies, live.settings)
    return Survey(there, wrong + _uneven(address, there) + _too_few(address, there, lineage))


async def partitions(address: Address) -> int:
    """How many partitions the ledger has.

    Raises:
        LogUnavailable: no broker answers.
        StoreUnusable: there are no topics, or they have other numbers of partitions.
    """
    async with admin_of(address) as admin:
        there = await live_topics(admin, _wanted(address))
    events = address.topic(EVENTS.name)
    if events not in there:
        raise StoreUnusable(
            f"there is no topic {events}, or we have no right to see it; "
            f"`jobledger topics apply --log {address}` makes the topics"
        )
    if uneven := _uneven(address, there):
        raise StoreUnusable(uneven[0])
    return there[events].partitions


def _wanted(address: Address, lineage: Sequence[str] = ()) -> dict[str, Topic]:
    """Whole name → topic, the ledger's own first."""
    return {address.topic(topic.name): topic for topic in TOPICS} | dict.fromkeys(lineage, LINEAGE)


# ---- numbers of partitions ---------------------------------------------------------------------------------------


def _number(address: Address, there: Mapping[str, LiveTopic], wanted: int | None) -> int:
    """How many partitions a topic has that is made now."""
    names = [name for name in _wanted(address) if name in there]
    if not names:
        return wanted or DEFAULT_PARTITIONS
    count = there[names[0]].partitions
    if wanted is not None and wanted != count:
        raise ConfigError(
            f"{names[0]} has {count} partitions, not {wanted}: with another number, jobs would be looked "
            "for in partitions that do not hold their histories"
        )
    return count


def _uneven(address: Address, there: Mapping[str, LiveTopic]) -> list[str]:
    events = address.topic(EVENTS.name)
    if events not in there:
        return []
    count = there[events].partitions
    return [
        f"{name}: it has {there[name].partitions} partitions, but must have {count}, as "
        f"{events} has. A job is in the partition of the same number in all of them."
        for name in _wanted(address)
        if name in there and there[name].partitions != count
    ]


def _too_few(address: Address, there: Mapping[str, LiveTopic], lineage: Sequence[str]) -> list[str]:
    events = address.topic(EVENTS.name)
    if events not in there:
        return []
    count = there[events].partitions
    return [
        f"{name}: it has {there[name].partitions} partitions, but must have at least {count}, as "
        f"{events} has. What is sent of each partition there has a writer of its own here."
        for name in lineage
        if name in there and there[name].partitions < count
    ]


# ---- what brokers are asked for ----------------------------------------------------------------------------------


async def _ask(
    admin: AIOKafkaAdminClient,
    address: Address,
    wanted: Mapping[str, Topic],
    partitions: int | None,
    replication: int | None,
) -> list[str] | None:
    """A sentence for all that was missing or wrong, and that brokers were asked for; None if it has to be seen first.

    Brokers know a moment later what they were asked for, so that this is done until there is nothing to ask for.
    """
    there = await live_topics(admin, wanted)
    count = _number(address, there, partitions)
    asked: list[str] = []
    for name, topic in wanted.items():
        live = there.get(name)
        if live is None:
            copies = replication or min(DEFAULT_COPIES, await broker_count(admin))
            if not await make_topic(admin, topic, name, count, copies):
                return asked or None  # made by others, perhaps with another number of partitions
            asked.append(f"made {name}: {_plural(count, 'partition')}, {_plural(copies, 'copy', 'copies')}")
        else:
            asked += await _grow(admin, address, name, live, count)
            asked += await _set_right(admin, topic, name, live)
    return asked if asked or all(live.is_led for live in there.values()) else None


async def _grow(
    admin: AIOKafkaAdminClient, address: Address, name: str, live: LiveTopic, count: int
) -> list[str]:
    """Only of an empty topic: what is in another would be in the wrong partitions."""
    if live.partitions >= count or not await is_empty(address, name, live.partitions):
        return []
    await grow_topic(admin, name, count)
    return [f"gave {name} {_plural(count, 'partition')}, of which it had {live.partitions}"]


async def _set_right(admin: AIOKafkaAdminClient, topic: Topic, name: str, live: LiveTopic) -> list[str]:
    wrong = wrong_settings(topic, live.copies, live.settings)
    if not wrong:
        return []
    await change_settings(admin, name, live, wrong)
    return [
        f"set {setting.name} of {name} to {setting.value}, it was {live.settings[setting.name]}"
        for setting in wrong
    ]


def _plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
