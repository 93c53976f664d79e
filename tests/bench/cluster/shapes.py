"""The same job in both kinds: a master and three workers that restart after a retryable exit code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Manifest = dict[str, Any]

NAMESPACE: Final = "bench"
REPLICAS: Final = ("master-0", "worker-0", "worker-1", "worker-2")
PODS_PATH: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of job as the load knows it."""

    api_version: str
    kind: str
    spec: Manifest
    pause: Manifest
    """What a user merges into the job so that its pods go."""
    phase: Callable[[Mapping[str, Any]], str]
    """The phase that a job's status tells of; empty before the first."""
    labels: tuple[str, str]
    """Pod labels that hold the replica type and index."""
    services: int
    """How many a job has."""

    @property
    def children(self) -> int:
        """Pods and Services of a job."""
        return len(REPLICAS) + self.services

    @property
    def resource(self) -> str:
        """The plural, as in paths."""
        return f"{self.kind.lower()}s"

    @property
    def path(self) -> str:
        """Of all jobs of the load."""
        return f"/apis/{self.api_version}/namespaces/{NAMESPACE}/{self.resource}"

    def manifest(self, name: str) -> Manifest:
        """The job as its user writes it."""
        meta = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": meta, "spec": self.spec}

    def replica(self, pod: Manifest) -> str:
        """Which of REPLICAS the pod is."""
        labels = pod["metadata"]["labels"]
        type_, index = (labels[label] for label in self.labels)
        return f"{type_}-{index}"


def _template() -> Manifest:
    container = {"name": "pytorch", "image": "train", "command": ["python", "train.py"]}
    return {"spec": {"containers": [container]}}


def _item(replicas: int) -> Manifest:
    return {"replicas": replicas, "restartPolicy": "ExitCode", "template": _template()}


def _t9k_phase(status: Mapping[str, Any]) -> str:
    return str(status.get("phase", ""))


def _kubeflow_phase(status: Mapping[str, Any]) -> str:
    """The condition that was set last and holds: the operator keeps them in that order."""
    holding = [
        condition["type"] for condition in status.get("conditions") or () if condition["status"] == "True"
    ]
    return str(holding[-1]) if holding else ""


PYTORCH_TRAINING_JOB: Final = Shape(
    api_version="batch.tensorstack.dev/v1beta1",
    kind="PyTorchTrainingJob",
    spec={
        "replicaSpecs": [{"type": "master", **_item(1)}, {"type": "worker", **_item(3)}],
        "runPolicy": {"cleanUpPolicy": "None"},
    },
    pause={"spec": {"runMode": {"pause": {"enabled": True}}}},
    phase=_t9k_phase,
    labels=("replica-type", "replica-index"),
    services=1,
)

PYTORCH_JOB: Final = Shape(
    api_version="kubeflow.org/v1",
    kind="PyTorchJob",
    spec={
        "pytorchReplicaSpecs": {"Master": _item(1), "Worker": _item(3)},
        "runPolicy": {"cleanPodPolicy": "None"},
    },
    pause={"spec": {"runPolicy": {"suspend": True}}},
    phase=_kubeflow_phase,
    labels=("training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"),
    services=len(REPLICAS),
)
