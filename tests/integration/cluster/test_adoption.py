"""What was there before this ledger: jobs of the training operator, a ledger that is lost, pods without an owner."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness import Cluster, ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import SIMULATED, Jobs, Manifest, job, replica_type

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

AT: Final = "2026-01-31T06:10:00Z"
PODS: Final = {"master-0": ("master", "0"), "worker-0": ("worker", "0"), "worker-1": ("worker", "1")}


@pytest.fixture
def controller(
    simulated: ControlPlane, neighbour_crds: Cluster, namespace: str, tmp_path: Path
) -> Iterator[ControllerProcess]:
    with ControllerProcess(simulated, tmp_path, f"--namespaces={namespace}", "--pytorchjobs=*") as process:
        process.kill()
        yield process


class OfTheOperator:
    """PyTorchJobs as Kubeflow's training operator leaves them: its labels, no annotation and no finalizer of ours."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster, self.namespace = cluster, namespace

    def kubectl(self, *arguments: str, **more: Any) -> str:
        return self.cluster.kubectl("-n", self.namespace, *arguments, **more)

    def job(self, name: str) -> Manifest:
        manifest: Manifest = self.cluster.get("-n", self.namespace, f"pytorchjob/{name}")
        return manifest

    def make(self, name: str, *types: str, **run_policy: str) -> None:
        """The job, with a status, and a pod for each replica if it runs."""
        template = {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}
        specs = {"Master": {"replicas": 1}, "Worker": {"replicas": 2}}
        spec = {
            "runPolicy": run_policy,
            "pytorchReplicaSpecs": {
                type_: {**of_type, "restartPolicy": "OnFailure", "template": template}
                for type_, of_type in specs.items()
            },
        }
        manifest = {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": name},
            "spec": spec,
        }
        self.kubectl("apply", "-f", "-", input=[manifest])
        self.kubectl(
            "patch",
            f"pytorchjob/{name}",
            "--subresource=status",
            "--type=merge",
            "-p",
            json.dumps(_status(name, *types)),
        )
        if types[-1] == "Running":
            self.kubectl("apply", "-f", "-", input=[self._pod(name, pod) for pod in PODS])

    def _pod(self, name: str, replica: str) -> Manifest:
        type_, index = PODS[replica]
        owner = {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "name": name,
            "uid": self.job(name)["metadata"]["uid"],
        }
        key = "training.kubeflow.org/"
        labels = {
            f"{key}operator-name": "pytorchjob-controller",
            f"{key}job-name": name,
            f"{key}replica-type": type_,
            f"{key}replica-index": index,
        }
        meta = {
            "name": f"{name}-{replica}",
            "labels": labels,
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        }
        containers = [{"name": "pytorch", "image": "none"}]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": {"restartPolicy": "Never", "containers": containers},
        }

    def uids(self) -> dict[str, str]:
        pods = self.cluster.get("-n", self.namespace, "pods")["items"]
        return {manifest["metadata"]["name"]: manifest["metadata"]["uid"] for manifest in pods}

    def running(self) -> int:
        pods = self.cluster.get("-n", self.namespace, "pods")["items"]
        return sum(pod["status"].get("phase") == "Running" for pod in pods)

    def conditions(self, name: str) -> list[str]:
        return [
            condition["type"]
            for condition in self.job(name)["status"]["conditions"]
            if condition["status"] == "True"
        ]


def _status(name: str, *types: str) -> Manifest:
    conditions = [
        {
            "type": type_,
            "status": "False" if type_ == "Running" and types[-1] != "Running" else "True",
            "reason": f"PyTorchJob{type_}",
            "message": f"PyTorchJob {name} is {type_}.",
            "lastUpdateTime": AT,
            "lastTransitionTime": AT,
        }
        for type_ in types
    ]
    ended = {} if types[-1] == "Running" else {"completionTime": AT}
    return {"status": {"conditions": conditions, "startTime": AT, **ended}}


def test_jobs_of_the_training_operator_go_on_with_their_pods_and_ended_ones_stay_ended(
    simulated: ControlPlane, namespace: str, controller: ControllerProcess
) -> None:
    there = OfTheOperator(simulated, namespace)
    there.make("runs", "Created", "Running")
    there.make("done", "Created", "Running", "Succeeded", cleanPodPolicy="All")
    before = there.uids()
    wait_for("the pods run", lambda: there.running() == len(PODS), 60)
    controller.start()
    wait_for("it is adopted", lambda: "active" in str(there.job("runs")["status"].get("replicaStatuses")), 60)
    there.kubectl("annotate", "pod", "runs-worker-1", f"{SIMULATED}run-seconds=0")
    wait_for(
        "a worker that has ended is counted",
        lambda: there.job("runs")["status"]["replicaStatuses"]["Worker"].get("succeeded") == 1,
        60,
    )
    assert there.uids() == before
    assert (
        there.job("done")["status"]["conditions"]
        == _status("done", "Created", "Running", "Succeeded")["status"]["conditions"]
    )
    there.kubectl("annotate", "pod", "runs-master-0", f"{SIMULATED}run-seconds=0")
    wait_for("the job ends as its Master does", lambda: "Succeeded" in there.conditions("runs"), 60)
    assert there.job("runs")["status"]["startTime"] == AT


def test_a_ledger_that_is_lost_costs_no_pod_and_holds_up_no_namespace(
    simulated: ControlPlane, namespace: str, controller: ControllerProcess
) -> None:
    jobs = Jobs(simulated, namespace)
    controller.start()
    jobs.apply(
        job("runs", replica_type("worker", 2, restartPolicy="OnFailure")),
        job("done", runPolicy={"cleanUpPolicy": "All"}),
    )
    for name in ("runs", "done"):
        wait_for(f"{name} runs", lambda name=name: jobs.status(name).get("phase") == "Running", 60)  # type: ignore[misc]
    pods = jobs.children("runs")
    name = pods["worker-1"]["metadata"]["name"]
    jobs.kubectl("annotate", "pod", name, f"{SIMULATED}run-seconds=0", f"{SIMULATED}exit-code=137")
    wait_for("a restart", lambda: jobs.status("runs").get("backoffCount") == 1, 60)
    wait_for("both run", lambda: jobs.status("runs")["aggregate"]["running"] == 2, 60)
    done = jobs.children("done")["worker-0"]["metadata"]["name"]
    jobs.kubectl("annotate", "pod", done, f"{SIMULATED}run-seconds=0")
    wait_for("done is cleaned up", lambda: not jobs.children("done"), 60)
    before = {replica: pod["metadata"]["uid"] for replica, pod in jobs.children("runs").items()}
    ended = jobs.status("done")["conditions"]

    controller.kill()
    for path in controller.store.parent.glob(f"{controller.store.name}*"):
        path.unlink()
    controller.start()
    jobs.apply(job("after"))
    wait_for("new jobs run", lambda: jobs.status("after").get("phase") == "Running", 60)
    assert {replica: pod["metadata"]["uid"] for replica, pod in jobs.children("runs").items()} == before
    assert (jobs.status("runs")["phase"], jobs.status("runs")["backoffCount"]) == ("Running", 1)
    assert not jobs.children("done")
    assert jobs.status("done")["conditions"] == ended
    jobs.kubectl("delete", "pj", "--all", "--wait=false")
    wait_for("no pod is left", lambda: not simulated.get("-n", namespace, "pods")["items"], 60)


def test_a_pod_without_owner_is_taken_back_and_one_of_an_orphaning_deletion_is_not(
    simulated: ControlPlane, namespace: str, controller: ControllerProcess
) -> None:
    jobs = Jobs(simulated, namespace)
    controller.start()
    jobs.apply(job("train"))
    wait_for("it runs", lambda: jobs.status("train").get("phase") == "Running", 60)
    pod = jobs.children("train")["worker-0"]["metadata"]
    jobs.kubectl("patch", "pod", pod["name"], "--type=merge", "-p", '{"metadata":{"ownerReferences":null}}')

    def pod_meta() -> Manifest:
        meta: Manifest = simulated.get("-n", namespace, f"pod/{pod['name']}")["metadata"]
        return meta

    wait_for(
        "it has its owner again", lambda: pod_meta().get("ownerReferences") == pod["ownerReferences"], 60
    )
    assert pod_meta()["uid"] == pod["uid"]
    jobs.kubectl("delete", "pj", "train", "--cascade=orphan")
    wait_for("it is released", lambda: not pod_meta().get("finalizers"), 60)
    left = pod_meta()
    assert (left["uid"], left.get("ownerReferences")) == (pod["uid"], None)
    assert "deletionTimestamp" not in left


def test_a_job_that_a_finalizer_holds_keeps_its_pod_and_a_foreground_deletion_takes_it(
    simulated: ControlPlane, namespace: str, controller: ControllerProcess
) -> None:
    jobs = Jobs(simulated, namespace)
    controller.start()
    held = job("held")
    held["metadata"]["finalizers"] = ["example.com/wait"]
    jobs.apply(held, job("foreground"))
    for name in ("held", "foreground"):
        wait_for(f"{name} runs", lambda name=name: jobs.status(name).get("phase") == "Running", 60)  # type: ignore[misc]
    uid = jobs.children("held")["worker-0"]["metadata"]["uid"]
    jobs.kubectl("delete", "pj", "held", "--wait=false")
    jobs.kubectl("delete", "pj", "foreground", "--cascade=foreground", "--timeout=60s")
    jobs.apply(job("after"))
    wait_for("new jobs run", lambda: jobs.status("after").get("phase") == "Running", 60)
    pod = jobs.children("held")["worker-0"]["metadata"]
    assert (pod["uid"], "deletionTimestamp" in pod) == (uid, False)
    jobs.kubectl("patch", "pj", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    wait_for("the pod went with its job", lambda: not jobs.children("held"), 60)
