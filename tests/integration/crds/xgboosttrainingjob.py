"""XGBoostTrainingJob: what its CRD refuses and keeps."""

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
from tests.unit.kinds.xgboost import KIND, container, replicas, spec

TYPES = "unknown or repeated replica type"
TWICE = [{"type": "worker"}, {"type": "worker"}]
ONE_MASTER = "spec.replicaSpecs: exactly one master replica is required"


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
    Refused("G2", "a" * 48, spec(replicas("master"), replicas("worker", 11)), NAME_TOO_LONG_TEXT),
    Refused("G3", "job", spec(replicas("master"), replicas("ps")), "spec.replicaSpecs[1].type"),
    Refused(
        "G4",
        "job",
        spec(replicas("master", 1), replicas("master", 0)),
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
        spec(runMode={"pause": {"resumeSpecs": TWICE}}),
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
    Refused("XG1", "job", spec(replicas("worker")), ONE_MASTER),
    Refused("XG1", "job", spec(replicas("master", 2)), ONE_MASTER),
    Refused(
        "G19",
        "job",
        spec(replicas("master"), replicas("worker", 10_001)),
        "spec.replicaSpecs[1].replicas: Invalid value: 10001",
    ),
]

OLD = spec(
    replicas("master"),
    replicas("worker", 2),
    runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
    scheduler={"t9kScheduler": {"queue": "a"}},
)


def kept(path: str, value: Any, *, rule: str = "G17", text: str = "") -> Kept:
    """A change of one field that is immutable."""
    said = path.replace("s.0.", "s[0].").replace("s.1.", "s[1].")
    return Kept(rule, changed(OLD, path, value), text or f"spec.{said} is immutable")


KEPT: list[Kept] = [
    kept("runMode.debug", {"enabled": True}, rule="G8", text=DEBUG_TEXT),
    kept("runMode.pause.resumeSpecs.0.args", ["b"], rule="G9", text=RESUME_TEXT),
    Kept("G17", spec(replicas("master")), "spec.replicaSpecs is immutable", spec()),
    kept("replicaSpecs.1.replicas", 3),
    kept("replicaSpecs.0.restartPolicy", "Never"),
    Kept(
        "G17",
        spec(replicas("worker"), replicas("master")),
        "spec.replicaSpecs[0].type is immutable",
        spec(),
    ),
    kept("scheduler", None),
    kept("scheduler.t9kScheduler.queue", "b", text="spec.scheduler is immutable"),
]

MAY_CHANGE: Spec = merged(
    OLD,
    replicaSpecs=[
        replicas("master", 1, container(image="other"), restartPolicy="OnFailure"),
        replicas("worker", 2),
    ],
    runPolicy={"backoffLimit": 9},
    runMode={**OLD["runMode"], "debug": {"enabled": False}},
)
MAY_CHANGE["runMode"]["pause"]["enabled"] = True

CASES = Cases(
    kind=KIND, refused=REFUSED, old=OLD, kept=KEPT, may_change=MAY_CHANGE, status={"backoffCount": 1}
)
