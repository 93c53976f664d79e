"""How pods of a job are named follows from its uid and name, which their owner reference has: for every kind."""

from typing import Any

import pytest
import yaml

from k8s_bridge.observe import pod_name_of
from statemachine.ids import ReplicaName
from statemachine.kinds import KINDS, replica_of
from tests.golden.test_children import CASES

PODS: dict[str, dict[str, Any]] = {
    f"{path.parent.name}/{path.stem}/{document['metadata']['name']}": document
    for path in CASES
    for document in yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    if document.get("kind") == "Pod"
}


def test_every_kind_has_a_pod_here() -> None:
    owners = {pod["metadata"]["ownerReferences"][0]["kind"] for pod in PODS.values()}
    assert owners >= {kind.names.kind for kind in KINDS}


@pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
def test_the_owner_reference_says_the_name_of_the_replica_s_pod(pod: dict[str, Any]) -> None:
    meta = pod["metadata"]
    replica = replica_of(meta["labels"])
    assert replica
    assert pod_name_of(pod, replica) == meta["name"]
    assert pod_name_of(pod, ReplicaName("another-7")) != meta["name"]


@pytest.mark.parametrize(
    "owner",
    [
        None,
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "mnist", "uid": "u-1", "controller": True},
        {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "NoSuchJob",
            "name": "mnist",
            "uid": "u-1",
            "controller": True,
        },
        {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "PyTorchTrainingJob",
            "name": "mnist",
            "uid": "u-1",
        },
    ],
)
def test_a_pod_of_nobody_that_is_known_has_no_name_to_compare(owner: dict[str, Any] | None) -> None:
    meta = {"name": "mnist-worker-0", "ownerReferences": [owner] if owner else []}
    assert pod_name_of({"metadata": meta}, ReplicaName("worker-0")) == ""
