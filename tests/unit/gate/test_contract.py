"""The gate of the public contract: what it refuses, what it lets pass, and that nothing released is edited."""

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pytest

from projectors.contract.catalogue import CATALOGUE, VERSION
from projectors.contract.lineage.facets import OWN, own_schema
from projectors.contract.schemas import schema
from tests.contract import gate
from tests.contract.compatible import differences, of_catalogue
from tests.contract.released import (
    catalogue,
    digest,
    facet_schemas,
    facet_versions,
    fixtures,
    freeze,
    freeze_facets,
    schemas,
    versions,
)

DIGESTS: Final = {"1.0": "7e72e8c7718d7e612457251490001aa9e0b707c1f2fac413b83fea69df01c7eb"}
"""Of what was released; a version is added here when it is, and no line is ever changed."""

FACET_DIGESTS: Final = {"1-0-0": "692eee78dcc27d720b4a9a435da9f1405a4dd5318ff42804f750a880940572b1"}
"""The same of our facets in RunEvents."""

Schema = dict[str, Any]
NOW: Final = {public_type.name: schema(public_type) for public_type in CATALOGUE}


def test_no_file_of_a_released_version_is_edited() -> None:
    assert {version.name: digest(version) for version in versions()} == DIGESTS


def test_a_version_is_released_once() -> None:
    with pytest.raises(FileExistsError):
        freeze()


def test_the_contract_keeps_what_every_version_promised() -> None:
    assert gate.broken() == []


def test_every_type_has_three_events_and_a_schema_in_the_version_that_is_current() -> None:
    [version] = [version for version in versions() if version.name == VERSION]
    kept: dict[str, int] = {}
    for fixture in fixtures(version):
        name = fixture.event["type"].removeprefix("dev.jobledger.").removesuffix(".v1")
        kept[name] = kept.get(name, 0) + 1
    assert kept == dict.fromkeys(NOW, 3)
    assert schemas(version).keys() == NOW.keys()


def test_no_frozen_schema_of_a_facet_is_edited() -> None:
    assert {version.name: digest(version) for version in facet_versions()} == FACET_DIGESTS
    with pytest.raises(FileExistsError):
        freeze_facets()


def _gone(facets: dict[str, Schema]) -> None:
    del facets["jobledger_job"]


def _removed(facets: dict[str, Schema]) -> None:
    removed(facets["jobledger_job"], "seq")


def _retyped(facets: dict[str, Schema]) -> None:
    facets["jobledger_restarts"]["properties"]["spent"]["type"] = "string"


def _added(facets: dict[str, Schema]) -> None:
    facets["jobledger_job"]["properties"]["queue"] = {"type": "string"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_gone, "facets 1-0-0 jobledger_job: is gone"),
        (_removed, "facets 1-0-0 jobledger_job: data.seq"),
        (_retyped, "facets 1-0-0 jobledger_restarts: data.spent"),
        (_added, "facets 1-0-0 jobledger_job: has changed, and its version has not"),
    ],
)
def test_a_facet_that_changes_is_refused(change: Callable[[dict[str, Schema]], None], sentence: str) -> None:
    released = {version.name: facet_schemas(version) for version in facet_versions()}
    now = {name: own_schema(name) for name in OWN}
    assert not list(gate.of_facets(released, now))
    change(now)
    assert any(sentence in wrong for wrong in gate.of_facets(released, now)), list(
        gate.of_facets(released, now)
    )


def test_facets_of_a_version_that_is_not_frozen_are_refused() -> None:
    now = {name: own_schema(name) for name in OWN}
    assert "not all are frozen" in next(gate.of_facets({}, now))


def objects(tree: Any) -> Iterator[Schema]:
    """Every object of a schema that has properties."""
    if isinstance(tree, dict):
        if "properties" in tree:
            yield tree
        for value in tree.values():
            yield from objects(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from objects(item)


def removed(schema: Schema, name: str) -> None:
    del schema["properties"][name]
    schema["required"] = [other for other in schema["required"] if other != name]


def renamed(schema: Schema, name: str) -> None:
    schema["properties"]["other"] = schema["properties"].pop(name)
    schema["required"] = ["other" if other == name else other for other in schema["required"]]


def retyped(schema: Schema, name: str) -> None:
    schema["properties"][name] = {"type": "array", "items": {"type": "string"}}


def made_optional(schema: Schema, name: str) -> None:
    schema["required"].remove(name)


def new_and_required(schema: Schema, _: str) -> None:
    schema["properties"]["other"] = {"type": "string"}
    schema["required"].append("other")


def narrowed(schema: Schema, name: str) -> None:
    schema["properties"][name] = {**schema["properties"][name], "pattern": "^a$"}


def closed_enum(schema: Schema, name: str) -> None:
    schema["properties"][name] = {**schema["properties"][name], "enum": ["a", "b"]}


def unknown_keyword(schema: Schema, name: str) -> None:
    schema["properties"][name] = {**schema["properties"][name], "dependentRequired": {}}


BREAKING: Final = (
    removed,
    renamed,
    retyped,
    made_optional,
    new_and_required,
    narrowed,
    closed_enum,
    unknown_keyword,
)


@pytest.mark.parametrize("number", range(40))
def test_a_breaking_change_is_refused(number: int) -> None:
    random = Random(number)
    name = random.choice(sorted(NOW))
    changed = copy.deepcopy(NOW[name])
    place = random.choice([node for node in objects(changed) if node.get("required")])
    breaking: Callable[[Schema, str], None] = BREAKING[number % len(BREAKING)]
    breaking(place, random.choice(sorted(place["required"])))
    assert list(differences(NOW[name], changed))


def dropped(now: Schema) -> None:
    del now["job.failed"]


def moved(now: Schema) -> None:
    now["job.failed"]["anchors"] = ["RestartDenied"]


def graver(now: Schema) -> None:
    now["job.failed"]["severity"] = "WARN"


@pytest.mark.parametrize("breaking", [dropped, moved, graver])
def test_a_type_that_goes_or_moves_or_changes_its_severity_is_refused(
    breaking: Callable[[Schema], None],
) -> None:
    now = copy.deepcopy(catalogue())
    breaking(now)
    assert list(of_catalogue(catalogue(), now))


def test_a_value_that_is_gone_is_refused() -> None:
    changed = copy.deepcopy(NOW["job.failed"])
    changed["properties"]["reason"]["x-extensible-enum"].remove("InvalidSpec")
    assert list(differences(NOW["job.failed"], changed)) == ["data.reason: values are gone: InvalidSpec"]


@pytest.mark.parametrize("number", range(10))
def test_an_optional_property_and_a_new_value_pass_but_not_the_other_way_round(number: int) -> None:
    random = Random(number)
    name = random.choice(sorted(NOW))
    changed = copy.deepcopy(NOW[name])
    place = random.choice(list(objects(changed)))
    place["properties"]["other"] = {"type": "string"}
    for inner in objects(changed):
        for property_ in inner["properties"].values():
            property_.get("x-extensible-enum", []).append("Other")
    assert list(differences(NOW[name], changed)) == []
    assert list(differences(changed, NOW[name]))


def test_a_new_type_at_a_place_of_its_own_passes() -> None:
    now = catalogue() | {"job.other": {"type": "t", "anchors": ["TimerSet"], "severity": "INFO"}}
    assert list(of_catalogue(catalogue(), now)) == []


def test_an_event_may_gain_fields_and_loses_none() -> None:
    old = {"id": "a", "data": {"list": [{"x": 1}]}}
    assert gate.includes({"id": "a", "new": 1, "data": {"list": [{"x": 1, "y": 2}]}}, old)
    assert not gate.includes({"id": "a", "data": {"list": []}}, old)
    assert not gate.includes({"id": "b", "data": {"list": [{"x": 1}]}}, old)
    assert not gate.includes(None, old)


def test_schemas_say_that_they_are_of_the_newest_draft() -> None:
    assert {json.dumps(schema["$schema"]) for schema in NOW.values()} == {
        '"https://json-schema.org/draft/2020-12/schema"'
    }
