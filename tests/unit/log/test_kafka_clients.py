"""What Kafka's clients raise, as ours, without a broker."""

import asyncio

import pytest
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    IllegalOperation,
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    LeaderNotAvailableError,
    MessageSizeTooLargeError,
    ProducerFenced,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnknownTopicOrPartitionError,
    UnsupportedCodecError,
    UnsupportedSaslMechanismError,
)

from statemachine.errors import LogError, LogUnavailable, StoreUnusable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.failures import missing, ours, translated

ADDRESS = Address(("broker-1:9092",), "ledger")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (TopicAuthorizationFailedError("ledger.events"), "does not let us read: .*ledger.events.*rights"),
        (GroupAuthorizationFailedError("ledger.reader.status"), "does not let us read: .*reader.status"),
        (ClusterAuthorizationFailedError(), "does not let us read"),
        (TransactionalIdAuthorizationFailed("ledger-3"), "does not let us read: .*ledger-3"),
        (SaslAuthenticationFailed("no"), "does not take the user name and password: .*kafka.password_file"),
        (UnsupportedSaslMechanismError("PLAIN"), "does not know this kafka.mechanism: .*PLAIN"),
        (MessageSizeTooLargeError(), "max.message.bytes must be at least 8388608"),
        (UnsupportedCodecError("Libraries for zstd compression codec not found"), "zstd"),
    ],
)
def test_what_waiting_does_not_help_says_what_does(error: KafkaError, sentence: str) -> None:
    translation = translated(error, ADDRESS, "read")
    assert isinstance(translation, StoreUnusable)
    with pytest.raises(StoreUnusable, match=sentence):
        raise translation


@pytest.mark.parametrize(
    "error",
    [
        KafkaConnectionError("Unable to bootstrap"),
        KafkaTimeoutError(),
        LeaderNotAvailableError(),
        ProducerFenced(),
        IllegalOperation("Not in a transaction"),
        ConnectionRefusedError("refused"),
        TimeoutError(),
        AssertionError("Invalid state transition"),
    ],
)
def test_what_may_pass_is_unavailable_and_names_the_brokers(error: Exception) -> None:
    with pytest.raises(LogUnavailable, match=r"Kafka at kafka://broker-1:9092/ledger: cannot read: \S+"):
        raise translated(error, ADDRESS, "read")


def test_a_topic_that_no_broker_knows_may_come_and_the_command_that_makes_it_is_named() -> None:
    with pytest.raises(
        LogUnavailable, match=r"a topic is missing, or .*`jobledger topics apply --log kafka://"
    ):
        raise translated(UnknownTopicOrPartitionError(), ADDRESS, "read")


def test_the_error_of_a_producer_that_has_ended_says_what_ended_it() -> None:
    error = KafkaError("Unexpected error during batch delivery")
    error.__cause__ = TopicAuthorizationFailedError("mine")
    assert "does not let us write: " in str(translated(error, ADDRESS, "write"))


def test_our_own_errors_pass_as_they_are() -> None:
    with pytest.raises(StoreUnusable, match="partition 3 of topic t does not exist"), ours(ADDRESS, "read"):
        raise missing(ADDRESS, "t", 3)


async def test_what_a_client_cancels_by_itself_is_a_failure_and_ends_no_loop() -> None:
    with pytest.raises(LogUnavailable, match="cannot read: the client broke it off"), ours(ADDRESS, "read"):
        raise asyncio.CancelledError


async def test_a_task_that_is_cancelled_ends() -> None:
    async def read() -> None:
        with ours(ADDRESS, "read"):
            await asyncio.sleep(60)

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    assert reading.cancelled()


def test_errors_of_clients_are_chained() -> None:
    cause = TimeoutError()
    with pytest.raises(LogError) as failure, ours(ADDRESS, "read"):
        raise cause
    assert failure.value.__cause__ is cause
