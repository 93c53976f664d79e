"""Random PyTorchJobs of Kubeflow's, and what is changed in them, drawn from a seed."""

from collections.abc import Mapping
from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from statemachine.kinds.pytorchjob.gang import PLUGINS, VOLCANO
from tests.simulation.crash_points import KUBEFLOW
from tests.simulation.shapes import NAMESPACE, Fates, Shape, Spec
from tests.support.sim_pods import SimStep
from tests.support.sim_volcano import Volcano

API: Final = "kubeflow.org/v1"
KIND: Final = "PyTorchJob"

_POLICIES: Final = ("ExitCode", "ExitCode", "OnFailure", "Always", "Never")


def manifest(chance: Random, name: str) -> Manifest:
    """A job called `name` of random shape; one in fifteen breaks a rule that only the controller checks."""
    specs = {"Worker": _replicas(chance, chance.randint(1, 3))}
    if chance.random() < 0.6:
        specs["Master"] = _replicas(chance, 1)
    spec: Spec = {"pytorchReplicaSpecs": specs, "runPolicy": _run_policy(chance)}
    if chance.random() < 0.3:
        spec["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 4}
        if chance.random() < 0.8:
            spec["elasticPolicy"]["metrics"] = [{"type": "Resource"}]
    if chance.random() < 1 / 15:
        del specs["Worker"]["template"]["spec"]["containers"][0]["image"]
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _replicas(chance: Random, number: int) -> Spec:
    containers: list[Spec] = [{"name": "pytorch", "image": "pytorch:2", "args": ["train.py"]}]
    if chance.random() < 0.15:
        containers.append({"name": "sidecar", "image": "proxy:1"})
    return {
        "replicas": number,
        "restartPolicy": chance.choice(_POLICIES),
        "template": {"spec": {"containers": containers}},
    }


def _run_policy(chance: Random) -> Spec:
    policy: Spec = {"cleanPodPolicy": chance.choice(("None", "Running", "All"))}
    for name, values in (
        ("backoffLimit", (0, 1, 2, 3, 6)),
        ("activeDeadlineSeconds", (5, 20, 40, 3600)),
        ("ttlSecondsAfterFinished", (0, 5, 30)),
    ):
        if chance.random() < 0.4:
            policy[name] = chance.choice(values)
    if chance.random() < 0.2:
        policy["suspend"] = True
    return policy


def edit(chance: Random, job: Manifest) -> Spec:
    """What somebody changes in the spec of a job: a merge patch of it; now and then one that must not be accepted."""
    spec = job["spec"]
    run = spec.get("runPolicy", {})
    wishes: list[Spec] = [{"runPolicy": {"suspend": not run.get("suspend", False)}}] * 4
    wishes += [{"pytorchReplicaSpecs": {"Worker": {"replicas": chance.randint(1, 4)}}}] * 3
    wishes.append({"runPolicy": {"backoffLimit": chance.randint(0, 6)}})
    wishes.append({"runPolicy": {"activeDeadlineSeconds": chance.choice((None, 20, 60))}})
    wishes.append({"runPolicy": {"ttlSecondsAfterFinished": chance.choice((None, 1, 30))}})
    wishes.append({"runPolicy": {"managedBy": "kubeflow.org/training-operator"}})
    wishes.append({"runPolicy": {"backoffLimit": -1}})
    return chance.choice(wishes)


class InPlace(Fates):
    """Pods whose kubelet starts what ends again, as the policy has it: they stay Running, and only counts grow.

    Source: kubeflow-pytorchjob.md, section 5.
    """

    def script(self, pod: Manifest) -> tuple[SimStep, ...]:
        """As Fates; but who may be started again is, up to three times, and then goes on or ends well."""
        steps = super().script(pod)
        policy, last = pod["spec"]["restartPolicy"], steps[-1]
        if not last.exit_codes or policy == "Never" or (policy == "OnFailure" and last.phase == "Succeeded"):
            return steps
        chance = Random(f"{pod['metadata']['uid']} in place")
        again = [SimStep(last.after, "Running", restarts=count) for count in range(1, chance.randint(2, 4))]
        if policy == "OnFailure" and chance.random() < 0.5:
            codes = (0,) * len(last.exit_codes)
            again.append(SimStep(last.after, "Succeeded", codes, restarts=again[-1].restarts))
        return (*steps[:-1], *again)


def settings(seed: int) -> Mapping[str, str]:
    """What places the pods of a job together: in a third of all seeds Volcano, which lets them wait."""
    schedulers = ("none", "none", "none", VOLCANO, VOLCANO, PLUGINS)
    return {"gang_scheduler": Random(f"{seed} gang").choice(schedulers)}


TORCH: Final = Shape((KIND,), manifest, edit, InPlace, beside=Volcano, settings=settings, points=KUBEFLOW)
