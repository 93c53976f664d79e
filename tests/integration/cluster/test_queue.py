"""Jobs in a queue on a real API server: their Workload is read where that is switched on, and nowhere else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Cluster, program, wait_for
from tests.integration.cluster.test_pytorchjob import TorchJobs, pytorchjob
from tests.support.cluster_controller import ControllerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.usefixtures("neighbour_crds")]

UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
PREEMPTED = (
    f"Preempted to accommodate a workload (UID: x, JobUID: {UID}) due to prioritization in the ClusterQueue"
)
WORKLOAD = "workloads.kueue.x-k8s.io"


class Queued(TorchJobs):
    """Suspended jobs in queue `team`, each with a Workload."""

    def submit(self, name: str) -> None:
        """The job is suspended, and its Workload is there."""
        job = pytorchjob(name, suspend=True)
        job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
        self.apply(job)
        uid = self.get(name)["metadata"]["uid"]
        owner = {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "name": name,
            "uid": uid,
            "controller": True,
        }
        meta = {"name": name, "labels": {"kueue.x-k8s.io/job-uid": uid}, "ownerReferences": [owner]}
        workload = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": meta}
        self.apply({**workload, "spec": {"queueName": "team"}})

    def says(self, name: str, *conditions: tuple[str, str, str, str]) -> None:
        """The conditions of the Workload are these: type, status, reason, message."""
        written = [
            dict(zip(("type", "status", "reason", "message"), condition, strict=True))
            | {"lastTransitionTime": "2026-01-02T03:04:05Z"}
            for condition in conditions
        ]
        patch = json.dumps({"status": {"conditions": written}})
        self.kubectl("patch", WORKLOAD, name, "--subresource=status", "--type=merge", "-p", patch)


def why(controller: ControllerProcess, namespace: str, name: str) -> dict[str, Any]:
    done = program.run("why", name, "-n", namespace, "-o", "json", "--store", str(controller.store))
    answer: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
    return answer


def waits(controller: ControllerProcess, namespace: str, name: str) -> str:
    return " ".join(wait["says"] for wait in why(controller, namespace, name).get("waitsFor", ()))


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[Queued]:
    with cluster.namespace("queue") as name:
        yield Queued(cluster, name)


def test_a_job_says_what_its_workload_waits_for_and_that_it_was_preempted(
    jobs: Queued, tmp_path: Path
) -> None:
    options = (f"--namespaces={jobs.namespace}", "--pytorchjobs=*")
    with ControllerProcess(jobs.cluster, tmp_path, *options, JOBLEDGER_KUEUE__ENABLED="true") as controller:
        jobs.submit("train")
        jobs.says("train", ("QuotaReserved", "False", "WaitingForQuota", "2 more needed"))
        wanted = "Kueue to admit the job to queue team (WaitingForQuota)."
        wait_for("it waits", lambda: waits(controller, jobs.namespace, "train") == wanted, 90)
        evicted = ("Evicted", "True", "Preempted", PREEMPTED)
        jobs.says("train", ("QuotaReserved", "False", "Pending", PREEMPTED), evicted)
        wait_for("it was preempted", lambda: UID in why(controller, jobs.namespace, "train")["answer"], 90)
        assert not why(controller, jobs.namespace, "train")["normal"]
        jobs.kubectl("delete", WORKLOAD, "train")
        gone = "Its Workload is not known here"
        wait_for("it is gone", lambda: gone in waits(controller, jobs.namespace, "train"), 90)
        assert controller.stop() == 0


def test_workloads_that_are_not_switched_on_are_not_read(jobs: Queued, tmp_path: Path) -> None:
    with ControllerProcess(
        jobs.cluster, tmp_path, f"--namespaces={jobs.namespace}", "--pytorchjobs=*"
    ) as controller:
        jobs.submit("train")
        jobs.says("train", ("QuotaReserved", "False", "WaitingForQuota", "2 more needed"))
        gone = "Its Workload is not known here"
        wait_for("it waits", lambda: gone in waits(controller, jobs.namespace, "train"), 90)
        assert "WaitingForQuota" not in controller.store.read_bytes().decode("latin-1")
