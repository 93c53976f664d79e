"""Words for tests of PyTorchJobs: specs with nothing wrong in them, to be broken in one place."""

import copy
from collections.abc import Mapping
from typing import Any

from statemachine.kind import Admission
from statemachine.kinds import kind_of
from statemachine.owned import Manifest
from statemachine.spec import Plan
from statemachine.state import JobState
from tests.unit.kinds import build
from tests.unit.kinds.build import Spec

API = "kubeflow.org/v1"
KIND = "PyTorchJob"
PYTORCH_JOB = kind_of(API, KIND)


def container(**more: Any) -> Spec:
    """The container that trains."""
    return {"name": "pytorch", "image": "train:1", **more}


def template(*containers: Spec, **pod: Any) -> Spec:
    """A pod template; without arguments of one good container."""
    return {"spec": {"containers": list(containers) or [container()], **pod}}


def replica(number: int | None = None, *containers: Spec, **more: Any) -> Spec:
    """One replica type; without a number it says none."""
    count = {} if number is None else {"replicas": number}
    return {**count, "template": template(*containers), **more}


def types(workers: int = 2, **more: Any) -> Spec:
    """A Master and some Workers."""
    return {"Master": replica(), "Worker": replica(workers), **more}


def spec(of_types: Mapping[str, Any] | None = None, **more: Any) -> Spec:
    """A PyTorchJob's spec; without arguments of a Master and two Workers."""
    return copy.deepcopy({"pytorchReplicaSpecs": types() if of_types is None else dict(of_types), **more})


def workers_only(number: int = 2, **more: Any) -> Spec:
    """A spec without a Master."""
    return spec({"Worker": replica(number)}, **more)


def scheduling(**policy: Any) -> Spec:
    """A scheduling policy, as a keyword of `spec`."""
    return {"runPolicy": {"schedulingPolicy": policy}}


def admit(new: Any, old: Spec | None = None, name: str = "mnist") -> Admission:
    """What the kind makes of a spec."""
    return build.admit(new, old, name, kind=KIND)


def plan(of: Spec) -> Plan:
    """The plan of a spec with nothing wrong in it."""
    admission = admit(of)
    assert admission.plan is not None, build.texts(admission)
    return admission.plan


def state(of: Spec, **more: Any) -> JobState:
    """A job as its events tell it, every pod asked for."""
    return build.state(of, kind=KIND, **more)


def children(of: Spec, kind: str, **more: Any) -> list[Manifest]:
    """The manifests of a job's children of one kind, in order."""
    return [child for child in build.children(state(of, **more)) if child["kind"] == kind]


def pod(of: Spec, replica_: str, **more: Any) -> Manifest:
    """The manifest of a replica's pod."""
    return build.pod(state(of, **more), replica_)


def env(of: Spec, replica_: str, index: int = 0) -> list[tuple[str, str]]:
    """The environment of one of a pod's containers: names and values, in order."""
    entries = pod(of, replica_)["spec"]["containers"][index]["env"]
    return [(entry["name"], entry["value"]) for entry in entries]
