"""Random DeepSpeedJobs, in both spellings of the kind. See `shapes` for the others.

Most are elastic, and scaled up and down: each time all workers are started anew.
"""

from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from tests.simulation.shapes import API, NAMESPACE, POLICIES, Fates, Shape, Spec, run_policy

KIND: Final = "DeepSpeedJob"
ALIAS: Final = "DeepspeedJob"


def manifest(chance: Random, name: str) -> Manifest:
    """A job called `name`; one in fifteen breaks a rule that only the controller checks."""
    spec: Spec = {"worker": _worker(chance), "config": _config(chance), "runPolicy": run_policy(chance)}
    if chance.random() < 0.75:
        spec["elastic"] = _elastic(chance)
    modes = {
        mode: {"enabled": True} for mode, odds in (("pause", 0.2), ("debug", 0.1)) if chance.random() < odds
    }
    if modes:
        spec["runMode"] = modes
    if chance.random() < 0.2:
        spec["scheduler"] = {"t9kScheduler": {"queue": "default", "priority": chance.randint(0, 100)}}
    if chance.random() < 1 / 15:
        spec["config"]["otherArgs"] = ["--hostfile=/my/hosts"]
    return {
        "apiVersion": API,
        "kind": ALIAS if chance.random() < 0.3 else KIND,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _worker(chance: Random) -> Spec:
    containers = [{"name": "worker", "image": "deepspeed:1", "env": [{"name": "LR", "value": "0.1"}]}]
    if chance.random() < 0.15:
        containers.append({"name": "sidecar", "image": "proxy:1"})
    pod: Spec = {"containers": containers}
    if chance.random() < 0.15:
        pod["initContainers"] = [{"name": "fetch", "image": "fetch:1"}]
    return {
        "replicas": chance.randint(1, 4),
        "restartPolicy": chance.choice(POLICIES),
        "template": {"spec": pod},
    }


def _config(chance: Random) -> Spec:
    config: Spec = {"run": {"python": "train.py --lr 0.1"}}
    if chance.random() < 0.4:
        config[chance.choice(("slotPerWorker", "slotsPerWorker"))] = chance.randint(1, 8)
    if chance.random() < 0.1:
        config["customCommand"] = "deepspeed train.py"
    return config


def _elastic(chance: Random) -> Spec:
    low = chance.randint(1, 3)
    high = low + chance.randint(0, 3)
    wish = chance.choice(({}, {"expectedReplicas": chance.randint(low, high)}))
    return {"enabled": True, "minReplicas": low, "maxReplicas": high, **wish}


def edit(chance: Random, job: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    spec = job["spec"]
    paused = spec.get("runMode", {}).get("pause", {}).get("enabled", False)
    turned: Spec = {"runMode": {"pause": {"enabled": not paused}}}
    wishes = [turned] * 5 + [{"runPolicy": {"backoffLimit": chance.randint(0, 8)}}] * 2
    wishes += [
        {"runPolicy": {"activeDeadlineSeconds": chance.choice((None, 20, 60, 3600))}},
        {"worker": {"restartPolicy": "Never"}},
        {"worker": {"template": {"metadata": {"labels": {"a": "b"}}}}},
        {"config": {"run": {"python": "other.py"}}},
    ]
    if "elastic" in spec:
        low, high = spec["elastic"]["minReplicas"], spec["elastic"]["maxReplicas"]
        scaled: Spec = {"elastic": {"expectedReplicas": chance.randint(low, high)}}
        wishes += [scaled] * 12 + [scaled | turned] * 3 + [{"elastic": {"expectedReplicas": 99}}]
    else:
        wishes.append({"worker": {"replicas": 9}})
    return chance.choice(wishes)


DEEPSPEED: Final = Shape((KIND, ALIAS), manifest, edit, Fates)
