"""The topics as data: what they demand of their settings."""

from collections.abc import Mapping

import pytest

from statemachine.log.kafka.layout import (
    DEAD_LETTERS,
    EVENTS,
    JOBS,
    OBSERVATIONS,
    RECORD_LIMIT,
    TOPICS,
    Setting,
    Topic,
    faults,
)


def made(topic: Topic, copies: int = 3, other: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings of a topic as it is made, with others in their place."""
    return {setting.name: setting.value for setting in topic.settings(copies)} | dict(other or {})


@pytest.mark.parametrize("copies", [1, 2, 3, 5])
@pytest.mark.parametrize("topic", TOPICS, ids=[topic.name for topic in TOPICS])
def test_a_topic_as_it_is_made_loses_nothing(topic: Topic, copies: int) -> None:
    assert faults(topic, topic.name, copies, made(topic, copies)) == []


@pytest.mark.parametrize("topic", TOPICS, ids=[topic.name for topic in TOPICS])
def test_no_setting_is_made_twice_and_each_has_its_reason(topic: Topic) -> None:
    names = [setting.name for setting in topic.settings(3)]
    assert len(names) == len(set(names))
    assert all(setting.reason.endswith(".") for setting in topic.settings(3))


@pytest.mark.parametrize(
    ("topic", "setting", "value"),
    [
        (EVENTS, "retention.ms", "604800000"),
        (EVENTS, "retention.bytes", "1073741824"),
        (EVENTS, "cleanup.policy", "compact"),
        (EVENTS, "cleanup.policy", "compact,delete"),
        (EVENTS, "unclean.leader.election.enable", "true"),
        (EVENTS, "min.insync.replicas", "1"),
        (EVENTS, "max.message.bytes", "1048588"),
        (OBSERVATIONS, "retention.ms", "3600000"),
        (OBSERVATIONS, "retention.bytes", "1048576"),
        (OBSERVATIONS, "cleanup.policy", "compact"),
        (JOBS, "cleanup.policy", "delete"),
        (JOBS, "cleanup.policy", "compact,delete"),
        (DEAD_LETTERS, "cleanup.policy", "compact"),
        (DEAD_LETTERS, "retention.ms", "1000"),
    ],
)
def test_a_setting_that_would_lose_data_is_named_with_what_it_is_and_must_be(
    topic: Topic, setting: str, value: str
) -> None:
    [said] = faults(topic, f"jobledger.{topic.name}", 3, made(topic, other={setting: value}))
    [known] = [chosen for chosen in topic.settings(3) if chosen.name == setting]
    assert said.startswith(f"jobledger.{topic.name}: {setting} is {value}, but must be {known.demand}. ")


@pytest.mark.parametrize(
    ("topic", "setting", "value"),
    [
        (OBSERVATIONS, "retention.ms", "-1"),
        (OBSERVATIONS, "retention.ms", "2592000000"),
        (EVENTS, "max.message.bytes", str(4 * RECORD_LIMIT)),
        (EVENTS, "min.insync.replicas", "3"),
        (EVENTS, "compression.type", "zstd"),
        (EVENTS, "message.timestamp.type", "CreateTime"),
        (JOBS, "segment.bytes", "1073741824"),
    ],
)
def test_what_loses_nothing_is_somebodys_choice(topic: Topic, setting: str, value: str) -> None:
    assert faults(topic, topic.name, 3, made(topic, other={setting: value})) == []


@pytest.mark.parametrize("copies", [1, 2])
def test_with_fewer_than_three_copies_one_may_be_enough(copies: int) -> None:
    assert faults(EVENTS, "e", copies, made(EVENTS, copies, {"min.insync.replicas": "1"})) == []


def test_more_brokers_in_sync_than_there_are_copies_is_said() -> None:
    [said] = faults(EVENTS, "jobledger.events", 1, made(EVENTS, 1, {"min.insync.replicas": "2"}))
    assert said.startswith("jobledger.events: min.insync.replicas is 2, but must be 1. ")


def test_a_setting_that_brokers_do_not_know_is_not_held_against_them() -> None:
    assert faults(EVENTS, "e", 3, {}) == []


def test_without_a_demand_a_setting_says_none() -> None:
    assert Setting("compression.type", "producer", "").demand == ""
