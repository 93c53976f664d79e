"""Pods find each other by their bare names, as CoreDNS over a real control plane tells them (spec R4)."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import Cluster, ClusterDns, ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, Manifest, job, replica_type

pytestmark = pytest.mark.integration

API = "batch.tensorstack.dev/v1beta1"


def controller(cluster: Cluster, namespace: str, folder: Path) -> ControllerProcess:
    """One for a namespace alone, PyTorchJobs included."""
    folder.mkdir()
    return ControllerProcess(cluster, folder, f"--namespaces={namespace}", "--pytorchjobs=*")


def _deepspeed(name: str) -> Manifest:
    pods = {"containers": [{"name": "worker", "image": "none"}]}
    spec = {"config": {"run": {"python": "train.py"}}, "worker": {"replicas": 2, "template": {"spec": pods}}}
    return {"apiVersion": API, "kind": "DeepSpeedJob", "metadata": {"name": name}, "spec": spec}


def _colossal(name: str) -> Manifest:
    pods = {"containers": [{"name": "worker", "image": "none"}]}
    worker = {"replicas": 2, "command": ["train.py"], "template": {"spec": pods}}
    spec = {"launcher": {"image": "none"}, "worker": worker}
    return {"apiVersion": API, "kind": "ColossalAIJob", "metadata": {"name": name}, "spec": spec}


def _torch(name: str) -> Manifest:
    return job(name, replica_type("ps", 1), replica_type("worker", 2))


def _kubeflow(name: str) -> Manifest:
    types = {
        type_: {
            "replicas": number,
            "template": {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}},
        }
        for type_, number in (("Master", 1), ("Worker", 2))
    }
    spec = {"pytorchReplicaSpecs": types}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}


Make = Callable[[str], Manifest]

KINDS = {
    "pytorchtrainingjobs": (_torch, 3, 1),
    "deepspeedjobs": (_deepspeed, 2, 1),
    "colossalaijobs": (_colossal, 3, 1),
    "pytorchjobs": (_kubeflow, 3, 3),
}
"""A job of each kind, how many pods it has, and how many Services."""


class Scene:
    """A job's pods and Services, and what CoreDNS says of them."""

    def __init__(self, jobs: Jobs, dns: ClusterDns) -> None:
        self.jobs, self.dns = jobs, dns

    def all(self, what: str) -> dict[str, Manifest]:
        """All there are in the namespace, by name."""
        items = self.jobs.cluster.get("-n", self.jobs.namespace, what)["items"]
        return {item["metadata"]["name"]: item for item in items}

    def running(self, number: int) -> dict[str, Manifest]:
        """The pods once so many of them run."""

        def look() -> dict[str, Manifest] | None:
            pods = {
                name: pod
                for name, pod in self.all("pods").items()
                if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
            }
            return pods if len(pods) == number else None

        return wait_for(f"{number} pods run", look)

    def leads(self, asking: Manifest, asked: Manifest) -> None:
        """Once the cluster's DNS has heard of it, a process in one pod gets the address of the other for its name."""
        name, address = asked["metadata"]["name"], asked["status"]["podIP"]
        what = f"{asking['metadata']['name']} finds {name} at {address}"
        wait_for(what, lambda: self.dns.resolved(asking, name) == [address], 60)

    def leads_to_all(self, service: str, addresses: set[str]) -> None:
        """The name of the Service itself has these addresses, and no others."""
        name = f"{service}.{self.jobs.namespace}.svc.{self.dns.domain}"
        wait_for(f"{name} has {addresses}", lambda: set(self.dns.addresses(name)) == addresses, 60)


@pytest.fixture
def scene(
    request: pytest.FixtureRequest,
    simulated: ControlPlane,
    cluster_dns: ClusterDns,
    namespace: str,
    tmp_path: Path,
) -> Iterator[Scene]:
    kind = getattr(request, "param", "pytorchtrainingjobs")
    with controller(simulated, namespace, tmp_path / "controller"):
        yield Scene(Jobs(simulated, namespace, kind), cluster_dns)


@pytest.mark.parametrize("scene", KINDS, indirect=True)
def test_every_pod_finds_every_other_by_its_bare_name(scene: Scene) -> None:
    make, number, services = KINDS[scene.jobs.kind]
    scene.jobs.apply(make("train"))
    pods = scene.running(number)
    assert len({pod["status"]["podIP"] for pod in pods.values()}) == number
    assert len(scene.all("services")) == services
    for asking in pods.values():
        for asked in pods.values():
            scene.leads(asking, asked)


@pytest.mark.parametrize("scene", ["pytorchtrainingjobs", "pytorchjobs"], indirect=True)
def test_the_master_s_address_is_a_name_that_leads_to_it(scene: Scene) -> None:
    make, number, _ = KINDS[scene.jobs.kind]
    scene.jobs.apply(make("train"))
    pods = scene.running(number)
    master = next(pod for pod in pods.values() if pod["metadata"]["labels"].get("job-role") == "master")
    for pod in pods.values():
        env = {entry["name"]: entry.get("value") for entry in pod["spec"]["containers"][0]["env"]}
        if pod is not master:
            assert env["MASTER_ADDR"] == master["metadata"]["name"]
        scene.leads(pod, master)


@pytest.mark.parametrize("scene", ["deepspeedjobs", "colossalaijobs"], indirect=True)
def test_the_hosts_of_a_hostfile_are_names_that_lead_to_workers(scene: Scene) -> None:
    make, number, _ = KINDS[scene.jobs.kind]
    scene.jobs.apply(make("train"))
    pods = scene.running(number)
    lines = scene.all("configmaps")["train-hostfile"]["data"]["hostfile"].splitlines()
    hosts = [line.split()[0] for line in lines]
    assert len(hosts) == 2
    for host in hosts:
        for asking in pods.values():
            scene.leads(asking, pods[host])


def test_the_name_of_a_pod_resolves_before_it_is_ready(scene: Scene) -> None:
    scene.jobs.apply(_torch("train"))
    pods = scene.running(3)
    (name,) = (pod for pod in pods if pod.endswith("-ps-0"))
    said = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    scene.jobs.node_says(name, {"conditions": [said]})

    def is_known() -> bool:
        slices = scene.all("endpointslices").values()
        listed = [end for part in slices for end in part["endpoints"] or () if end.get("hostname") == name]
        return [end["conditions"]["serving"] for end in listed] == [False]

    wait_for("the Service knows that it is not ready", is_known)
    for asking in pods.values():
        scene.leads(asking, pods[name])


def test_the_name_of_a_pod_that_is_made_again_resolves_to_its_new_address(scene: Scene) -> None:
    scene.jobs.apply(_torch("train"))
    before = scene.running(3)
    (name,) = (pod for pod in before if pod.endswith("-worker-1"))
    scene.jobs.end(name, 1)

    def anew() -> dict[str, Manifest] | None:
        pods = scene.running(3)
        return pods if pods[name]["metadata"]["uid"] != before[name]["metadata"]["uid"] else None

    after = wait_for("it runs again", anew)
    for asking in after.values():
        scene.leads(asking, after[name])


def test_jobs_of_one_name_and_two_kinds_do_not_answer_for_each_other(scene: Scene) -> None:
    scene.jobs.apply(_torch("train"), _deepspeed("train"))
    pods = scene.running(5)
    for service in scene.all("services"):
        addresses = {pod["status"]["podIP"] for pod in pods.values() if pod["spec"]["subdomain"] == service}
        scene.leads_to_all(service, addresses)


def test_pods_of_a_job_whose_ledger_was_lost_find_each_other_as_before(
    simulated: ControlPlane, cluster_dns: ClusterDns, namespace: str, tmp_path: Path
) -> None:
    """Whatever Services they were made with: from then on each has one of its own."""
    scene = Scene(Jobs(simulated, namespace), cluster_dns)
    with controller(simulated, namespace, tmp_path / "first"):
        scene.jobs.apply(_torch("train"))
        before = scene.running(3)
        scene.jobs.wait("train", "phase", "Running")
        assert list(scene.all("services")) == [scene.jobs.base("train")]
    with controller(simulated, namespace, tmp_path / "second"):
        wait_for("each has its own Service", lambda: list(scene.all("services")) == list(before))
        pods = scene.running(3)
        assert [pod["metadata"]["uid"] for pod in pods.values()] == [
            pod["metadata"]["uid"] for pod in before.values()
        ]
        for asking in pods.values():
            for asked in pods.values():
                scene.leads(asking, asked)
