"""The AsyncAPI document: valid for others' tools, and true of the events that were frozen."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event
from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

from jobledger.api import create
from projectors.contract.asyncapi import document
from projectors.contract.catalogue import CATALOGUE, VERSION
from projectors.contract.schemas import schema
from statemachine.log.kafka.layout import CLOUDEVENTS
from tests.contract.released import FOLDER, fixtures
from tests.unit.api.words import app_in_memory

ROOT: Final = Path(__file__).parents[3]
OFFICIAL: Final = ROOT / "tests" / "schemas" / "asyncapi-3.0.0.json"
NAMES: Final = tuple(public_type.name for public_type in CATALOGUE)
HERE: Final = "urn:document"


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return document()


def validator(made: dict[str, Any], place: str) -> Draft7Validator:
    """Of the schema at `place`, as AsyncAPI takes one: draft 7, references from the root of the document."""
    registry = Registry[Any]().with_resource(HERE, DRAFT7.create_resource(made))
    return Draft7Validator({"$ref": f"{HERE}#{place}"}, registry=registry)


def test_the_official_schema_of_asyncapi_accepts_the_document_that_is_checked_in() -> None:
    text = (ROOT / "docs" / "asyncapi.yaml").read_text(encoding="utf-8")
    checked_in = yaml.load(text, yaml.CSafeLoader)
    Draft7Validator(json.loads(OFFICIAL.read_text(encoding="utf-8"))).validate(checked_in)
    assert checked_in == document()


def test_the_official_schema_refuses_what_is_wrong(made: dict[str, Any]) -> None:
    official = Draft7Validator(json.loads(OFFICIAL.read_text(encoding="utf-8")))
    broken = [{**made, "channels": {"topic": {"adress": "x"}}}, {**made, "asyncapi": "2.6.0"}]
    bindings = {"kafka": {"partitions": 0, "bindingVersion": "0.5.0"}}
    topic = {**made["channels"]["topic"], "bindings": bindings}
    broken.append({**made, "channels": {"topic": topic}})
    assert [official.is_valid(document) for document in broken] == [False] * 3


def test_every_reference_leads_somewhere(made: dict[str, Any]) -> None:
    def references(tree: Any) -> list[str]:
        if isinstance(tree, list):
            return [place for item in tree for place in references(item)]
        if not isinstance(tree, dict):
            return []
        own = [tree["$ref"]] if isinstance(tree.get("$ref"), str) else []
        return own + [place for value in tree.values() for place in references(value)]

    places = set(references(made))
    assert len(places) > 2 * len(NAMES)
    for place in places:
        target: Any = made
        for part in place.removeprefix("#/").split("/"):
            target = target[part]
        assert target


def test_every_type_is_in_every_channel(made: dict[str, Any]) -> None:
    assert {tuple(channel["messages"]) for channel in made["channels"].values()} == {NAMES}
    assert {operation["channel"]["$ref"] for operation in made["operations"].values()} == {
        f"#/channels/{name}" for name in made["channels"]
    }


def test_parts_of_one_name_are_the_same_in_all_schemas() -> None:
    parts: dict[str, Any] = {}
    for public_type in CATALOGUE:
        for name, part in schema(public_type).get("$defs", {}).items():
            assert parts.setdefault(name, part) == part
    assert not set(parts) & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_type_are_its_first_frozen_event(made: dict[str, Any], name: str) -> None:
    lines = (FOLDER / VERSION / "fixtures" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    event = json.loads(lines[0])["event"]
    messages = made["components"]["messages"]
    assert messages[f"{name}.structured"]["examples"] == [{"payload": event}]
    (example,) = messages[name]["examples"]
    headers = {header: value.encode() for header, value in example["headers"].items()}
    read = from_binary_event(KafkaMessage(headers, None, json.dumps(example["payload"]).encode()))
    assert read.get_data() == example["payload"] == event["data"]
    assert read.get_id() == event["id"]
    assert read.get_type() == event["type"]


def test_all_frozen_events_are_what_the_document_says_of_them(made: dict[str, Any]) -> None:
    messages = {name: validator(made, f"/components/messages/{name}.structured/payload") for name in NAMES}
    topic = {name: validator(made, f"/components/messages/{name}/payload") for name in NAMES}
    for fixture in fixtures(FOLDER / VERSION):
        name = Path(fixture.event["dataschema"]).stem
        messages[name].validate(fixture.event)
        topic[name].validate(fixture.event["data"])
        other = next(event_name for event_name in NAMES if event_name != name)
        assert not messages[other].is_valid(fixture.event)


def test_the_headers_of_the_examples_are_those_that_the_document_names(made: dict[str, Any]) -> None:
    place = "/components/messageTraits/kafka/headers"
    allowed = set(made["components"]["messageTraits"]["kafka"]["headers"]["properties"])
    headers = validator(made, place)
    for name in NAMES:
        (example,) = made["components"]["messages"][name]["examples"]
        headers.validate(example["headers"])
        assert set(example["headers"]) <= allowed


async def test_the_request_for_events_is_the_one_that_the_api_describes(made: dict[str, Any]) -> None:
    async with app_in_memory() as app:
        described = create(app).openapi()["paths"][made["channels"]["events"]["address"]]["get"]["parameters"]
    query = {item["name"]: item["schema"] for item in described if item["in"] == "query"}
    said = made["operations"]["serve"]["bindings"]["http"]["query"]["properties"]
    assert said.keys() == query.keys()
    for name in ("limit", "wait"):
        assert said[name].items() <= query[name].items()


def test_the_topic_is_described_as_it_is_made(made: dict[str, Any]) -> None:
    channel = made["channels"]["topic"]
    assert channel["address"] == f"{{prefix}}.{CLOUDEVENTS.name}"
    settings = channel["bindings"]["kafka"]["topicConfiguration"]
    wanted = {setting.name: setting.value for setting in CLOUDEVENTS.settings(3)}
    assert settings.pop("cleanup.policy") == [wanted["cleanup.policy"]]
    assert {name: str(value) for name, value in settings.items()} == {name: wanted[name] for name in settings}
    assert "retention.ms" in settings
