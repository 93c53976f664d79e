"""The words of `scenario` for PyTorchJobs: manifests of kubeflow.org/v1, and suspending."""

from typing import Any, Self

from statemachine.observations import ChildObserved, Container, ContainerStatus, PodObserved
from statemachine.state import ConditionState
from tests.support.scenario import Story

API = "kubeflow.org/v1"

SELECTOR = "training.kubeflow.org/job-name={},training.kubeflow.org/operator-name=pytorchjob-controller,"
SELECTOR += "training.kubeflow.org/replica-type={}"


def replicas(number: int | None = None, policy: str = "", **more: Any) -> dict[str, Any]:
    """One of `pytorchReplicaSpecs`, with a container that the rules have nothing against."""
    container = {"name": "pytorch", "image": "pytorch:2", "command": ["python", "train.py"]}
    return {
        **({"replicas": number} if number is not None else {}),
        **({"restartPolicy": policy} if policy else {}),
        "template": {"spec": {"containers": [container]}},
        **more,
    }


def training(
    *, master: bool = True, workers: int = 2, policy: str = "ExitCode", elastic: Any = None, **run: Any
) -> dict[str, Any]:
    """The spec of a job with or without a Master, `workers` Workers, and a run policy as keywords."""
    specs = {"Master": replicas(1, policy)} if master else {}
    if workers:
        specs["Worker"] = replicas(workers, policy)
    return {
        "pytorchReplicaSpecs": specs,
        **({"runPolicy": run} if run else {}),
        **({"elasticPolicy": elastic} if elastic is not None else {}),
    }


def running(restarts: int = 0, *, init: int = 0) -> tuple[Container, ...]:
    """The containers of a pod that runs, with how often the kubelet has started them again."""
    first = Container(
        name="init-pytorch", state=ContainerStatus.TERMINATED, exit_code=0, init=True, restarts=init
    )
    return (first, Container(name="pytorch", state=ContainerStatus.RUNNING, restarts=restarts))


class TorchStory(Story):
    """One PyTorchJob, from submission on."""

    def __init__(self, spec: dict[str, Any], *, name: str = "retry", **settings: str) -> None:
        super().__init__(spec, name=name, kind="PyTorchJob", api=API, settings=settings)

    def pod_seen(self, replica: str, phase: str, **more: Any) -> PodObserved:
        """The observation of a pod, which is called as the operator calls it."""
        observation = super().pod_seen(replica, phase, **more)
        return observation.changed(pod=f"{self.name}-{replica}")

    def up(self) -> Self:
        """All pods run."""
        return self.all_pods("Running")

    def suspend(self, on: bool = True) -> Self:
        """`runPolicy.suspend` becomes true, or false."""
        return self.edit(runPolicy={"suspend": on})

    def scale(self, workers: int) -> Self:
        """`kubectl scale`."""
        return self.edit(pytorchReplicaSpecs={"Worker": {"replicas": workers}})

    def group(self, phase: str, uid: str = "group-1") -> Self:
        """The PodGroup is seen in `phase`."""
        facts = {"phase": phase} if phase else {}
        return self.see(
            ChildObserved(job=self.uid, at=self.now, kind="PodGroup", name=self.name, uid=uid, facts=facts)
        )

    def all_gone(self) -> Self:
        """Every pod that we have let go is gone."""
        for replica in [
            replica.name for replica in self.state.replicas.values() if replica.has_pod and replica.leaving
        ]:
            self.gone(replica)
        return self

    @property
    def listed(self) -> list[str]:
        """The conditions in order, as `Type=Status Reason`."""
        return [
            f"{condition.type}={condition.status} {condition.reason}" for condition in self.state.conditions
        ]

    @property
    def last_condition(self) -> ConditionState:
        """The one that the column `State` shows."""
        return self.state.conditions[-1]

    @property
    def numbers(self) -> dict[str, dict[str, int]]:
        """`status.replicaStatuses` without selectors."""
        statuses = self.status.get("replicaStatuses", {})
        return {
            type_: {k: v for k, v in counts.items() if k != "selector"} for type_, counts in statuses.items()
        }

    @property
    def services(self) -> list[str]:
        """The Services that should exist, without the job's name."""
        names = [key.removeprefix("Service/") for key in self.children if key.startswith("Service/")]
        return [name.removeprefix(f"{self.name}-") for name in names]
