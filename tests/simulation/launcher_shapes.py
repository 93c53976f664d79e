"""Random jobs with a launcher, and what their pods do. See `shapes` for the others."""

from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from tests.simulation.shapes import API, DISRUPTIONS, EXIT_CODES, NAMESPACE, Shape, Spec
from tests.support.sim_pods import SimStep, names

KIND: Final = "ColossalAIJob"


def manifest(chance: Random, name: str) -> Manifest:
    """A job called `name`, in either form; one in fifteen breaks a rule that only the controller checks."""
    spec = _older(chance) if chance.random() < 0.2 else _newer(chance)
    if chance.random() < 0.5:
        spec["runPolicy"] = {"cleanUpWorkers": chance.random() < 0.7}
    if chance.random() < 0.2:
        spec["runMode"] = {"pause": {"enabled": True}}
    if chance.random() < 0.15:
        spec["runMode"] = {**spec.get("runMode", {}), "debug": {"enabled": True}}
    if chance.random() < 0.3:
        spec["scheduler"] = {"t9kScheduler": {"queue": "default", "priority": chance.randint(0, 100)}}
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _template(chance: Random) -> Spec:
    containers = [{"name": "worker", "image": "colossalai:1"}]
    if chance.random() < 0.15:
        containers.insert(0, {"name": "sidecar", "image": "proxy:1"})
    pod: Spec = {"containers": containers}
    if chance.random() < 0.15:
        pod["initContainers"] = [{"name": "fetch", "image": "fetch:1"}]
    return {"spec": pod}


def _newer(chance: Random) -> Spec:
    launcher = {} if chance.random() < 1 / 15 else {"image": "colossalai:1"}
    worker = {"replicas": chance.randint(1, 4), "command": ["train.py"], "template": _template(chance)}
    return {"launcher": launcher, "worker": worker}


def _older(chance: Random) -> Spec:
    launcher = {"spec": {"containers": [{"name": "launcher", "image": "colossalai:1"}]}}
    workers = {"type": "worker", "replicas": chance.randint(1, 4), "template": _template(chance)}
    return {
        "torchConfig": {"procPerWorker": 1, "script": ["train.py"]},
        "replicaSpecs": [{"type": "launcher", "template": launcher}, workers],
    }


def edit(chance: Random, job: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    spec = job["spec"]
    paused = spec.get("runMode", {}).get("pause", {}).get("enabled", False)
    wishes: list[Spec] = [{"runMode": {"pause": {"enabled": not paused}}}] * 5
    wishes += [{"runPolicy": {"cleanUpWorkers": chance.random() < 0.5}}] * 2
    wishes += [{"ssh": {"sshdPath": "/other/sshd"}}, {"ssh": {"authMountPath": "keys"}}]
    if "worker" in spec:
        wishes += [
            {"worker": {"replicas": 9}},
            {"worker": {"template": {"metadata": {"labels": {"a": "b"}}}}},
        ]
    return chance.choice(wishes)


class LauncherFates:
    """What becomes of each pod, from the seed and the pod's uid alone: workers wait, launchers end."""

    def __init__(self, seed: int, failing: float) -> None:
        self._seed, self._failing = seed, failing

    def script(self, pod: Manifest) -> tuple[SimStep, ...]:
        """Runs after a while; a worker hardly ever ends, a launcher mostly does."""
        chance = Random(f"{self._seed} {pod['metadata']['uid']}")
        start, lasts = chance.expovariate(1.5), min(60.0, chance.expovariate(1 / 12))
        up = SimStep(start, "Running")
        containers = names(pod, "containers")
        if chance.random() < 0.03:
            return (SimStep(start, "Failed", (), chance.choice(DISRUPTIONS)),)
        is_worker = pod["metadata"]["labels"]["replica-type"] == "worker"
        if chance.random() < (0.92 if is_worker else 0.25):
            return (up,)
        code = chance.choice(EXIT_CODES) if chance.random() < self._failing else 0
        return up, SimStep(lasts, "Failed" if code else "Succeeded", (code,) * len(containers))


LAUNCHER: Final = Shape((KIND,), manifest, edit, LauncherFates)
