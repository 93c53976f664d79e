"""What a cluster without an API server refuses in its place."""

from typing import Any

import pytest

from k8s_bridge.admission import admit
from k8s_bridge.port import Manifest, Ref
from statemachine.errors import Refused
from tests.support.memory_cluster import MemoryCluster
from tests.unit.bridge.words import config_map, job

TEMPLATE = {"spec": {"containers": [{"name": "pytorch", "image": "a", "command": ["b"]}]}}


def training(name: str = "mnist", template: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    replicas = [{"type": "worker", "replicas": 2, "template": TEMPLATE if template is None else template}]
    return job(name) | {"spec": {"replicaSpecs": replicas, **spec}}


def test_a_good_job_is_let_in() -> None:
    admit(training(), None)


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        (training(runPolicy={"backoffLimit": -1}), "backoffLimit"),
        (training("Bad_Name"), "metadata.name must be a DNS-1035 label"),
        (training(elastic={"enabled": True, "minReplicas": 1}), "minReplicas and maxReplicas are required"),
        (
            job("mnist")
            | {"spec": {"replicaSpecs": [{"type": "a", "replicas": 10001, "template": TEMPLATE}]}},
            r"spec.replicaSpecs\[0\].replicas: Invalid value: 10001",
        ),
    ],
)
def test_what_schema_or_cel_forbid_is_refused_with_its_sentence(manifest: Manifest, says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        admit(manifest, None)
    assert (refused.value.status, refused.value.reason) == (422, "Invalid")


def test_what_only_the_controller_forbids_is_let_in() -> None:
    admit(training(template={"spec": {"containers": []}}), None)


def test_an_unknown_job_kind_is_not_served() -> None:
    with pytest.raises(Refused) as refused:
        admit({**training(), "kind": "PyTorchTraininJob"}, None)
    assert refused.value.status == 404


def test_other_objects_are_nobodys_business() -> None:
    admit(config_map(), None)


async def test_a_cluster_refuses_changes_of_immutable_fields_and_takes_the_others() -> None:
    cluster = MemoryCluster(admit=admit)
    await cluster.create(training())
    ref = Ref.of(training())
    with pytest.raises(Refused, match="is immutable"):
        await cluster.patch(ref, {"spec": {"scheduler": {"t9kScheduler": {"queue": "other"}}}})
    patched = await cluster.patch(ref, {"spec": {"runMode": {"pause": {"enabled": True}}}})
    assert patched["metadata"]["generation"] == 2
