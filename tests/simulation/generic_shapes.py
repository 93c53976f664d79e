"""Random GenericJobs: rules over several types, restarts of each replica. See `shapes` for the other kinds."""

from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from tests.simulation.shapes import API, CLEAN_UPS, DISRUPTIONS, NAMESPACE, Shape, Spec
from tests.support.sim_pods import SimStep, names

KIND: Final = "GenericJob"

_POLICIES: Final = ("OnFailure", "OnFailure", "OnFailure", "Always", "Never")


def manifest(chance: Random, name: str) -> Manifest:
    """A job called `name` of random shape; one in fifteen breaks a rule that only the controller checks."""
    types = chance.sample(("worker", "ps", "node"), chance.choice((1, 2, 2, 3)))
    items = [_replicas(chance, type_) for type_ in types]
    spec: Spec = {"replicaSpecs": items, "cleanUpPolicy": chance.choice(CLEAN_UPS)}
    for rules, odds in (("successRules", 0.6), ("failureRules", 0.7)):
        if chance.random() < odds:
            spec[rules] = [_rule(chance, items) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.3:
        spec["service"] = {"ports": [{"name": "http", "port": 2222}]}
    modes = {
        mode: {"enabled": True} for mode, odds in (("pause", 0.2), ("debug", 0.1)) if chance.random() < odds
    }
    if modes:
        spec["runMode"] = modes
    if chance.random() < 0.2:
        spec["scheduler"] = {"t9kScheduler": {"queue": "default", "priority": chance.randint(0, 100)}}
    if chance.random() < 1 / 15:
        spec["successRules"] = [{"nobody": [0]}]
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _replicas(chance: Random, type_: str) -> Spec:
    containers = [{"name": "main", "image": "busybox", "args": ["$(type)", "$(rank)"]}]
    if chance.random() < 0.15:
        containers.append({"name": "sidecar", "image": "proxy:1"})
    policy = {"policy": chance.choice(_POLICIES), "limit": chance.choice((0, 1, 1, 2, 3))}
    return {
        "type": type_,
        "replicas": chance.randint(1, 3),
        "restartPolicy": policy,
        "template": {"spec": {"containers": containers}},
    }


def _rule(chance: Random, items: list[Spec]) -> Spec:
    """Some replicas of some of the types."""
    named = chance.sample(items, chance.randint(1, len(items)))
    return {
        item["type"]: sorted(chance.sample(range(item["replicas"]), chance.randint(1, item["replicas"])))
        for item in named
    }


def edit(chance: Random, job: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    spec = job["spec"]
    paused = spec.get("runMode", {}).get("pause", {}).get("enabled", False)
    wishes: list[Spec] = [{"runMode": {"pause": {"enabled": not paused}}}] * 5
    wishes += [{"cleanUpPolicy": chance.choice(CLEAN_UPS)}] * 2
    wishes += [{"successRules": [{spec["replicaSpecs"][0]["type"]: [0]}]}, {"failureRules": None}]
    wishes += [{"service": {"ports": [{"name": "http", "port": 1}]}}]
    return chance.choice(wishes)


class EqualFates:
    """What becomes of each pod, from the seed and the pod's uid alone: all end, one as well as another."""

    def __init__(self, seed: int, failing: float) -> None:
        self._seed, self._failing = seed, failing

    def script(self, pod: Manifest) -> tuple[SimStep, ...]:
        """Runs after a while and mostly ends soon, so that restarts are used up and rules are met."""
        chance = Random(f"{self._seed} {pod['metadata']['uid']}")
        start, lasts = chance.expovariate(1.5), min(60.0, chance.expovariate(1 / 8))
        up = SimStep(start, "Running")
        containers = names(pod, "containers")
        if chance.random() < 0.03:
            return (SimStep(start, "Failed", (), chance.choice(DISRUPTIONS)),)
        if chance.random() < 0.1:
            return (up,)
        code = chance.choice((1, 2, 137)) if chance.random() < max(self._failing, 0.4) else 0
        return up, SimStep(lasts, "Failed" if code else "Succeeded", (code,) * len(containers))


GENERIC: Final = Shape((KIND,), manifest, edit, EqualFates)
