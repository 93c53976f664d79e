"""PyTorchJobs on a real API server: manifests are stored as written, and what is made of them is accepted."""

import json
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


class Api:
    """kubectl in a namespace of its own."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace

    def __call__(self, *arguments: str, given: Any = None) -> Any:
        """What kubectl prints, as JSON if it is that."""
        answer = self.cluster.answer(*arguments, "-n", self.namespace, input=given)
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout) if "json" in arguments else answer.stdout

    def stored(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """What the API server would make of a manifest."""
        meta = {key: value for key, value in manifest["metadata"].items() if key != "namespace"}
        given = {**manifest, "metadata": meta}
        found: dict[str, Any] = self("create", "--dry-run=server", "-o", "json", "-f", "-", given=given)
        return found

    def made(self, name: str, of: dict[str, Any]) -> str:
        """A job that is there from now on."""
        self("create", "-f", "-", given=manifest(of, name))
        return name


@pytest.fixture(scope="module")
def api(job_crds: Cluster) -> Iterator[Api]:
    with job_crds.namespace("pytorchjobs") as name:
        yield Api(job_crds, name)


def manifest(of: dict[str, Any], name: str) -> dict[str, Any]:
    """A whole job."""
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": name}, "spec": of}


def jobs() -> Iterator[Any]:
    """The jobs of golden files and examples, and one with every field of a run policy."""
    yield pytest.param(manifest(MAY_CHANGE, "job"), id="everything")
    for path in (*GOLDEN, *EXAMPLES):
        found = [each for each in yaml.safe_load_all(path.read_text("utf-8")) if each.get("kind") == KIND]
        yield pytest.param(found[0], id=path.stem)


@pytest.mark.parametrize("job", [*jobs()])
def test_a_job_is_stored_as_it_was_written(api: Api, job: dict[str, Any]) -> None:
    assert api.stored(job)["spec"] == job["spec"]


def objects() -> Iterator[Any]:
    """What golden files say that is made, as far as every API server knows it."""
    for path in GOLDEN:
        for each in yaml.safe_load_all(path.read_text("utf-8")):
            if each.get("kind") in BUILT_IN:
                yield pytest.param(each, id=f"{path.stem}-{each['kind']}-{each['metadata']['name']}")


@pytest.mark.parametrize("child", [*objects()])
def test_what_is_made_is_what_an_api_server_takes(api: Api, child: dict[str, Any]) -> None:
    found = api.stored(child)
    assert found["metadata"]["ownerReferences"] == child["metadata"]["ownerReferences"]
    assert found["metadata"]["labels"] == child["metadata"]["labels"]


def test_an_autoscaler_is_stored_as_it_was_made_so_that_nothing_is_written_twice(api: Api) -> None:
    target = {"type": "Utilization", "averageUtilization": 80}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    of = workers_only(2, elasticPolicy={"minReplicas": 1, "maxReplicas": 3, "metrics": metrics})
    (child,) = children(of, "HorizontalPodAutoscaler")
    assert api.stored(child)["spec"] == child["spec"]


def test_the_scale_is_the_number_of_workers_and_says_how_their_pods_are_found(api: Api) -> None:
    name = api.made("scaled", spec())
    status = json.dumps({"status": STATUS})
    api("patch", "pytorchjob", name, "--subresource=status", "--type=merge", "-p", status)
    api("scale", "pytorchjob", name, "--replicas=5")
    found = api("get", "pytorchjob", name, "--subresource=scale", "-o", "json")
    assert (found["spec"]["replicas"], found["status"]) == (5, {"replicas": 2, "selector": "a=b"})


def test_the_state_that_is_printed_is_the_last_condition(api: Api) -> None:
    name = api.made("printed", spec())
    conditions = [{"type": each, "status": "True"} for each in ("Created", "Running")]
    status = json.dumps({"status": {"conditions": conditions}})
    api("patch", "pytorchjob", name, "--subresource=status", "--type=merge", "-p", status)
    head, line = api("get", "pytorchjob", name).splitlines()
    assert (head.split(), line.split()[:2]) == (["NAME", "STATE", "AGE"], [name, "Running"])
