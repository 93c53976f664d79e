"""Clients of Kafka with the options that hold everywhere here, and how they start and end.

aiokafka tries again for ever in some places, and for 40 seconds in others. So every wait for it has an end of its
own, and a caller without an answer by then gets LogUnavailable. A client that failed is thrown away.
"""

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.codec import has_zstd
from aiokafka.errors import KafkaError
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from statemachine.backoff import backoff
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.failures import FAILURES, ours
from statemachine.log.kafka.layout import RECORD_LIMIT, Codec
from statemachine.log.kafka.privates import (
    become_dynamic,
    begin_again_after,
    compress_by,
    connections,
    count_unanswered_ends,
    forget_transaction,
    forget_unsent,
    mark_stopped,
    tasks_of_consumer,
    tasks_of_producer,
)
from statemachine.log.kafka.refusals import saying_why

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE: Final = 10.0
"""Seconds after which a call that no broker has answered is given up."""

_REQUEST: Final = 5_000
"""Milliseconds until a broker that does not answer is asked again, or another is."""

METADATA_AGE: Final = 5_000
"""Milliseconds after which a member of a group looks again which partitions there are.

A member that joins while the brokers start knows none, deals out none, and waits; aiokafka looks again after five
minutes, and until then nobody decides or projects.
"""

_TRANSACTION: Final = 900_000
"""Milliseconds after which brokers abort what a writer that is gone has left open, if nobody took over before.

The longest that they allow by default: the next owner ends it at once, and until then nobody writes behind it. A
broker that starts when the time is over may lose sight of it (Kafka 4.3), see `Writer.settle`.
"""

_BATCH: Final = 512 * 1024
"""Bytes of a batch of records: that of a busy engine fits. A larger record has a batch of its own.

Measured with 500 entries of 0.9 KB a transaction, uncompressed: 10,000/s and 37 µs of CPU each in batches of 16 KiB,
18,000/s and 20 µs in 128 KiB, 23,000/s and 17 µs in 1 MiB.
"""

_FETCH: Final = 4 * 2**20
"""Bytes asked for at once. A larger batch comes all the same, alone."""

_LEVEL: Final = 4
"""Of gzip. Measured with public events, 1.5 KB each: a fourteenth, 9 µs of CPU each; by level 9, aiokafka's own, a
seventeenth and 21 µs; by level 1 a twelfth and 5 µs."""

_OF_GZIP: Final = 31
"""The largest window of zlib, and the header and the end of gzip."""

_MARKERS: Final = 0.002
"""Seconds that the markers of a transaction are given, before the next one is asked for again."""

_ROOM: Final = 64 * 1024
"""Bytes of a request around the largest record."""

_GOODBYE: Final = 2.0
"""Seconds that a client gets to send what it has and to say goodbye."""


def _gzip(records: bytes) -> bytes:
    return zlib.compress(records, _LEVEL, _OF_GZIP)


compress_by(DefaultRecordBatchBuilder, _gzip)
begin_again_after(AIOKafkaProducer, _MARKERS)
count_unanswered_ends(AIOKafkaProducer)


def consumer(
    address: Address, group: str | None = None, *, wait: float, isolation: str = "read_committed"
) -> Any:
    """A consumer that is not started. `wait`: seconds that a broker with nothing new holds an answer back.

    It reads what is committed only, unless `isolation` says otherwise, and never jumps: a place that is not there
    is an error.
    """
    return AIOKafkaConsumer(
        **address.options(),
        client_id=address.prefix,
        group_id=group,
        isolation_level=isolation,
        enable_auto_commit=False,
        auto_offset_reset="none",
        request_timeout_ms=_REQUEST,
        fetch_max_wait_ms=int(wait * 1000),
        consumer_timeout_ms=1_000,  # how often an idle one wakes up; what there is to do wakes it at once
        max_partition_fetch_bytes=_FETCH,
    )


def member(address: Address, group: str, *, instance: str, session: float, **options: Any) -> Any:
    """A consumer that is not started, and belongs to `group` once it has subscribed.

    `instance`: a member of that name that comes back within `session` seconds gets its partitions again; empty: there
    is none. `options`: further ones of AIOKafkaConsumer.
    """
    return AIOKafkaConsumer(
        **address.options(),
        group_id=address.topic(group),
        group_instance_id=instance or None,
        enable_auto_commit=False,
        session_timeout_ms=int(session * 1000),
        rebalance_timeout_ms=int(session * 1000),
        heartbeat_interval_ms=int(session * 100),
        metadata_max_age_ms=METADATA_AGE,
        **options,
    )


def producer(
    address: Address,
    transactional_id: str | None = None,
    *,
    codec: Codec = "zstd",
    within: int | None = None,
) -> Any:
    """A producer that is not started: what it has sent is on all brokers in sync, once, in its order.

    `within`: milliseconds after which brokers abort a transaction that it has left open; default 15 minutes.
    """
    transactions = {"transactional_id": transactional_id, "transaction_timeout_ms": within or _TRANSACTION}
    return AIOKafkaProducer(
        **address.options(),
        **(transactions if transactional_id else {}),
        client_id=address.prefix,
        acks="all",
        enable_idempotence=True,
        compression_type=codec if codec != "zstd" or has_zstd() else None,
        max_batch_size=_BATCH,
        max_request_size=RECORD_LIMIT + _ROOM,
        request_timeout_ms=_REQUEST,
    )


async def started(client: Any) -> Any:
    """`client`, once it has found brokers. Raises what it raises, and has then been stopped."""
    try:
        async with asyncio.timeout(PATIENCE), saying_why(client):
            await client.start()
    except BaseException:
        await stopped(client)
        raise
    return client


async def stopped(client: Any, stop: Callable[[], Awaitable[None]] | None = None) -> None:
    """The client has sent what it had and has said goodbye, or was cut off. Never fails.

    `stop` is how it says goodbye, if it is not its own method any more.
    """

    async def say() -> None:
        await (stop or client.stop)()

    # a task of its own: that of a consumer may end by the cancellation of one of its own tasks
    goodbye = asyncio.create_task(say(), name="goodbye to Kafka")
    await asyncio.wait({goodbye}, timeout=_GOODBYE)
    if not goodbye.done() or goodbye.cancelled() or goodbye.exception() is not None:
        goodbye.cancel()
        await cut_off(client)


async def cut_off(client: Any) -> None:
    """The client has ended, whatever it was doing. Never fails.

    By itself a producer waits for ever for what it cannot send, and goes on connecting meanwhile; a consumer may
    leave connections open.
    """
    mark_stopped(client)
    tasks = tasks_of_producer(client) if isinstance(client, AIOKafkaProducer) else tasks_of_consumer(client)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_GOODBYE)
    if isinstance(client, AIOKafkaProducer):
        forget_transaction(client)
        forget_unsent(client)
    try:
        async with asyncio.timeout(_GOODBYE):
            await connections(client).close()
    except FAILURES as error:
        log.debug("connections to Kafka stay open", extra={"action": "cut-off", "error": repr(error)})


async def leave(consumer: Any) -> None:
    """The member has left the group, if that can be said now. A member that ends in order hands over. Never fails."""
    become_dynamic(consumer)
    await stopped(consumer)


async def parts(address: Address) -> Mapping[str, int]:
    """How many partitions each topic has that the brokers let us see, by its whole name.

    All are asked for: brokers may make one that is asked for by its name.

    Raises:
        LogUnavailable: no broker answers.
        StoreUnusable: they do not want to hear us.
    """
    with ours(address, "list the topics"):
        admin = AIOKafkaAdminClient(
            **address.options(), client_id=address.prefix, request_timeout_ms=_REQUEST
        )
        try:
            async with asyncio.timeout(PATIENCE):
                async with saying_why(admin):
                    await admin.start()
                topics = await insisted(admin.describe_topics)
        finally:
            await admin.close()
    return {topic["topic"]: len(topic["partitions"]) for topic in topics}


async def insisted(call: Callable[[], Awaitable[T]], within: float = PATIENCE) -> T:
    """What `call` of an admin client gives, made again for `within` seconds while its broker cannot answer.

    The client asks a random broker, and knows for seconds after one ended that it was there.

    Raises:
        KafkaError, TimeoutError: what the last call has raised.
    """
    loop = asyncio.get_running_loop()
    end, failures = loop.time() + within, 0
    while True:
        try:
            return await call()
        except (KafkaError, TimeoutError) as error:
            failures += 1
            pause = backoff(failures, first=0.1, most=1.0)
            if not getattr(error, "retriable", True) or loop.time() + pause > end:
                raise
        await asyncio.sleep(pause)
