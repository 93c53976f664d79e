"""Random MPIJobs, in all forms; their pods fare as those of other kinds with a launcher. See `launcher_shapes`."""

from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from tests.simulation.launcher_shapes import LauncherFates
from tests.simulation.shapes import API, NAMESPACE, Shape, Spec

KIND: Final = "MPIJob"


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
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec}


def _template(chance: Random) -> Spec:
    containers = [{"name": chance.choice(("mpi-worker", "worker")), "image": "openmpi:4"}]
    if chance.random() < 0.15:
        containers.insert(0, {"name": "sidecar", "image": "proxy:1"})
    pod: Spec = {"containers": containers}
    if chance.random() < 0.15:
        pod["initContainers"] = [{"name": "fetch", "image": "fetch:1"}]
    return {"spec": pod}


def _newer(chance: Random) -> Spec:
    options = ["--hostfile", "mine"] if chance.random() < 1 / 15 else ["-N", "2"]
    worker: Spec = {"replicas": chance.randint(1, 4), "cmd": ["./walk"], "template": _template(chance)}
    if chance.random() < 0.3:
        worker |= {"processesPerWorker": 2, "processRecovery": {"enable": True, "limit": 3}}
    else:
        worker["extraMPIArgs"] = options
    spec: Spec = {"worker": worker}
    return {**spec, "mca": {"btl": "^openib"}} if chance.random() < 0.5 else spec


def _older(chance: Random) -> Spec:
    launcher = {"spec": {"containers": [{"name": "launcher", "image": "openmpi:4"}]}}
    workers = {"type": "worker", "replicas": chance.randint(1, 4), "template": _template(chance)}
    return {
        "mpiConfig": {"script": ["./walk"]},
        "replicaSpecs": [{"type": "launcher", "template": launcher}, workers],
    }


def edit(chance: Random, job: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    spec = job["spec"]
    paused = spec.get("runMode", {}).get("pause", {}).get("enabled", False)
    wishes: list[Spec] = [{"runMode": {"pause": {"enabled": not paused}}}] * 5
    wishes += [{"runPolicy": {"cleanUpWorkers": chance.random() < 0.5}}] * 2
    wishes += [{"ssh": {"sshdPath": "/other/sshd"}}, {"ssh": {"sshAuthMountPath": "keys"}}]
    if "worker" in spec:
        wishes += [
            {"worker": {"replicas": 9}},
            {"worker": {"template": {"metadata": {"labels": {"a": "b"}}}}},
        ]
    return chance.choice(wishes)


MPI: Final = Shape((KIND,), manifest, edit, LauncherFates)
