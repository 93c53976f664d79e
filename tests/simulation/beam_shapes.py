"""Random BeamJobs, and the Job controller that their Jobs need. See `shapes` for the other kinds."""

from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from tests.simulation.crash_points import JOBS
from tests.simulation.shapes import API, DISRUPTIONS, NAMESPACE, Shape, Spec
from tests.support.sim_jobs import JobController
from tests.support.sim_pods import SimStep, names

KIND: Final = "BeamJob"


def manifest(chance: Random, name: str) -> Manifest:
    """A job called `name` of random shape; one in fifteen breaks a rule that only the controller checks."""
    container = {
        "name": "words",
        "image": "beam:2",
        "args": ["--output=/tmp/counts"],
        "env": [{"name": "TOKEN", "value": "hidden"}],
    }
    pod: Spec = {"restartPolicy": "Never", "containers": [container]}
    cluster = {
        "flinkVersion": "1.16.3",
        "image": {"name": "flink:1"},
        "taskManager": {"replicas": chance.randint(1, 3)},
    }
    job: Spec = {"backoffLimit": chance.choice((0, 1, 2)), "template": {"spec": pod}}
    spec: Spec = {"flinkClusterTemplate": {"spec": cluster}, "jobTemplate": {"spec": job}}
    spec["runPolicy"] = {"cleanUpCluster": chance.random() < 0.5}
    if chance.random() < 0.1:
        spec["runMode"] = {"debug": {"enabled": True}}
    if chance.random() < 0.2:
        spec["scheduler"] = {"t9kScheduler": {"queue": "default", "priority": chance.randint(0, 100)}}
    if chance.random() < 1 / 15:
        pod["restartPolicy"] = "Always"
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec}


def edit(chance: Random, _: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    wishes: list[Spec] = [{"runPolicy": {"cleanUpCluster": chance.random() < 0.5}}] * 3
    wishes += [{"flinkClusterTemplate": {"spec": {"taskManager": {"replicas": 4}}}}]
    wishes += [{"jobTemplate": {"spec": {"backoffLimit": 9}}}]
    return chance.choice(wishes)


class BeamFates:
    """Flink pods run for ever, but for a few; those that submit end, well or not."""

    def __init__(self, seed: int, failing: float) -> None:
        self._seed, self._failing = seed, failing

    def script(self, pod: Manifest) -> tuple[SimStep, ...]:
        """What this pod does, from the seed and its uid alone."""
        chance = Random(f"{self._seed} {pod['metadata']['uid']}")
        up = SimStep(chance.expovariate(1.5), "Running")
        lasts = min(90.0, chance.expovariate(1 / 15))
        if pod["metadata"]["labels"].get("replica-type") == "batchjob":
            if chance.random() < 0.05:
                return (up,)
            code = chance.choice((1, 2, 137)) if chance.random() < self._failing else 0
        elif chance.random() < 0.8:
            return (up,)
        elif chance.random() < 0.5:
            return up, SimStep(lasts, "Failed", (), chance.choice(DISRUPTIONS))
        else:
            code = chance.choice((0, 1))
        containers = len(names(pod, "containers"))
        return up, SimStep(lasts, "Failed" if code else "Succeeded", (code,) * containers)


BEAM: Final = Shape((KIND,), manifest, edit, BeamFates, ("Job",), beside=JobController, points=JOBS)
