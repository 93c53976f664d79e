"""Random jobs and what their pods do, drawn from a seed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Protocol

from k8s_bridge.port import Manifest
from tests.simulation.crash_points import BOARDS
from tests.support.memory_cluster import MemoryCluster
from tests.support.sim_pods import SimStep, names

API: Final = "batch.tensorstack.dev/v1beta1"
KIND: Final = "PyTorchTrainingJob"
NAMESPACE: Final = "demo"
NAMESPACES: Final = (NAMESPACE, "other")
"""In some worlds jobs are in either; shapes name the first."""

POLICIES: Final = ("OnFailure", "OnFailure", "Never", "Always", "ExitCode")
CLEAN_UPS: Final = ("None", "All", "Unfinished")
EXIT_CODES: Final = (0, 0, 0, 1, 2, 137, 137, 143, 138, 139, 255)
DISRUPTIONS: Final = ("Evicted", "NodeLost", "Preempting")

Spec = dict[str, Any]


class Script(Protocol):
    """What becomes of pods, from their manifests."""

    def script(self, pod: Manifest) -> Sequence[SimStep]:
        """What this pod does, and when."""


@dataclass(frozen=True)
class Shape:
    """Random jobs of one kind: new ones by name, edits of the spec of one (merge patches), what their pods do.

    `kinds` are the spellings of that kind; `fates` gets the seed and how likely an end is a failure.
    `helpers` are the kinds of objects that such a job has and that have pods of their own.
    `beside` acts in the cluster as another controller does; `settings` gets the seed, and gives those that jobs keep.
    `points` are the crash points that only such jobs pass; see `crash_points`.
    """

    kinds: tuple[str, ...]
    manifest: Callable[[Random, str], Manifest]
    edit: Callable[[Random, Manifest], Spec]
    fates: Callable[[int, float], Script]
    helpers: tuple[str, ...] = ()
    beside: Callable[[MemoryCluster], object] | None = None
    settings: Callable[[int], Mapping[str, str]] = lambda _: {}
    points: Mapping[str, int] = field(default_factory=dict)


def manifest(chance: Random, name: str) -> Manifest:
    """A job called `name` of random shape; one in fifteen breaks a rule that only the controller checks."""
    spec = elastic_spec(chance) if chance.random() < 0.35 else plain_spec(chance)
    spec["runPolicy"] = run_policy(chance)
    _add_modes(chance, spec)
    if chance.random() < 0.2:
        spec["scheduler"] = {"t9kScheduler": {"queue": "default", "priority": chance.randint(0, 100)}}
    if chance.random() < 0.2:
        spec["tensorboardSpec"] = {"image": "tensorboard:2", "trainingLogFilesets": ["t9k://pvc/logs/runs"]}
    if chance.random() < 1 / 15:
        del spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"]
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def plain_spec(chance: Random) -> Spec:
    """One to three replica types; the first replica of the first is the primary."""
    types = chance.sample(("worker", "ps", "node"), chance.choice((1, 1, 2, 3)))
    return {"replicaSpecs": [_replicas(chance, type_, chance.randint(1, 3)) for type_ in types]}


def elastic_spec(chance: Random) -> Spec:
    """Torchrun with room to grow; perhaps with a type of fixed size."""
    low = chance.randint(1, 3)
    types = [_replicas(chance, "worker", 1)]
    if chance.random() < 0.3:
        types.append({**_replicas(chance, "ps", 1), "scalingWeight": 0})
        low += 1
    high = low + chance.randint(1, 4)
    return {
        "replicaSpecs": types,
        "torchrunConfig": {"enabled": True, "maxRestarts": 1, "procPerNode": "2"},
        "elastic": {
            "enabled": True,
            "minReplicas": low,
            "maxReplicas": high,
            "expectedReplicas": chance.randint(low, high),
        },
    }


def run_policy(chance: Random) -> Spec:
    """Budget, deadline and clean-up."""
    policy: Spec = {"cleanUpPolicy": chance.choice(CLEAN_UPS)}
    if chance.random() < 0.8:
        policy["backoffLimit"] = chance.choice((0, 1, 2, 3, 6))
    if chance.random() < 0.25:
        policy["activeDeadlineSeconds"] = chance.choice((5, 20, 40, 60, 3600))
    return policy


def _replicas(chance: Random, type_: str, replicas: int) -> Spec:
    containers: list[Spec] = [{"name": "pytorch", "image": "pytorch:2", "args": ["train.py"]}]
    if chance.random() < 0.15:
        containers.append({"name": "sidecar", "image": "proxy:1"})
    pod: Spec = {"containers": containers}
    if chance.random() < 0.15:
        pod["initContainers"] = [{"name": "fetch", "image": "fetch:1"}]
    return {
        "type": type_,
        "replicas": replicas,
        "restartPolicy": chance.choice(POLICIES),
        "template": {"spec": pod},
    }


def _add_modes(chance: Random, spec: Spec) -> None:
    modes: Spec = {}
    if chance.random() < 0.2:
        modes["pause"] = {"enabled": True}
    if chance.random() < 0.1:
        modes["debug"] = {"enabled": True}
    if modes:
        spec["runMode"] = modes


def edit(chance: Random, job: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    spec = job["spec"]
    wishes = [_pause] * 5 + [_budget, _budget, _deadline, _frozen_template, _immutable, _nonsense]
    if "tensorboardSpec" in spec:
        wishes += [_board, _board]
    if "elastic" in spec:
        wishes += [_scale] * 9
    return chance.choice(wishes)(chance, spec)


def _pause(_: Random, spec: Spec) -> Spec:
    paused = spec.get("runMode", {}).get("pause", {}).get("enabled", False)
    return {"runMode": {"pause": {"enabled": not paused}}}


def _scale(chance: Random, spec: Spec) -> Spec:
    low, high = spec["elastic"]["minReplicas"], spec["elastic"]["maxReplicas"]
    return {"elastic": {"expectedReplicas": chance.randint(low, high)}}


def _budget(chance: Random, _: Spec) -> Spec:
    return {"runPolicy": {"backoffLimit": chance.randint(0, 8)}}


def _deadline(chance: Random, _: Spec) -> Spec:
    return {"runPolicy": {"activeDeadlineSeconds": chance.choice((None, 20, 60, 3600))}}


def _board(chance: Random, _: Spec) -> Spec:
    return {"tensorboardSpec": {"image": f"tensorboard:{chance.randint(3, 9)}"}}


def _frozen_template(chance: Random, spec: Spec) -> Spec:
    """A list cannot be merged: the whole of it is written, with another image."""
    types = [dict(item) for item in spec["replicaSpecs"]]
    image = f"pytorch:{chance.randint(3, 9)}"
    types[0]["template"] = {"spec": {"containers": [{"name": "pytorch", "image": image, "args": ["a.py"]}]}}
    return {"replicaSpecs": types}


def _immutable(_: Random, spec: Spec) -> Spec:
    return {"replicaSpecs": [{**item, "restartPolicy": "Never"} for item in spec["replicaSpecs"]]}


def _nonsense(_: Random, spec: Spec) -> Spec:
    return {"elastic": {"expectedReplicas": 99}} if "elastic" in spec else {"runPolicy": {"backoffLimit": -1}}


class Fates:
    """What becomes of each pod, from the seed and the pod's uid alone."""

    def __init__(self, seed: int, failing: float) -> None:
        self._seed, self._failing = seed, failing

    def script(self, pod: Manifest) -> tuple[SimStep, ...]:
        """Runs after a while, and after another one ends, or does not."""
        chance = Random(f"{self._seed} {pod['metadata']['uid']}")
        start, lasts = chance.expovariate(1.5), min(60.0, chance.expovariate(1 / 12))
        up = SimStep(start, "Running")
        containers = names(pod, "containers")
        if chance.random() < 0.04:
            return (SimStep(start, "Failed", (), chance.choice(DISRUPTIONS)),)
        if chance.random() < 0.04:
            return (SimStep(start, "Failed", (1,) * len(containers)),)
        if chance.random() < 0.25:
            return (up,)
        code = chance.choice(EXIT_CODES) if chance.random() < self._failing else 0
        return up, SimStep(lasts, "Failed" if code else "Succeeded", (code,) * len(containers))


PYTORCH: Final = Shape((KIND,), manifest, edit, Fates, points=BOARDS)
