"""All families of kinds on one controller: what happens to the watch of one says nothing of another's objects.

Their pods and Services are collections of the same kind that differ in a label selector alone.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from statemachine.events import ReplicaLost
from tests.harness import JOB_CRDS, NEIGHBOUR_CRDS, OPT_IN_CRDS, Cluster, ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Manifest, job, replica_type
from tests.support.cluster_log import Ledger

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

T9K: Final = "batch.tensorstack.dev/v1beta1"
JOBS: Final = 4
"""Jobs of each kind."""
PODS: Final = JOBS * (2 + 2 + 3 + 2)


def pods_of(container: str) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": container, "image": "none"}]}}}


def jobs_of_all_families(number: int) -> list[Manifest]:
    """A job of each kind, with nine pods together."""
    worker = {"replicas": 2, **pods_of("worker")}
    specs: dict[tuple[str, str], Any] = {
        (T9K, "DeepSpeedJob"): {"config": {"run": {"python": "train.py"}}, "worker": worker},
        (T9K, "ColossalAIJob"): {
            "launcher": {"image": "none"},
            "worker": {**worker, "procPerWorker": 1, "command": ["train.py"]},
        },
        ("kubeflow.org/v1", "PyTorchJob"): {
            "pytorchReplicaSpecs": {
                type_: {"replicas": 1, **pods_of("pytorch")} for type_ in ("Master", "Worker")
            }
        },
    }
    others = [
        {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": f"{kind.lower()[:3]}-{number}"},
            "spec": spec,
        }
        for (api_version, kind), spec in specs.items()
    ]
    return [job(f"torch-{number}", replica_type("worker", 2)), *others]


class Families:
    """Jobs of all families in one namespace, under one controller."""

    def __init__(self, cluster: Cluster, namespace: str, folder: Path) -> None:
        self.cluster, self.namespace = cluster, namespace
        self.controller = ControllerProcess(cluster, folder, f"--namespaces={namespace}", "--pytorchjobs=*")

    def run(self) -> None:
        """The jobs are there, and all of their pods run."""
        manifests = [family for number in range(JOBS) for family in jobs_of_all_families(number)]
        self.cluster.kubectl("-n", self.namespace, "apply", "-f", "-", input=manifests)
        wait_for("all pods run", lambda: self.running() == PODS, 120)

    def running(self) -> int:
        pods = self.cluster.get("-n", self.namespace, "pods")["items"]
        return sum(pod["status"].get("phase") == "Running" for pod in pods)

    def uids(self) -> dict[str, str]:
        """The uid of every child by kind and name."""
        objects = self.cluster.get("-n", self.namespace, "pods,services")["items"]
        return {
            f"{manifest['kind']}/{manifest['metadata']['name']}": manifest["metadata"]["uid"]
            for manifest in objects
        }

    def lists(self) -> dict[str, float]:
        """How often each kind was listed since the controller was started; empty while it does not answer."""
        address = re.findall(r"address +(http://\S+)", self.controller.latest)
        try:
            text = httpx.get(f"{address[-1]}/metrics", timeout=10, trust_env=False).text
        except (IndexError, httpx.TransportError):
            return {}
        counts = re.findall(r'^jobledger_watch_lists_total\{resource="(\w+)"\} (\S+)$', text, re.MULTILINE)
        return {kind: float(count) for kind, count in counts}

    def passes_a_job_of_each_family(self) -> None:
        """The controller has come to work again: pods of new jobs run."""
        self.cluster.kubectl("-n", self.namespace, "apply", "-f", "-", input=jobs_of_all_families(JOBS))
        wait_for("the new pods run", lambda: self.running() == PODS + PODS // JOBS, 120)

    def lost(self) -> list[str]:
        """The replicas of which the log says that their pod was lost."""
        stories = Ledger(self.controller.store).stories().values()
        events = [event for story in stories for _, event in story.events()]
        return [event.replica for event in events if isinstance(event, ReplicaLost)]


def test_a_controller_that_is_started_again_takes_no_familys_pods_for_gone(
    simulated: ControlPlane, neighbour_crds: Cluster, namespace: str, tmp_path: Path
) -> None:
    families = Families(simulated, namespace, tmp_path)
    with families.controller:
        families.run()
        before = families.uids()
        for _ in range(2):
            families.controller.kill()
            families.controller.start()
        families.passes_a_job_of_each_family()
        assert before.items() <= families.uids().items()
        assert families.lost() == []


@pytest.fixture
def own(killable_plane: ControlPlane) -> ControlPlane:
    for folder in (JOB_CRDS, OPT_IN_CRDS, NEIGHBOUR_CRDS):
        killable_plane.install(folder)
    return killable_plane


@pytest.fixture
def home(own: ControlPlane) -> Iterator[str]:
    with own.namespace("families") as name:
        yield name


def test_watches_that_have_to_list_again_take_no_familys_pods_for_gone(
    own: ControlPlane, home: str, tmp_path: Path
) -> None:
    """An API server that was started again does not know what was before, and meanwhile other things went on."""
    families = Families(own, home, tmp_path)
    with families.controller:
        families.run()
        before, listed = families.uids(), families.lists()
        families.controller.freeze()
        own.restart("kube-apiserver")
        own.kubectl("-n", home, "create", "configmap", "something-else")
        own.restart("kube-apiserver")
        families.controller.resume()
        wait_for("pods are listed again", lambda: families.lists().get("Pod", 0) > listed["Pod"], 60)
        families.passes_a_job_of_each_family()
        assert before.items() <= families.uids().items()
        assert families.lost() == []
