"""What a new manifest begins with, for every kind, and what is taken out of one to make another from it."""

import pytest

from jobledger.console import drafts
from jobledger.console.forms.read import starter
from statemachine.kinds import KINDS
from statemachine.kinds.common.kind import ModelKind

WITH_MODEL = [each for each in KINDS if isinstance(each, ModelKind)]


@pytest.mark.parametrize("kind", WITH_MODEL, ids=lambda each: each.names.kind)
def test_a_manifest_to_write_on_has_a_container_for_each_type_of_replicas(kind: ModelKind[object]) -> None:  # type: ignore[type-var]
    manifest = drafts.spelled_out(starter(kind), kind)
    containers = [each for slot in kind.layout.slots(manifest["spec"]) for _, each in slot.containers]
    assert containers
    assert all(each["name"] in kind.layout.training_names for each in containers)
    assert manifest["metadata"] == {"name": ""}


def test_a_copy_leaves_behind_what_belongs_to_one_object_alone() -> None:
    job = {
        "apiVersion": "a/v1",
        "kind": "B",
        "metadata": {
            "name": "x",
            "namespace": "n",
            "uid": "1",
            "labels": {"a": "b"},
            "annotations": {"c": "d"},
        },
        "spec": {"s": 1},
        "status": {"phase": "Running"},
    }
    assert drafts.copied(job, "x-copy") == {
        "apiVersion": "a/v1",
        "kind": "B",
        "metadata": {"name": "x-copy", "namespace": "n", "labels": {"a": "b"}},
        "spec": {"s": 1},
    }
