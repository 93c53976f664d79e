"""The configuration for Argo Events in examples/consumers, read by models that are made from Argo Events' own types.

hera has them. They pass over what they do not know unless they are asked not to; `apiVersion` and `kind`, by which
the API server chooses the type, are none of their fields. The text `config` is for the client of Kafka in it.
"""

import importlib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from pydantic import BaseModel, ValidationError

FILE: Final = Path(__file__).parents[3] / "examples" / "consumers" / "argo-events.yaml"
TYPES: Final = "hera.events.models.github.com.argoproj.argo_events.pkg.apis.events.v1alpha1"
"""Imported by tests alone: that takes half a second, which each process that collects tests would need."""

KINDS: Final = ("EventSource", "Sensor")


def documents() -> dict[str, Any]:
    return {document["kind"]: document for document in yaml.safe_load_all(FILE.read_text(encoding="utf-8"))}


def read(document: dict[str, Any]) -> BaseModel:
    """The document as Argo Events has it. Raises ValidationError."""
    assert document["apiVersion"] == "argoproj.io/v1alpha1"
    fields = {name: value for name, value in document.items() if name not in {"apiVersion", "kind"}}
    model: type[BaseModel] = getattr(importlib.import_module(TYPES), document["kind"])
    return model.model_validate(fields, extra="forbid", by_alias=True, by_name=False)


@pytest.mark.parametrize("kind", KINDS)
def test_argo_events_knows_every_field_of_the_example(kind: str) -> None:
    document = documents()[kind]
    said = read(document).model_dump(exclude_unset=True, by_alias=True)
    assert {"apiVersion": document["apiVersion"], "kind": kind, **said} == document


def _misspell_body(source: dict[str, Any]) -> None:
    source["spec"]["kafka"]["events"]["jsonbody"] = True


def _misspell_group(source: dict[str, Any]) -> None:
    group = source["spec"]["kafka"]["events"]["consumerGroup"]
    group["name"] = group.pop("groupName")


def _text_for_flag(source: dict[str, Any]) -> None:
    source["spec"]["kafka"]["events"]["consumerGroup"]["oldest"] = "first"


def _one_value(sensor: dict[str, Any]) -> None:
    [wanted] = sensor["spec"]["dependencies"][0]["filters"]["data"]
    wanted["value"] = wanted["value"][0]


def _flag_in_template(sensor: dict[str, Any]) -> None:
    [trigger] = sensor["spec"]["triggers"]
    trigger["template"]["atLeastOnce"] = trigger.pop("atLeastOnce")


@pytest.mark.parametrize(
    ("kind", "spoil", "place"),
    [
        ("EventSource", _misspell_body, "spec.kafka.events.jsonbody"),
        ("EventSource", _misspell_group, "spec.kafka.events.consumerGroup.name"),
        ("EventSource", _text_for_flag, "spec.kafka.events.consumerGroup.oldest"),
        ("Sensor", _one_value, "spec.dependencies.0.filters.data.0.value"),
        ("Sensor", _flag_in_template, "spec.triggers.0.template.atLeastOnce"),
    ],
)
def test_a_mistake_in_it_is_refused_at_its_place(
    kind: str, spoil: Callable[[dict[str, Any]], None], place: str
) -> None:
    document = deepcopy(documents()[kind])
    spoil(document)
    with pytest.raises(ValidationError) as refused:
        read(document)
    assert [".".join(map(str, error["loc"])) for error in refused.value.errors()] == [place]
