"""TensorFlowTrainingJob: what its CRD refuses and keeps."""

from typing import Any

from tests.integration.crds.words import (
    DEBUG_TEXT,
    NAME_TEXT,
    NAME_TOO_LONG_TEXT,
    RESUME_TEXT,
    Cases,
    Kept,
    Refused,
    changed,
)
from tests.unit.kinds.build import Spec, merged
from tests.unit.kinds.tensorflow import KIND, container, replicas, spec

TYPES = "unknown or repeated replica type"
TWICE = [{"type": "worker"}, {"type": "worker"}]
ONE_CHIEF = "spec.replicaSpecs: at most one chief replica"
NOBODY_TRAINS = "spec.replicaSpecs: a chief or a worker is required"


def alias(mode: str) -> Refused:
    """A switch under both its names, which disagree."""
    at = f"spec.runMode.{mode}"
    text = f"{at}.enable is a deprecated alias of {at}.enabled; set only one"
    return Refused("G12", "job", spec(runMode={mode: {"enable": True, "enabled": False}}), text)


def with_policy(**policy: Any) -> Spec:
    """A job with this run policy."""
    return spec(runPolicy=policy)


REFUSED: list[Refused] = [
    Refused("G1", "1a", spec(), NAME_TEXT),
    Refused("G2", "a" * 49, spec(), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 45, spec(replicas("chief"), replicas("evaluator", 11)), NAME_TOO_LONG_TEXT),
    Refused("G3", "job", spec(replicas("chief"), replicas("master")), "spec.replicaSpecs[1].type"),
    Refused(
        "G4",
        "job",
        spec(replicas("worker"), replicas("worker")),
        "spec.replicaSpecs: replica types must be unique",
    ),
    Refused(
        "G7",
        "job",
        spec(runMode={"debug": {"replicaSpecs": TWICE}}),
        f"spec.runMode.debug.replicaSpecs: {TYPES}",
    ),
    Refused(
        "G7",
        "job",
        spec(runMode={"pause": {"resumeSpecs": [{"type": "ps"}]}}),
        f"spec.runMode.pause.resumeSpecs: {TYPES}",
    ),
    Refused(
        "G10",
        "job",
        spec(scheduler={"t9kScheduler": {"priority": 101}}),
        "spec.scheduler.t9kScheduler.priority",
    ),
    Refused("G11", "job", with_policy(activeDeadlineSeconds=0), "spec.runPolicy.activeDeadlineSeconds"),
    Refused("G11", "job", with_policy(backoffLimit=-1), "spec.runPolicy.backoffLimit"),
    Refused("G11", "job", with_policy(cleanUpPolicy="Some"), "spec.runPolicy.cleanUpPolicy"),
    alias("debug"),
    alias("pause"),
    Refused(
        "G12",
        "job",
        spec(tensorboardSpec={"logDir": {"pvc": [{"name": "a", "subpath": ["x"], "subPath": ["y"]}]}}),
        "spec.tensorboardSpec.logDir.pvc[].subpath is a deprecated alias of "
        "spec.tensorboardSpec.logDir.pvc[].subPath; set only one",
    ),
    Refused("TF2", "job", spec(replicas("chief", 2)), ONE_CHIEF),
    Refused("TF3", "job", spec(replicas("ps"), replicas("evaluator")), NOBODY_TRAINS),
    Refused("TF3", "job", spec(replicas("chief", 0), replicas("worker", 0)), NOBODY_TRAINS),
    Refused(
        "G19",
        "job",
        spec(replicas("chief"), replicas("worker", 10_001)),
        "spec.replicaSpecs[1].replicas: Invalid value: 10001",
    ),
]

OLD = spec(
    replicas("chief"),
    replicas("worker", 2),
    replicas("ps"),
    replicas("evaluator"),
    runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
    scheduler={"t9kScheduler": {"queue": "a"}},
    tensorboardSpec={"image": "tb"},
)


def kept(path: str, value: Any, *, rule: str = "G17", text: str = "") -> Kept:
    """A change of one field that is immutable."""
    said = path.replace("s.0.", "s[0].").replace("s.1.", "s[1].")
    return Kept(rule, changed(OLD, path, value), text or f"spec.{said} is immutable")


KEPT: list[Kept] = [
    kept("runMode.debug", {"enabled": True}, rule="G8", text=DEBUG_TEXT),
    kept("runMode.pause.resumeSpecs.0.args", ["b"], rule="G9", text=RESUME_TEXT),
    Kept("G17", spec(replicas("chief")), "spec.replicaSpecs is immutable", spec()),
    kept("replicaSpecs.1.replicas", 3),
    kept("replicaSpecs.0.restartPolicy", "Never"),
    Kept(
        "G17",
        spec(replicas("worker"), replicas("chief")),
        "spec.replicaSpecs[0].type is immutable",
        spec(),
    ),
    kept("scheduler", None),
    kept("scheduler.t9kScheduler.queue", "b", text="spec.scheduler is immutable"),
]

MAY_CHANGE: Spec = merged(
    OLD,
    replicaSpecs=[
        replicas("chief", 1, container(image="other"), restartPolicy="OnFailure"),
        replicas("worker", 2),
        replicas("ps"),
        replicas("evaluator"),
    ],
    runPolicy={"backoffLimit": 9},
    runMode={**OLD["runMode"], "debug": {"enabled": False}},
    tensorboardSpec={"image": "other"},
)
MAY_CHANGE["runMode"]["pause"]["enabled"] = True

CASES = Cases(
    kind=KIND,
    refused=REFUSED,
    old=OLD,
    kept=KEPT,
    may_change=MAY_CHANGE,
    status={"backoffCount": 1, "tensorboard": {"ready": True, "note": "TensorBoard [keras] is ready"}},
)
