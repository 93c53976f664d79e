"""What a schema registry says to the closed schemas of minor versions that follow each other."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest

from projectors.contract.catalogue import CATALOGUE
from projectors.contract.schemas import schema
from tests.contract import gate
from tests.contract.registry import Schema, changes, refusals

CLOSED: Final = {public_type.name: schema(public_type, closed=True) for public_type in CATALOGUE}
TEXT: Final = {"type": "string"}
NUMBER: Final = {"type": "integer", "minimum": 0}
NULL: Final = {"type": "null"}


def shape(*, closed: bool = True, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    made = {"type": "object", "properties": properties, "required": list(required)}
    return {**made, "additionalProperties": False} if closed else made


@pytest.mark.parametrize(
    ("old", "new", "change", "refused"),
    [
        (shape(a=TEXT), shape(a=TEXT, b=TEXT), "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", False),
        (
            shape(a=TEXT),
            shape(a=TEXT, b=TEXT, required=("b",)),
            "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
            True,
        ),
        (
            shape(a=TEXT, closed=False),
            shape(a=TEXT, b=TEXT, closed=False),
            "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            True,
        ),
        (shape(a=TEXT, b=TEXT), shape(a=TEXT), "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", True),
        (
            shape(a=TEXT, b=TEXT, closed=False),
            shape(a=TEXT, closed=False),
            "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL",
            False,
        ),
        (shape(a=TEXT), shape(a=TEXT, required=("a",)), "REQUIRED_ATTRIBUTE_ADDED", True),
        (shape(a=TEXT, required=("a",)), shape(a=TEXT), "REQUIRED_ATTRIBUTE_REMOVED", False),
        (shape(a=TEXT), shape(a=TEXT, closed=False), "ADDITIONAL_PROPERTIES_ADDED", False),
        (shape(a=TEXT, closed=False), shape(a=TEXT), "ADDITIONAL_PROPERTIES_REMOVED", True),
        ({"additionalProperties": NUMBER}, {}, "ADDITIONAL_PROPERTIES_EXTENDED", False),
        ({}, {"additionalProperties": NUMBER}, "ADDITIONAL_PROPERTIES_NARROWED", True),
        ({"additionalProperties": NUMBER}, {"additionalProperties": TEXT}, "TYPE_CHANGED", True),
        (TEXT, NUMBER, "TYPE_CHANGED", True),
        ({"const": 1}, {"const": 2}, "TYPE_CHANGED", True),
        ({"items": TEXT}, {"items": NUMBER}, "TYPE_CHANGED", True),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, "ENUM_ARRAY_EXTENDED", False),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, "ENUM_ARRAY_NARROWED", True),
        ({"enum": ["a"]}, {"enum": ["b"]}, "ENUM_ARRAY_CHANGED", True),
        (TEXT, {**TEXT, "pattern": "a"}, "PATTERN_ADDED", True),
        ({**TEXT, "pattern": "a"}, {**TEXT, "pattern": "b"}, "PATTERN_CHANGED", True),
        ({**TEXT, "pattern": "a"}, TEXT, "PATTERN_REMOVED", False),
        (NUMBER, {"type": "integer", "minimum": 1}, "MINIMUM_INCREASED", True),
        ({"type": "integer", "minimum": 1}, NUMBER, "MINIMUM_DECREASED", False),
        (NUMBER, {"type": "integer"}, "MINIMUM_REMOVED", False),
        (TEXT, {**TEXT, "maxLength": 5}, "MAX_LENGTH_ADDED", True),
        ({**TEXT, "maxLength": 5}, {**TEXT, "maxLength": 4}, "MAX_LENGTH_DECREASED", True),
        ({**NUMBER, "maximum": 5}, {**NUMBER, "maximum": 6}, "MAXIMUM_INCREASED", False),
        (TEXT, {"anyOf": [TEXT, NULL]}, "SUM_TYPE_EXTENDED", False),
        ({"anyOf": [TEXT, NULL]}, TEXT, "SUM_TYPE_NARROWED", True),
        ({"anyOf": [TEXT, NULL]}, {"anyOf": [NUMBER, NULL]}, "COMBINED_TYPE_SUBSCHEMAS_CHANGED", True),
        (
            {"anyOf": [shape(a=TEXT), NULL]},
            {"anyOf": [NULL, shape(a=TEXT, b=TEXT)]},
            "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
            False,
        ),
    ],
)
def test_a_registry_names_a_change_and_refuses_it_or_not(
    old: Schema, new: Schema, change: str, refused: bool
) -> None:
    assert [difference.name for difference in changes(old, new)] == [change]
    assert bool(refusals(old, new)) is refused


def objects(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        if "properties" in tree:
            yield tree
        for value in tree.values():
            yield from objects(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from objects(item)


@pytest.mark.parametrize("number", range(10))
def test_the_closed_schema_of_the_next_minor_is_taken_and_the_open_one_is_not(number: int) -> None:
    random = Random(number)
    public_type = random.choice(CATALOGUE)
    now = CLOSED[public_type.name]
    place = random.randrange(len(list(objects(now))))
    following = []
    for old in (now, schema(public_type)):
        new = copy.deepcopy(old)
        list(objects(new))[place]["properties"]["more"] = random.choice(
            [TEXT, shape(a=NUMBER), {"anyOf": [TEXT, NULL]}]
        )
        for inner in objects(new):
            for property_ in inner["properties"].values():
                property_.get("x-extensible-enum", []).append("Other")
        following.append(refusals(old, new))
    closed, opened = following
    assert closed == []
    # within alternatives it says only that none takes what one of them took
    named = {"PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", "COMBINED_TYPE_SUBSCHEMAS_CHANGED"}
    assert len({change.name for change in opened} & named) == 1


@pytest.mark.parametrize("name", sorted(CLOSED))
def test_a_closed_schema_is_closed_in_every_object_and_compatible_with_itself(name: str) -> None:
    assert {node["additionalProperties"] for node in objects(CLOSED[name])} == {False}
    assert changes(CLOSED[name], CLOSED[name]) == []


def test_the_gate_asks_what_a_registry_would_say(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = copy.deepcopy(CLOSED["job.deleted"])
    changed["properties"]["entry"] = TEXT
    monkeypatch.setattr(gate, "closed", lambda: {**CLOSED, "job.deleted": changed})
    assert gate.broken() == ["1.0 job.deleted: a registry would refuse it: #/properties/entry: TYPE_CHANGED"]
