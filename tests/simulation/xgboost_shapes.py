"""Random XGBoostTrainingJobs: a master, and perhaps workers, in either order. See `shapes` for the other kinds."""

from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from tests.simulation.shapes import API, NAMESPACE, POLICIES, Fates, Shape, Spec, run_policy

KIND: Final = "XGBoostTrainingJob"


def manifest(chance: Random, name: str) -> Manifest:
    """A job called `name` of random shape; one in fifteen breaks a rule that only the controller checks."""
    items = [_replicas(chance, "master", 1)]
    if chance.random() < 0.8:
        items.insert(chance.randint(0, 1), _replicas(chance, "worker", chance.randint(1, 4)))
    spec: Spec = {"replicaSpecs": items, "runPolicy": run_policy(chance)}
    if chance.random() < 0.2:
        spec["runMode"] = {chance.choice(("pause", "debug")): {"enabled": True}}
    if chance.random() < 0.2:
        spec["scheduler"] = {"t9kScheduler": {"queue": "default", "priority": chance.randint(0, 100)}}
    if chance.random() < 1 / 15:
        items[0]["template"]["spec"]["containers"][0]["name"] = "another"
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec}


def _replicas(chance: Random, type_: str, replicas: int) -> Spec:
    pod = {"containers": [{"name": "xgboost", "image": "xgboost:2", "args": ["train.py"]}]}
    policy = chance.choice(POLICIES)
    return {"type": type_, "replicas": replicas, "restartPolicy": policy, "template": {"spec": pod}}


def edit(chance: Random, job: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    spec = job["spec"]
    paused = spec.get("runMode", {}).get("pause", {}).get("enabled", False)
    wishes: list[Spec] = [{"runMode": {"pause": {"enabled": not paused}}}] * 5
    wishes += [{"runPolicy": {"backoffLimit": chance.choice((0, 1, 5))}}] * 2
    wishes += [{"runPolicy": {"activeDeadlineSeconds": chance.choice((20, 60, None))}}, {"replicaSpecs": []}]
    return chance.choice(wishes)


XGBOOST: Final = Shape((KIND,), manifest, edit, Fates)
