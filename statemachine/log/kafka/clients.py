"""Clients of Kafka with the options that hold everywhere here, and their errors as ours.

aiokafka tries again for ever in some places, and for 40 seconds in others. So every wait for it has an end of its
own, and a caller without an answer by then gets LogUnavailable. A client that failed is thrown away.
"""

import asyncio
import logging
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.codec import has_zstd
from aiokafka.conn import create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    ConsumerStoppedError,
    GroupAuthorizationFailedError,
    IllegalOperation,
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartitionError,
    UnsupportedCodecError,
    UnsupportedSaslMechanismError,
    UnsupportedVersionError,
)
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from statemachine.backoff import backoff
from statemachine.errors import LogError, LogUnavailable, StoreUnusable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import RECORD_LIMIT, Codec
from statemachine.log.kafka.privates import (
    become_dynamic,
    compress_by,
    connections,
    forget_transaction,
    forget_unsent,
    mark_stopped,
    protocol,
    security,
    tasks_of_consumer,
    tasks_of_producer,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE: Final = 10.0
"""Seconds after which a call that no broker has answered is given up."""

FAILURES: Final = (KafkaError, IllegalOperation, ConsumerStoppedError, OSError, TimeoutError, AssertionError)
"""What calls of clients raise. AssertionError: of a producer that has failed before, or of a client that knows of no
broker, as while the only one is fenced; both say so like this."""

_REQUEST: Final = 5_000
"""Milliseconds until a broker that does not answer is asked again, or another is."""

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

_ROOM: Final = 64 * 1024
"""Bytes of a request around the largest record."""

_GOODBYE: Final = 2.0
"""Seconds that a client gets to send what it has and to say goodbye."""

_FORBIDDEN: Final = (
    TopicAuthorizationFailedError,
    GroupAuthorizationFailedError,
    ClusterAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)
_UNKNOWN: Final = (AuthenticationFailedError, SaslAuthenticationFailed)
_TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError)
_FOREIGN: Final = (UnsupportedCodecError, UnsupportedVersionError, IncompatibleBrokerVersion)


def _gzip(records: bytes) -> bytes:
    return zlib.compress(records, _LEVEL, _OF_GZIP)


compress_by(DefaultRecordBatchBuilder, _gzip)


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
        async with asyncio.timeout(PATIENCE), told_why(client):
            await client.start()
    except BaseException:
        await stopped(client)
        raise
    return client


class OtherProtocol(KafkaConnectionError):  # type: ignore[misc]  # aiokafka has no types
    """Brokers speak TLS to a client that does not, or the reverse; the message says which setting is wrong."""

    def __str__(self) -> str:
        return str(self.args[0])


@asynccontextmanager
async def told_why(client: Any) -> AsyncIterator[None]:
    """That `client` finds no broker says why, if brokers do not believe who it is, or it does not believe them.

    It says so, too, if only one of both speaks TLS: brokers close such a connection without a word.

    aiokafka keeps that to itself, or to its logs: so they are asked once more, and what they say is raised.
    """
    try:
        yield
    except KafkaConnectionError as error:
        if (reason := await _refusal(connections(client))) is not None:
            raise reason from error
        raise


async def _refusal(connected: Any) -> Exception | None:
    """What the first broker that answers has against user and password or TLS, or we against its certificate.

    None if there is nothing, or none answers.
    """
    spoken = protocol(connected)
    plain = "PLAINTEXT" in spoken
    for host, port, _ in connected.hosts:
        if await (_speaks_tls(host, port) if plain else _speaks_plainly(host, port)):
            return _other_protocol(f"{host}:{port}", spoken, plain=plain)
        if spoken == "PLAINTEXT":
            continue
        try:
            made = await create_conn(host, port, request_timeout_ms=_REQUEST, **security(connected))
        except (*_UNKNOWN, UnsupportedSaslMechanismError, ssl.SSLError) as error:
            reason: Exception = error
            return reason
        except FAILURES:
            continue
        await asyncio.wait({made.close()}, timeout=_GOODBYE)  # over TLS, brokers have to say goodbye, too
        return None
    return None


def _other_protocol(broker: str, protocol: str, *, plain: bool) -> OtherProtocol:
    if not plain:
        better = protocol.replace("SSL", "PLAINTEXT")
        return OtherProtocol(
            f"{broker} does not speak TLS, and kafka.protocol is {protocol}: {better} would reach it"
        )
    better = "SASL_SSL" if protocol.startswith("SASL") else "SSL, or SASL_SSL with a user"
    return OtherProtocol(f"{broker} expects TLS, and kafka.protocol is {protocol}: it should be {better}")


async def _speaks_tls(host: str, port: int) -> bool:
    """The server there completes the handshake, whatever the certificate: nothing is sent to them."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(_GOODBYE):
            _, writer = await asyncio.open_connection(host, port, ssl=trusting)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


async def _speaks_plainly(host: str, port: int) -> bool:
    """A broker there answers which versions it knows, without TLS; nobody is asked who they are for that."""
    try:
        async with asyncio.timeout(_GOODBYE):
            made = await create_conn(host, port, request_timeout_ms=_REQUEST)
    except FAILURES:
        return False
    await asyncio.wait({made.close()}, timeout=_GOODBYE)
    return True


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
                async with told_why(admin):
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


def missing(address: Address, topic: str, partition: int | None = None) -> StoreUnusable:
    """Why a topic, or a partition of it, cannot be used."""
    what = f"topic {topic}" if partition is None else f"partition {partition} of topic {topic}"
    return StoreUnusable(f"{what} does not exist, or we have no right to see it; {_apply(address)}")


def _apply(address: Address) -> str:
    return f"`jobledger topics apply --log {address}` makes the topics"


@contextmanager
def ours(address: Address, doing: str) -> Iterator[None]:
    """What clients raise comes out as LogUnavailable or StoreUnusable; `doing` continues "cannot"."""
    try:
        yield
    except FAILURES as error:
        raise translated(error, address, doing) from error
    except asyncio.CancelledError as error:
        if is_leaked(error):
            raise LogUnavailable(f"Kafka at {address}: cannot {doing}: the client broke it off") from error
        raise


def is_leaked(error: BaseException) -> bool:
    """It is the cancellation of a task inside aiokafka, which lets it out: nobody has cancelled the one that runs.

    As a cancellation it would end a loop that is there for ever, and no TaskGroup would say so.
    """
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and not task.cancelling()


def translated(error: BaseException, address: Address, doing: str) -> LogError:
    """Our error for one of a client, with a sentence about what cannot be done, and what would help."""
    cause = _root(error)
    where = f"Kafka at {address}"
    if isinstance(cause, _FORBIDDEN):
        return StoreUnusable(
            f"{where} does not let us {doing}: {cause}; docs/kafka.md lists the rights of each role"
        )
    if isinstance(cause, _UNKNOWN):
        if address.security.token_file is not None:
            return StoreUnusable(
                f"{where} does not take the token: {cause}; see the setting kafka.token_file"
            )
        return StoreUnusable(
            f"{where} does not take the user name and password: {cause}; "
            "see the settings kafka.username and kafka.password_file"
        )
    if isinstance(cause, ssl.SSLError):
        return StoreUnusable(
            f"{where} and we do not agree on TLS: {cause}; "
            "see the settings kafka.protocol, kafka.ca_file and kafka.certificate_file"
        )
    if isinstance(cause, UnsupportedSaslMechanismError):
        return StoreUnusable(f"{where} does not know this kafka.mechanism: {cause}")
    if isinstance(cause, _TOO_LARGE):
        return StoreUnusable(
            f"{where} does not take a record: {cause}; max.message.bytes must be at least {RECORD_LIMIT}, "
            f"`jobledger topics check --log {address}` says of which topic it is not"
        )
    if isinstance(cause, _FOREIGN):
        return StoreUnusable(
            f"{where} and this version do not understand each other, cannot {doing}: {cause}"
        )
    if isinstance(cause, UnknownTopicOrPartitionError):  # also a client says so that no broker has answered
        return LogUnavailable(
            f"{where}: cannot {doing}: a topic is missing, or no broker that knows it answers; {_apply(address)}"
        )
    if isinstance(cause, AssertionError):
        return LogUnavailable(
            f"{where}: cannot {doing}: the client has failed before, or knows of no broker that is ready ({cause})"
        )
    said = str(cause) or ("no answer in time" if isinstance(cause, TimeoutError) else type(cause).__name__)
    return LogUnavailable(f"{where}: cannot {doing}: {said}{token_hint(address)}")


def token_hint(address: Address) -> str:
    """What else a connection that is closed may mean: the refusal of a token is nothing that aiokafka tells."""
    if address.security.token_file is None:
        return ""
    return "; so it looks, too, if brokers do not take the token in kafka.token_file"


def _root(error: BaseException) -> BaseException:
    """What was wrong first: a producer that has ended says only that, and names the reason as its cause."""
    while isinstance(error.__cause__, FAILURES) and type(error) is KafkaError:
        error = error.__cause__
    return error
