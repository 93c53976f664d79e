"""Which topic of public events is meant, by `kafka:` and the setting `events.kafka`."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from jobledger.settings.events import EventsKafkaSettings, EventsSettings
from jobledger.settings.model import Settings
from jobledger.settings.sinks import sinks_in
from jobledger.wiring.configured_sinks import lineage_topics
from jobledger.wiring.ledger import Kafka
from jobledger.wiring.sinks import checked, full_topic
from jobledger.wiring.topics import topic_of
from statemachine.errors import ConfigError
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.publishing import Target

LOG = Kafka(Address(("broker-1:9092",), "prod"), "aiokafka", "", 10.0)
STORE = Path("ledger.db")


def settings(tmp_path: Path, sinks: str = "", **said: str) -> Settings:
    path = None
    if sinks:
        path = tmp_path / "sinks.yaml"
        path.write_text(sinks, encoding="utf-8")
    return Settings(
        store=tmp_path / "unused.db",
        events=EventsSettings(sinks=path, kafka=EventsKafkaSettings.model_validate(said)),
    )


@pytest.mark.parametrize(
    ("said", "log", "topic"),
    [
        ({}, LOG, "topic prod.cloudevents at broker-1:9092"),
        ({"topic": "facts"}, LOG, "topic facts at broker-1:9092"),
        ({"address": "other:9092"}, LOG, "topic prod.cloudevents at other:9092"),
        ({"address": "other:9092,more:9092", "topic": "facts"}, LOG, "topic facts at other:9092,more:9092"),
        (
            {"address": "broker-1:9092", "topic": "prod.cloudevents"},
            LOG,
            "topic prod.cloudevents at broker-1:9092",
        ),
        ({"address": "other:9092"}, STORE, "topic jobledger.cloudevents at other:9092"),
        ({"address": "other:9092", "topic": "facts"}, STORE, "topic facts at other:9092"),
    ],
)
def test_the_setting_stands_for_the_own_topic(
    tmp_path: Path, said: dict[str, str], log: Path | Kafka, topic: str
) -> None:
    assert str(topic_of("--to", "kafka:", log, settings(tmp_path, **said))) == topic
    elsewhere = topic_of("--to", "kafka://third:9092/mine", log, settings(tmp_path, **said))
    assert str(elsewhere) == "topic mine at third:9092"


def test_only_with_the_very_own_topic_positions_stand_beside_it(tmp_path: Path) -> None:
    own = Target.of(LOG.address)
    assert topic_of("--to", "kafka:", LOG, settings(tmp_path)) == own
    named = {"address": "broker-1:9092", "topic": "prod.cloudevents"}
    assert topic_of("--to", "kafka:", LOG, settings(tmp_path, **named)) == own
    assert topic_of("--to", "kafka:", LOG, settings(tmp_path, topic="facts")) != own


def test_a_log_in_a_store_has_no_topic_without_an_address(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"or the setting events\.kafka\.address"):
        topic_of("--to", "kafka:", STORE, settings(tmp_path, topic="facts"))


@pytest.mark.parametrize("said", [{"address": "broker-1"}, {"address": "kafka://x:1"}, {"topic": "a b"}])
def test_a_setting_that_names_nothing_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        EventsKafkaSettings.model_validate(said)


async def test_by_default_there_is_a_sink_where_there_is_a_topic(tmp_path: Path) -> None:
    assert [sink.name for sink in await checked(settings(tmp_path), LOG)] == ["kafka"]
    assert await checked(settings(tmp_path), STORE) == ()
    assert [sink.name for sink in await checked(settings(tmp_path, address="other:9092"), STORE)] == ["kafka"]


def lineage(name: str, topic: str) -> str:
    return f"{{name: {name}, type: openlineage, transport: {{type: kafka, topic: {topic}}}}}"


def test_topics_of_lineage_are_those_that_sinks_write_to_by_kafka_each_once(tmp_path: Path) -> None:
    over_http = "{name: web, type: openlineage, transport: {type: http, url: 'https://marquez.example'}}"
    sinks = (
        f"sinks: [{lineage('a', 'runs')}, {over_http}, {lineage('b', 'prod.runs')}, {lineage('c', 'runs')}]"
    )
    configured = sinks_in(settings(tmp_path, sinks).events.sinks)
    assert lineage_topics(configured, LOG.address) == ("runs", "prod.runs")


async def test_a_topic_of_the_ledger_is_none_of_lineage(tmp_path: Path) -> None:
    chosen = settings(tmp_path, f"sinks: [{lineage('runs', 'prod.events')}]")
    with pytest.raises(
        ConfigError, match=r"the sink runs writes to prod\.events, which is a topic of the ledger"
    ):
        await checked(chosen, LOG)


@pytest.mark.parametrize(
    ("sinks", "log", "name"),
    [
        ("", LOG, "kafka"),
        ("", STORE, ""),
        ("sinks: [{name: own, type: kafka}]", LOG, "own"),
        ("sinks: [{name: own, type: kafka, mode: structured}]", LOG, "own"),
        ("sinks: [{name: own, type: kafka, types: [job.failed]}]", LOG, ""),
        ("sinks: [{name: own, type: kafka, namespaces: [a]}]", LOG, ""),
        ("sinks: [{name: own, type: kafka, labelSelector: a=b}]", LOG, ""),
        ("sinks: [{name: own, type: kafka, url: 'kafka://x:1/y'}]", LOG, ""),
        ("sinks: [{name: out, type: stdout}]", LOG, ""),
    ],
)
def test_servers_read_the_topic_that_gets_every_event(
    tmp_path: Path, sinks: str, log: Path | Kafka, name: str
) -> None:
    sink = full_topic(settings(tmp_path, sinks), log)
    assert (sink.name if sink is not None else "") == name
