"""Kubeflow PyTorchJobs on a real API server: managed where that is switched on, and as the operator does it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Cluster, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import SIMULATED, Jobs, Status

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

LABEL = "training.kubeflow.org/job-name"


def replicas(number: int, policy: str, **life: Any) -> dict[str, Any]:
    annotations = {f"{SIMULATED}{key}": str(value) for key, value in life.items()}
    pod = {"containers": [{"name": "pytorch", "image": "none"}]}
    return {
        "replicas": number,
        "restartPolicy": policy,
        "template": {"metadata": {"annotations": annotations}, "spec": pod},
    }


def pytorchjob(
    name: str,
    *,
    master: bool = True,
    workers: int = 1,
    policy: str = "ExitCode",
    elastic: Any = None,
    **run: Any,
) -> dict[str, Any]:
    """A PyTorchJob with this run policy."""
    specs = {"Worker": replicas(workers, policy)} | ({"Master": replicas(1, policy)} if master else {})
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {
            "pytorchReplicaSpecs": specs,
            "runPolicy": run,
            **({"elasticPolicy": elastic} if elastic else {}),
        },
    }


class TorchJobs(Jobs):
    """The PyTorchJobs of one namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster, namespace, "pytorchjob")

    def states(self, name: str, *wanted: str) -> Status:
        """The job's status as soon as its conditions are these, in order, as `Type=Status`."""

        def holds(status: Status) -> bool:
            return [
                f"{condition['type']}={condition['status']}" for condition in status.get("conditions", ())
            ] == list(wanted)

        return self.until(name, " ".join(wanted), holds)

    def left(self, name: str, kinds: str = "pods,services") -> list[str]:
        """What the job owns, as `Kind/name`."""
        items = self.cluster.get("-n", self.namespace, kinds, "-l", f"{LABEL}={name}")["items"]
        return sorted(f"{manifest['kind']}/{manifest['metadata']['name']}" for manifest in items)

    def becomes(self, name: str, *wanted: str) -> None:
        """The job owns these, and nothing else."""
        wait_for(f"{name} has {wanted}", lambda: self.left(name) == sorted(wanted), 90)


def owned(name: str, *members: str) -> list[str]:
    return [f"{kind}/{name}-{member}" for member in members for kind in ("Pod", "Service")]


@pytest.fixture
def jobs(cluster: Cluster) -> Iterator[TorchJobs]:
    with cluster.namespace("torch") as name:
        yield TorchJobs(cluster, name)


@pytest.fixture
def controller(jobs: TorchJobs, tmp_path: Path) -> Iterator[ControllerProcess]:
    with ControllerProcess(
        jobs.cluster, tmp_path, f"--namespaces={jobs.namespace}", "--pytorchjobs=*"
    ) as started:
        yield started


def succeeded(status: dict[str, Any]) -> dict[str, int | None]:
    """How many replicas of each type the status counts so: shortly after their pods have gone."""
    return {type_: counts.get("succeeded") for type_, counts in status["replicaStatuses"].items()}


@pytest.mark.usefixtures("controller")
def test_a_job_runs_restarts_and_succeeds_as_with_the_operator(jobs: TorchJobs) -> None:
    jobs.apply(pytorchjob("pair", cleanPodPolicy="All"))
    status = jobs.states("pair", "Created=True", "Running=True")
    assert status["replicaStatuses"]["Master"]["active"] == 1
    assert jobs.kubectl("get", "pytorchjob", "pair", "--no-headers").split()[1] == "Running"
    assert len(jobs.cluster.get("-n", jobs.namespace, "pods", "-l", "job-name=pair")["items"]) == 2
    first = jobs.cluster.get("-n", jobs.namespace, "pod", "pair-worker-0")["metadata"]["uid"]
    jobs.end("pair-worker-0", 137)
    jobs.event_message("pair", "PyTorchJobRestarting")

    def again() -> bool:
        status = jobs.status("pair")
        pods = jobs.cluster.get(
            "-n", jobs.namespace, "pods", "--field-selector", "metadata.name=pair-worker-0"
        )
        new = [pod for pod in pods["items"] if pod["metadata"]["uid"] != first]
        return bool(new) and status["replicaStatuses"]["Worker"].get("active") == 1

    wait_for("the worker runs again", again, 90)
    jobs.states("pair", "Created=True", "Running=True")
    jobs.end("pair-master-0", 0)
    status = jobs.states("pair", "Created=True", "Running=False", "Succeeded=True")
    jobs.becomes("pair")
    jobs.until("pair", "both have succeeded", lambda status: succeeded(status) == {"Master": 1, "Worker": 1})
    assert jobs.event_message("pair", "PyTorchJobSucceeded") == "PyTorchJob pair is successfully completed."
    for reason in ("SuccessfulCreatePod", "SuccessfulCreateService", "ExitedWithCode"):
        jobs.event_message("pair", reason)


@pytest.mark.usefixtures("controller")
def test_a_job_is_suspended_resumed_scaled_and_expires(jobs: TorchJobs) -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 3}
    jobs.apply(
        pytorchjob("plain", master=False, elastic=elastic, suspend=True, ttlSecondsAfterFinished=3),
    )
    assert "replicaStatuses" not in jobs.states("plain", "Created=True", "Suspended=True")
    assert jobs.left("plain") == []
    jobs.patch("plain", runPolicy={"suspend": False})
    jobs.states("plain", "Created=True", "Suspended=False", "Running=True")
    jobs.kubectl("scale", "pytorchjob/plain", "--replicas=2")
    jobs.becomes("plain", *owned("plain", "worker-0", "worker-1"))
    jobs.until("plain", "two run", lambda status: status["replicaStatuses"]["Worker"].get("active") == 2)
    jobs.patch("plain", runPolicy={"suspend": True})
    jobs.states("plain", "Created=True", "Running=False", "Suspended=True")
    jobs.becomes("plain")
    jobs.patch("plain", runPolicy={"suspend": False})
    jobs.states("plain", "Created=True", "Suspended=False", "Running=True")
    jobs.end("plain-worker-0", 0)
    jobs.kubectl("wait", "--for=delete", "pytorchjob/plain", "--timeout=90s")
    jobs.becomes("plain")


def test_where_it_is_not_switched_on_a_job_is_not_touched(jobs: TorchJobs, tmp_path: Path) -> None:
    """Not even one that was managed before: its pods stay, and nobody writes of it."""
    limited = f"--namespaces={jobs.namespace}"
    with ControllerProcess(jobs.cluster, tmp_path, limited, "--pytorchjobs=*") as controller:
        jobs.apply(pytorchjob("left"))
        jobs.states("left", "Created=True", "Running=True")
        assert controller.stop() == 0
    pods = jobs.left("left")
    with ControllerProcess(jobs.cluster, tmp_path, limited) as controller:
        wait_for("it works", lambda: controller.is_working, 90)
        jobs.apply(pytorchjob("new"))
        jobs.end("left-worker-0", 137)
        jobs.apply(
            {
                "apiVersion": "batch.tensorstack.dev/v1beta1",
                "kind": "PyTorchTrainingJob",
                "metadata": {"name": "ours"},
                "spec": {
                    "replicaSpecs": [
                        {"type": "worker", "replicas": 1, "template": replicas(1, "Never")["template"]}
                    ]
                },
            }
        )
        wait_for(
            "a job of another kind runs",
            lambda: Jobs(jobs.cluster, jobs.namespace).phase("ours") == "Running",
        )
        assert "status" not in jobs.get("new")
        assert (jobs.left("left"), jobs.left("new")) == (pods, [])
        assert controller.stop() == 0
