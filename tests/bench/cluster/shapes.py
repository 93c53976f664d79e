"""The same job in both kinds: a master and workers, three by default, that restart after a retryable exit code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

Manifest = dict[str, Any]

NAMESPACE: Final = "bench"
WORKERS: Final = 3
"""Of a job, if nothing else is said."""
_RESTARTS: Final = 1000
"""Of a job at most: more than any load asks for."""

PODS_PATH: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of job as the load knows it."""

    api_version: str
    kind: str
    spec: Callable[[int], Manifest]
    """The spec of a job with so many workers."""
    pause: Manifest
    """What a user merges into the job so that its pods go."""
    phase: Callable[[Mapping[str, Any]], str]
    """The phase that a job's status tells of; empty before the first."""
    labels: tuple[str, str]
    """Pod labels that hold the replica type and index."""
    one_service: bool
    """A job has one Service; else each replica has."""
    workers: int = WORKERS

    def of(self, workers: int) -> Self:
        """The same kind, for jobs of so many workers."""
        return replace(self, workers=workers)

    @property
    def replicas(self) -> Sequence[str]:
        """The names of a job's replicas."""
        return ("master-0", *(f"worker-{number}" for number in range(self.workers)))

    @property
    def pods(self) -> int:
        """Of a job."""
        return 1 + self.workers

    @property
    def children(self) -> int:
        """Pods and Services of a job."""
        return self.pods + (1 if self.one_service else self.pods)

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
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": meta,
            "spec": self.spec(self.workers),
        }

    def replica(self, pod: Manifest) -> str:
        """Which of the replicas the pod is."""
        labels = pod["metadata"]["labels"]
        type_, index = (labels[label] for label in self.labels)
        return f"{type_}-{index}"


def _template() -> Manifest:
    container = {"name": "pytorch", "image": "train", "command": ["python", "train.py"]}
    return {"spec": {"containers": [container]}}


def _item(replicas: int) -> Manifest:
    return {"replicas": replicas, "restartPolicy": "ExitCode", "template": _template()}


def _t9k_spec(workers: int) -> Manifest:
    items = [{"type": "master", **_item(1)}]
    if workers:
        items.append({"type": "worker", **_item(workers)})
    return {"replicaSpecs": items, "runPolicy": {"cleanUpPolicy": "None", "backoffLimit": _RESTARTS}}


def _kubeflow_spec(workers: int) -> Manifest:
    items = {"Master": _item(1)} | ({"Worker": _item(workers)} if workers else {})
    return {"pytorchReplicaSpecs": items, "runPolicy": {"cleanPodPolicy": "None"}}


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
    spec=_t9k_spec,
    pause={"spec": {"runMode": {"pause": {"enabled": True}}}},
    phase=_t9k_phase,
    labels=("replica-type", "replica-index"),
    one_service=True,
)

PYTORCH_JOB: Final = Shape(
    api_version="kubeflow.org/v1",
    kind="PyTorchJob",
    spec=_kubeflow_spec,
    pause={"spec": {"runPolicy": {"suspend": True}}},
    phase=_kubeflow_phase,
    labels=("training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"),
    one_service=False,
)
