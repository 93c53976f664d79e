"""What the CustomResourceDefinitions say; that an API server takes them is in `tests/integration/`."""

from collections.abc import Iterator
from typing import Any

import pytest

from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.kinds.common.crd import expanded
from statemachine.owned import Manifest
from statemachine.rulebook import Layer

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)


def root(kind: Kind) -> Manifest:
    """The schema of a kind's objects."""
    schema: Manifest = kind.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def schemas(schema: Manifest, path: str = "") -> Iterator[tuple[str, Manifest]]:
    """A schema and all inside it."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas(inner, f"{path}.{name}")
    if "additionalProperties" in schema:
        yield from schemas(schema["additionalProperties"], f"{path}[]")
    if "items" in schema:
        yield from schemas(schema["items"], f"{path}[]")


@every_kind
def test_every_schema_is_structural(kind: Kind) -> None:
    strange = ("$ref", "title", "anyOf", "$defs")
    for path, schema in schemas(root(kind)):
        untyped = ("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields")
        assert "type" in schema or any(keyword in schema for keyword in untyped), path
        assert [key for key in strange if key in schema] == [], path
        assert not {"properties", "additionalProperties"} <= schema.keys(), path


@every_kind
def test_every_field_of_spec_and_status_is_explained(kind: Kind) -> None:
    parts = [schema for schema in schemas(root(kind)) if schema[0].startswith((".spec", ".status"))]
    silent = [path for path, schema in parts if not schema.get("description") and not path.endswith("[]")]
    assert silent == []


@every_kind
def test_every_rule_for_the_api_server_is_in_the_crd_with_its_text(kind: Kind) -> None:
    texts = root(kind)
    there = texts["x-kubernetes-validations"] + texts["properties"]["spec"]["x-kubernetes-validations"]
    wanted = [rule for rule in kind.rules if rule.layer is Layer.CEL]
    assert sorted(rule["message"] for rule in there) == sorted(rule.text for rule in wanted)


@every_kind
def test_switches_have_no_default_which_would_hide_their_old_name(kind: Kind) -> None:
    for path, schema in schemas(root(kind)):
        if path.endswith((".enabled", ".enable")):
            assert "default" not in schema, path


COLUMNS = {
    "batch.tensorstack.dev": ["Phase", "Running", "Succeeded", "Failed", "Age"],
    "kubeflow.org": ["State", "Age"],
}


@every_kind
def test_names_columns_and_subresources_are_the_spec_s(kind: Kind) -> None:
    spec: dict[str, Any] = kind.crd()["spec"]
    assert spec["names"]["categories"] == ["all", "jobledger", "training"]
    assert spec["scope"] == "Namespaced"
    (version,) = spec["versions"]
    assert "status" in version["subresources"]
    columns = [column["name"] for column in version["additionalPrinterColumns"] if not column.get("priority")]
    assert columns == COLUMNS[spec["group"]]


def test_integers_have_formats_and_defaults() -> None:
    spec = root(KINDS[0])["properties"]["spec"]["properties"]
    item = spec["replicaSpecs"]["items"]["properties"]
    assert {key: item["replicas"][key] for key in ("type", "format", "minimum")} == {
        "type": "integer",
        "format": "int32",
        "minimum": 0,
    }
    policy = spec["runPolicy"]["properties"]
    assert policy["activeDeadlineSeconds"]["format"] == "int64"
    assert policy["backoffLimit"]["default"] == 3
    assert spec["replicaSpecs"]["maxItems"] == 16
    assert item["template"]["x-kubernetes-preserve-unknown-fields"] is True


def test_processes_per_node_may_be_a_number_or_a_word() -> None:
    spec = root(KINDS[0])["properties"]["spec"]["properties"]
    field = spec["torchrunConfig"]["properties"]["procPerNode"]
    assert field["x-kubernetes-int-or-string"] is True
    assert "type" not in field


def test_on_is_written_out() -> None:
    assert expanded("on(self.elastic) && x") == (
        "(has(self.elastic.enabled) ? self.elastic.enabled : "
        "(has(self.elastic.enable) ? self.elastic.enable : false)) && x"
    )


def test_a_map_of_parts_whose_names_may_be_in_any_case_has_one_schema_for_all() -> None:
    (spec,) = (root(kind)["properties"]["spec"] for kind in KINDS if kind.names.kind == "PyTorchJob")
    types = spec["properties"]["pytorchReplicaSpecs"]
    assert list(types["additionalProperties"]["properties"]) == ["replicas", "restartPolicy", "template"]


@every_kind
def test_nothing_in_a_list_has_a_default_which_apply_would_take_for_a_change(kind: Kind) -> None:
    paths = [path for path, schema in schemas(root(kind)) if "default" in schema]
    assert [path for path in paths if "[]" in path] == []


def test_defaults_of_entries_of_lists_are_described() -> None:
    defaults = {path: schema.get("description", "") for path, schema in schemas(root(KINDS[0]))}
    assert defaults[".spec.replicaSpecs[].restartPolicy"].endswith("Default: OnFailure.")


def test_defaults_of_pytorchjobs_are_described_but_not_stored() -> None:
    (kind,) = (kind for kind in KINDS if kind.names.kind == "PyTorchJob")
    parts = list(schemas(root(kind)))
    assert [path for path, schema in parts if "default" in schema] == []
    defaults = {path: schema["description"] for path, schema in parts if "description" in schema}
    assert defaults[".spec.pytorchReplicaSpecs[].restartPolicy"].endswith("Default: OnFailure.")


def test_lists_of_objects_that_are_handed_on_keep_what_is_in_them() -> None:
    (spec,) = (root(kind)["properties"]["spec"] for kind in KINDS if kind.names.kind == "PyTorchJob")
    metrics = spec["properties"]["elasticPolicy"]["properties"]["metrics"]
    assert metrics["items"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
