"""Random TensorFlowTrainingJobs: some train, some serve parameters, some evaluate. Other kinds are in `shapes`."""

from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from tests.simulation.crash_points import BOARDS
from tests.simulation.shapes import API, NAMESPACE, POLICIES, Fates, Shape, Spec, run_policy
from tests.support.sim_pods import SimStep

KIND: Final = "TensorFlowTrainingJob"


def manifest(chance: Random, name: str) -> Manifest:
    """A job called `name` of random shape; one in fifteen breaks a rule that only the controller checks."""
    types = chance.choice((("chief",), ("worker",), ("chief", "worker"), ("chief", "worker")))
    numbers = {type_: 1 if type_ == "chief" else chance.randint(1, 3) for type_ in types}
    if chance.random() < 0.4:
        numbers["ps"] = chance.randint(1, 2)
    if chance.random() < 0.3:
        numbers["evaluator"] = 1
    items = [_replicas(chance, type_, number) for type_, number in numbers.items()]
    chance.shuffle(items)
    spec: Spec = {"replicaSpecs": items, "runPolicy": run_policy(chance)}
    if chance.random() < 0.2:
        spec["runMode"] = {chance.choice(("pause", "debug")): {"enabled": True}}
    if chance.random() < 0.2:
        spec["scheduler"] = {"t9kScheduler": {"queue": "default", "priority": chance.randint(0, 100)}}
    if chance.random() < 0.3:
        spec["tensorboardSpec"] = {"image": "tensorboard:2"}
    if chance.random() < 1 / 15:
        items[0]["template"]["spec"]["containers"][0]["name"] = "another"
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec}


def _replicas(chance: Random, type_: str, replicas: int) -> Spec:
    container: Spec = {"name": "tensorflow", "image": "tensorflow:2", "args": ["train.py"]}
    if chance.random() < 0.3:
        container["ports"] = [{"name": "tensorflow-port", "containerPort": chance.choice((2222, 3333, 4444))}]
    template = {"spec": {"containers": [container]}}
    policy = chance.choice(POLICIES)
    return {"type": type_, "replicas": replicas, "restartPolicy": policy, "template": template}


def edit(chance: Random, job: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    spec = job["spec"]
    paused = spec.get("runMode", {}).get("pause", {}).get("enabled", False)
    wishes: list[Spec] = [{"runMode": {"pause": {"enabled": not paused}}}] * 5
    wishes += [{"runPolicy": {"backoffLimit": chance.choice((0, 1, 5))}}] * 2
    wishes += [{"tensorboardSpec": {"image": f"tensorboard:{chance.randint(3, 9)}"}}] * 2
    wishes += [{"runPolicy": {"activeDeadlineSeconds": chance.choice((20, 60, None))}}, {"replicaSpecs": []}]
    return chance.choice(wishes)


class ServingFates(Fates):
    """As elsewhere, but most parameter servers run until somebody stops them."""

    def __init__(self, seed: int, failing: float) -> None:
        super().__init__(seed, failing)
        self._seed_of_servers = seed

    def script(self, pod: Manifest) -> tuple[SimStep, ...]:
        """A server only starts, four times out of five."""
        chance = Random(f"server {self._seed_of_servers} {pod['metadata']['uid']}")
        serves = pod["metadata"]["labels"].get("replica-type") == "ps" and chance.random() < 0.8
        return (SimStep(chance.expovariate(1.5), "Running"),) if serves else super().script(pod)


TENSORFLOW: Final = Shape((KIND,), manifest, edit, ServingFates, points=BOARDS)
