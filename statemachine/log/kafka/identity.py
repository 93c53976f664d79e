"""What a ledger in Kafka is called: a record in partition 0 of its topic of positions, written once.

Its writer does so in a transaction under an id of the ledger's own: of two that come at once one is fenced,
and reads what the other has written.
"""

import asyncio
import json
from typing import Final

from statemachine.errors import LogUnavailable, OwnerLost
from statemachine.log.identity import Identity
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import parts, producer, started
from statemachine.log.kafka.failures import missing, ours
from statemachine.log.kafka.layout import POSITIONS
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Row
from statemachine.log.kafka.writing import Writer

LEDGER: Final = b"ledger"
"""Key of the record, and the end of the transactional id."""

_NUMBER: Final = 0
_PAUSES: Final = (0.0, 0.1, 0.3, 1.0, 3.0)
"""Seconds before the record is looked for again that another was about to write."""


async def identity(address: Address, name: str = "") -> Identity:
    """The identity of the ledger at `address`, made now if it has none; `name`: what it is to be called.

    Raises:
        ConfigError: it is called otherwise, for good.
        LogUnavailable: no broker answers.
        StoreUnusable: there is no topic of positions; or the ledger has no identity, and we may not write one.
    """
    topic = address.topic(POSITIONS.name)
    if not (await parts(address)).get(topic):
        raise missing(address, topic)
    partition = Partition(address, topic, _NUMBER)
    try:
        known = await _read(partition)
        for pause in _PAUSES:
            if known is not None:
                return known.agreed(name, str(address))
            await asyncio.sleep(pause)
            known = await _made(address, partition, name)
    finally:
        await partition.close()
    if known is None:
        raise LogUnavailable(f"Kafka at {address}: others go on naming the ledger at the same time")
    return known.agreed(name, str(address))


async def known_identity(address: Address) -> Identity | None:
    """The identity that the ledger has; None without one. Raises LogUnavailable, StoreUnusable."""
    topic = address.topic(POSITIONS.name)
    if not (await parts(address)).get(topic):
        return None
    partition = Partition(address, topic, _NUMBER)
    try:
        return await _read(partition)
    finally:
        await partition.close()


async def _made(address: Address, partition: Partition, name: str) -> Identity | None:
    """The identity, written unless it is there by now; None: another writes it."""
    with ours(address, "give the ledger a name"):
        made = await started(producer(address, f"{address.prefix}.{LEDGER.decode()}"))
    writer = Writer(address, _NUMBER, made)
    try:
        await partition.end(await partition.tail())
        if (known := await _read(partition)) is not None:
            return known
        new = Identity.new(name)
        await writer.write(
            partition.topic, [Row(LEDGER, json.dumps({"id": new.id, "name": new.name}).encode())]
        )
    except OwnerLost:
        return None
    finally:
        await writer.close()
    return new


async def _read(partition: Partition) -> Identity | None:
    async for batch in partition.read(0, await partition.end()):
        for message in batch:
            if message.key == LEDGER and (known := _of(message.value)) is not None:
                return known
    return None


def _of(value: bytes | None) -> Identity | None:
    """What the record says; None if it cannot be read."""
    try:
        said = json.loads(value or b"")
        return Identity(str(said["id"]), str(said["name"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
