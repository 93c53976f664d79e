"""PyTorchJobs on a real API server: manifests are stored as written, and what is made of them is accepted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import Cluster
from tests.integration.crds.pytorchjob import MAY_CHANGE, STATUS
from tests.unit.kinds.kubeflow import API, KIND, children, spec, workers_only

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
GOLDEN = sorted((ROOT / "tests" / "golden" / "pytorchjob").glob("*.yaml"))
EXAMPLES = sorted((ROOT / "examples").glob("kubeflow-*.yaml"))
BUILT_IN = ("Pod", "Service", "HorizontalPodAutoscaler")


class Server:
    """The API server, asked in a namespace of its own."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace

    def path(self, kind: str, place: str = "") -> str:
        """Where the objects of a kind are, or one of them, or a part of it."""
        resource = self.cluster.resources.named(kind)
        assert resource is not None, f"the API server has no {kind}"
        return resource.path(self.namespace, place)

    def stored(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """What the API server would make of a manifest."""
        meta = {key: value for key, value in manifest["metadata"].items() if key != "namespace"}
        path = self.path(manifest["kind"])
        return self.cluster.api.write("POST", path, {**manifest, "metadata": meta}, dry_run=True)

    def made(self, name: str, of: dict[str, Any], status: dict[str, Any]) -> str:
        """A job that is there from now on, and has this status."""
        self.cluster.api.write("POST", self.path(KIND), manifest(of, name))
        self.cluster.api.write("PATCH", self.path(KIND, f"{name}/status"), {"status": status})
        return name


@pytest.fixture(scope="module")
def server(job_crds: Cluster) -> Iterator[Server]:
    with job_crds.namespace("pytorchjobs") as name:
        yield Server(job_crds, name)


def manifest(of: dict[str, Any], name: str) -> dict[str, Any]:
    """A whole job."""
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": name}, "spec": of}


def jobs() -> Iterator[Any]:
    """The jobs of golden files and examples, and one with every field of a run policy."""
    yield pytest.param(manifest(MAY_CHANGE, "job"), id="everything")
    for path in (*GOLDEN, *EXAMPLES):
        manifests = [
            manifest
            for manifest in yaml.safe_load_all(path.read_text("utf-8"))
            if manifest.get("kind") == KIND
        ]
        yield pytest.param(manifests[0], id=path.stem)


@pytest.mark.parametrize("job", [*jobs()])
def test_a_job_is_stored_as_it_was_written(server: Server, job: dict[str, Any]) -> None:
    assert server.stored(job)["spec"] == job["spec"]


def objects() -> Iterator[Any]:
    """What golden files say that is made, as far as every API server knows it."""
    for path in GOLDEN:
        for manifest in yaml.safe_load_all(path.read_text("utf-8")):
            if manifest.get("kind") in BUILT_IN:
                yield pytest.param(
                    manifest, id=f"{path.stem}-{manifest['kind']}-{manifest['metadata']['name']}"
                )


@pytest.mark.parametrize("child", [*objects()])
def test_what_is_made_is_what_an_api_server_takes(server: Server, child: dict[str, Any]) -> None:
    stored = server.stored(child)
    assert stored["metadata"]["ownerReferences"] == child["metadata"]["ownerReferences"]
    assert stored["metadata"]["labels"] == child["metadata"]["labels"]


def test_an_autoscaler_is_stored_as_it_was_made_so_that_nothing_is_written_twice(server: Server) -> None:
    target = {"type": "Utilization", "averageUtilization": 80}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    of = workers_only(2, elasticPolicy={"minReplicas": 1, "maxReplicas": 3, "metrics": metrics})
    (child,) = children(of, "HorizontalPodAutoscaler")
    assert server.stored(child)["spec"] == child["spec"]


def test_the_scale_is_the_number_of_workers_with_the_selector_of_their_pods(server: Server) -> None:
    name = server.made("scaled", spec(), STATUS)
    path = server.path(KIND, f"{name}/scale")
    server.cluster.api.write("PATCH", path, {"spec": {"replicas": 5}})
    scale = server.cluster.api.request("GET", path).body
    assert (scale["spec"]["replicas"], scale["status"]) == (5, {"replicas": 2, "selector": "a=b"})


def test_k1_a_job_is_not_scaled_beyond_what_its_name_leaves_room_for(server: Server) -> None:
    name = server.made("a" * 54, workers_only(10), STATUS)
    path = server.path(KIND, f"{name}/scale")
    answer = server.cluster.api.request("PATCH", path, {"spec": {"replicas": 11}})
    assert (answer.code, "metadata.name is too long" in answer.message) == (422, True)
    assert server.cluster.api.request("PATCH", path, {"spec": {"replicas": 9}}).is_accepted


def test_the_state_that_is_printed_is_the_last_condition(server: Server) -> None:
    conditions = [{"type": type_, "status": "True"} for type_ in ("Created", "Running")]
    name = server.made("printed", spec(), {"conditions": conditions})
    head, line = server.cluster.kubectl("get", "pytorchjob", name, "-n", server.namespace).splitlines()
    assert (head.split(), line.split()[:2]) == (["NAME", "STATE", "AGE"], [name, "Running"])
