"""What clients of Kafka raise, as our errors: a sentence about what cannot be done, and what would help."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aiokafka.errors import (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    ConsumerStoppedError,
    GroupAuthorizationFailedError,
    IllegalOperation,
    IncompatibleBrokerVersion,
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

from statemachine.errors import LogError, LogUnavailable, StoreUnusable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.layout import RECORD_LIMIT

FAILURES: Final = (KafkaError, IllegalOperation, ConsumerStoppedError, OSError, TimeoutError, AssertionError)
"""What calls of clients raise. AssertionError: of a producer that has failed before, or of a client that knows of no
broker, as while the only one is fenced; both say so like this."""

_FORBIDDEN: Final = (
    TopicAuthorizationFailedError,
    GroupAuthorizationFailedError,
    ClusterAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)
UNKNOWN: Final = (AuthenticationFailedError, SaslAuthenticationFailed)
"""Brokers do not take the user and the password, or the token."""
_TOO_LARGE: Final = (MessageSizeTooLargeError, RecordListTooLargeError)
_FOREIGN: Final = (UnsupportedCodecError, UnsupportedVersionError, IncompatibleBrokerVersion)


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
    if isinstance(cause, UNKNOWN):
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
