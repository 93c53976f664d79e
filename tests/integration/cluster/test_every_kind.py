"""Jobs of every kind under one controller, which is killed, frozen and cut off while pods end and are deleted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from statemachine.events import ReplicaLost
from statemachine.ids import ReplicaName
from statemachine.kind import Kind
from statemachine.kinds import KINDS, replica_of
from statemachine.phases import Phase
from tests.harness import JOB_CRDS, NEIGHBOUR_CRDS, OPT_IN_CRDS, ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import SIMULATED, Manifest
from tests.support.cluster_log import Ledger
from tests.support.pytorchjob import training
from tests.unit.kinds import beam, build, colossal, deepspeed, generic, mpi, tensorflow, xgboost

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

WITHIN: Final = 120.0
"""Seconds in which everything that is waited for has to happen."""


@dataclass(frozen=True)
class Life:
    """A job of a kind, none of whose pods is started again after exit code 1.

    `decides` is the replica whose end is the job's end, `other` one whose pod is deleted by somebody. It is made
    again, unless a `launcher` has started the training: that would not take the new one in.
    """

    spec: Mapping[str, Any]
    decides: str
    other: str
    launcher: bool = False


def _never(words: Any, *types: tuple[str, int]) -> Manifest:
    """The spec of a kind with a list of replica types, none of which is restarted."""
    made: Manifest = words.spec(
        *(words.replicas(type_, number, restartPolicy="Never") for type_, number in types)
    )
    return made


def _once(job: Manifest) -> Manifest:
    """A template of a Job that makes one pod, and no other after its failure."""
    return {"spec": {**job["spec"], "backoffLimit": 0}}


SUBMITS: Final = "batchjob-0"
"""The pod of a BeamJob's batch Job, which is not a replica."""

JOB_NAME: Final = "batch.kubernetes.io/job-name"
"""The label by which the Job's pod is known."""

LIVES: Final[dict[str, Life]] = {
    "PyTorchTrainingJob": Life(_never(build, ("worker", 2)), "worker-0", "worker-1"),
    "DeepSpeedJob": Life(deepspeed.spec(deepspeed.worker(2, restartPolicy="Never")), "worker-0", "worker-1"),
    "ColossalAIJob": Life(colossal.spec(), "launcher-0", "worker-1", launcher=True),
    "MPIJob": Life(mpi.spec(), "launcher-0", "worker-1", launcher=True),
    "TensorFlowTrainingJob": Life(
        _never(tensorflow, ("ps", 1), ("worker", 1), ("chief", 1), ("evaluator", 1)), "chief-0", "ps-0"
    ),
    "XGBoostTrainingJob": Life(_never(xgboost, ("worker", 1), ("master", 1)), "master-0", "worker-0"),
    "GenericJob": Life(
        generic.ruled(
            generic.restarting("server", 1, "Never", 0),
            generic.restarting("client", 1, "Never", 0),
            success=[{"client": [0]}],
            failure=[{"client": [0]}],
        ),
        "client-0",
        "server-0",
    ),
    "BeamJob": Life(beam.spec(1, job=_once(beam.job_template())), SUBMITS, "taskmanager-0"),
    "PyTorchJob": Life(training(workers=1, policy="ExitCode"), "master-0", "worker-0"),
}
"""By kind. A kind that is added needs a line."""

FATES: Final = ("succeeds", "fails", "loses")
"""What becomes of the jobs of each kind: the first two by the end of what decides; the third loses the other pod."""


@dataclass
class EveryKind:
    """A job of each fate of every kind in one namespace, under one controller."""

    cluster: ControlPlane
    namespace: str
    controller: ControllerProcess
    jobs: dict[str, Kind] = field(default_factory=dict)
    """The kinds of the jobs, by name."""

    def submit(self) -> None:
        """All jobs are there, and all of their pods run."""
        manifests: list[Manifest] = []
        for kind in KINDS:
            for fate in FATES:
                name = f"{kind.names.singular}-{fate}"
                self.jobs[name] = kind
                manifests.append(
                    {
                        "apiVersion": kind.names.api_version,
                        "kind": kind.names.kind,
                        "metadata": {"name": name},
                        "spec": LIVES[kind.names.kind].spec,
                    }
                )
        self.cluster.kubectl("-n", self.namespace, "apply", "-f", "-", input=manifests)
        for name in self.jobs:
            self.becomes(name, Phase.RUNNING)

    def named(self, fate: str) -> list[tuple[str, Life]]:
        """The jobs of this fate, one of each kind, by name."""
        return [(f"{kind.names.singular}-{fate}", LIVES[kind.names.kind]) for kind in KINDS]

    # ---- what nodes and users do ---------------------------------------------------------------------------------

    def end(self, fate: str, code: int) -> None:
        """What decides has ended in each job of this fate, and its pod was deleted after that."""
        ending = [(name, ReplicaName(life.decides)) for name, life in self.named(fate)]
        life_ends = {f"{SIMULATED}exit-code": str(code), f"{SIMULATED}run-seconds": "0"}
        alive = self.pods()
        for key in ending:
            self._write("PATCH", alive[key], {"metadata": {"annotations": life_ends}})
        phase = "Failed" if code else "Succeeded"
        for key in ending:
            wait_for(f"{key} is {phase}", partial(self._is, phase, key), WITHIN)
            self._write("DELETE", alive[key], {})

    def _is(self, phase: str, key: tuple[str, ReplicaName]) -> bool:
        return bool(self.pods()[key]["status"]["phase"] == phase)

    def delete_others(self, fate: str) -> None:
        """Somebody deletes a pod that decides nothing in each job of this fate."""
        alive = self.pods()
        for name, life in self.named(fate):
            self._write("DELETE", alive[name, ReplicaName(life.other)], {})

    def _write(self, method: str, pod: Manifest, body: Manifest) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}"
        self.cluster.api.write(method, path, body)

    # ---- what is to be seen --------------------------------------------------------------------------------------

    def pods(self) -> dict[tuple[str, ReplicaName], Manifest]:
        """The pods by job and replica."""
        by_replica: dict[tuple[str, ReplicaName], Manifest] = {}
        keys = {kind.name_label for kind in KINDS}
        for pod in self.cluster.get("-n", self.namespace, "pods")["items"]:
            labels = pod["metadata"]["labels"]
            if JOB_NAME in labels:
                by_replica[labels[JOB_NAME].removesuffix("-batchjob"), ReplicaName(SUBMITS)] = pod
                continue
            (name,) = {labels[key] for key in keys if key in labels}
            replica = replica_of(labels)
            assert replica is not None, labels
            by_replica[name, replica] = pod
        return by_replica

    def uids(self) -> dict[tuple[str, ReplicaName], str]:
        """The uids of the pods by job and replica."""
        return {key: pod["metadata"]["uid"] for key, pod in self.pods().items()}

    def phase(self, name: str) -> str:
        """What the job object says; empty while it says nothing."""
        kind = self.jobs[name]
        status = self.cluster.get("-n", self.namespace, f"{kind.names.plural}.{kind.names.group}", name).get(
            "status", {}
        )
        return status.get("phase") or kind.stated_phase(status)

    def becomes(self, name: str, phase: Phase) -> None:
        """A job gets into this phase."""
        wait_for(f"{name} is {phase}", lambda: self.phase(name) == phase, WITHIN)

    def ended(self, fate: str, phase: Phase) -> None:
        """The jobs of this fate have ended so."""
        for name, _ in self.named(fate):
            self.becomes(name, phase)

    def made_again(self, uids: Mapping[tuple[str, ReplicaName], str], fate: str) -> None:
        """The pods that somebody deleted are there again, with other uids, where the training takes them in."""
        for name, life in self.named(fate):
            key = (name, ReplicaName(life.other))
            if not life.launcher:
                wait_for(f"{key} is made again", partial(self._differs, uids, key), WITHIN)

    def _differs(self, uids: Mapping[tuple[str, ReplicaName], str], key: tuple[str, ReplicaName]) -> bool:
        return self.uids().get(key, uids[key]) != uids[key]


@pytest.fixture
def all_kinds(killable_plane: ControlPlane, tmp_path: Path) -> Iterator[EveryKind]:
    for folder in (JOB_CRDS, OPT_IN_CRDS, NEIGHBOUR_CRDS):
        killable_plane.install(folder)
    with killable_plane.namespace("every-kind") as namespace:
        options = (f"--namespaces={namespace}", "--pytorchjobs=*")
        with ControllerProcess(killable_plane, tmp_path, *options) as controller:
            yield EveryKind(killable_plane, namespace, controller)


def test_nothing_is_lost_of_any_kind_while_the_controller_is_away(all_kinds: EveryKind) -> None:
    assert {*LIVES} == {kind.names.kind for kind in KINDS}
    all_kinds.submit()
    before = all_kinds.uids()

    all_kinds.controller.kill()
    all_kinds.end("succeeds", 0)
    all_kinds.delete_others("loses")
    all_kinds.controller.start()
    all_kinds.ended("succeeds", Phase.SUCCEEDED)
    all_kinds.made_again(before, "loses")

    all_kinds.controller.freeze()
    all_kinds.cluster.restart("kube-apiserver")
    all_kinds.end("fails", 1)
    all_kinds.cluster.restart("kube-apiserver")
    all_kinds.controller.resume()
    all_kinds.ended("fails", Phase.FAILED)
    assert {all_kinds.phase(name) for name, _ in all_kinds.named("loses")} == {Phase.RUNNING}

    all_kinds.end("loses", 0)
    all_kinds.ended("loses", Phase.SUCCEEDED)
    ledger = Ledger(all_kinds.controller.store)
    assert ledger.findings() == []
    assert ledger.differences() == []
    stories = {story.state.name: story for story in ledger.stories().values()}
    lost = [
        (name, event.replica, event.for_good)
        for name, story in stories.items()
        for _, event in story.events()
        if isinstance(event, ReplicaLost)
    ]
    assert sorted(lost) == sorted(
        (name, life.other, life.launcher) for name, life in all_kinds.named("loses")
    )
    assert {name: str(story.state.phase) for name, story in stories.items()} == {
        name: all_kinds.phase(name) for name in all_kinds.jobs
    }
