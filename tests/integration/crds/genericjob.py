"""GenericJob: what its CRD refuses and keeps."""

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
from tests.unit.kinds.generic import HTTP, KIND, container, replicas, restarting, ruled, spec

TYPES = "unknown or repeated replica type"
TWICE = [{"type": "worker"}, {"type": "worker"}]


def alias(path: str) -> Refused:
    """A switch under both its names, which disagree."""
    first, second = path.split(".")
    text = f"spec.{path}.enable is a deprecated alias of spec.{path}.enabled; set only one"
    return Refused("G12", "job", spec(**{first: {second: {"enable": True, "enabled": False}}}), text)


REFUSED: list[Refused] = [
    Refused("G1", "1a", spec(), NAME_TEXT),
    Refused("G1", "a.b", spec(), NAME_TEXT),
    Refused("G2", "a" * 55, spec(), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 54, spec(replicas("worker", 11)), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 55, spec(replicas("a", 1), replicas("worker", 0)), NAME_TOO_LONG_TEXT),
    Refused("G3", "job", spec(replicas("W")), 'spec.replicaSpecs[0].type: Invalid value: "W"'),
    Refused(
        "G4", "job", spec(replicas("a"), replicas("a")), "spec.replicaSpecs: replica types must be unique"
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
    alias("runMode.debug"),
    alias("runMode.pause"),
    Refused(
        "GJ7", "job", spec(restarting("a", 1, "ExitCode", 1)), "spec.replicaSpecs[0].restartPolicy.policy"
    ),
    Refused("GJ7", "job", spec(restarting("a", 1, "Never", -1)), "spec.replicaSpecs[0].restartPolicy.limit"),
    Refused("shape", "job", spec(successRules=[{"worker": [True]}]), "spec.successRules[0].worker[0]"),
    Refused("shape", "job", spec(cleanUpPolicy="Some"), "spec.cleanUpPolicy"),
    Refused("G19", "job", spec(replicas("a", 10_001)), "spec.replicaSpecs[0].replicas: Invalid value: 10001"),
]

OLD = ruled(
    restarting("ps", 1, "Always", 1),
    replicas(),
    success=[{"worker": [0, "1"]}],
    failure=[{"worker": [0]}, {"worker": [1], "ps": [0]}],
    runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
    scheduler={"t9kScheduler": {"queue": "a"}},
    **HTTP,
)


def kept(path: str, value: Any, *, rule: str = "G17", text: str = "") -> Kept:
    """A change of one field that is immutable."""
    said = path.replace("s.0.", "s[0].").replace("s.1.", "s[1].")
    return Kept(rule, changed(OLD, path, value), text or f"spec.{said} is immutable")


KEPT: list[Kept] = [
    kept("runMode.debug", {"enabled": True}, rule="G8", text=DEBUG_TEXT),
    kept("runMode.pause.resumeSpecs.0.args", ["b"], rule="G9", text=RESUME_TEXT),
    kept("replicaSpecs.0.type", "a"),
    kept("replicaSpecs.1.replicas", 3),
    kept("replicaSpecs.1.replicas", None),
    kept("replicaSpecs.0.restartPolicy.policy", "Never"),
    kept("replicaSpecs.0.restartPolicy.limit", 2),
    kept(
        "replicaSpecs.1.restartPolicy",
        {"policy": "Never"},
        text="spec.replicaSpecs[1].restartPolicy.policy is immutable",
    ),
    Kept(
        "G17",
        merged(OLD, replicaSpecs=[*OLD["replicaSpecs"], replicas("x")]),
        "spec.replicaSpecs is immutable",
    ),
    kept("successRules.0.worker", [0], text="spec.successRules is immutable"),
    kept("successRules", None),
    kept("failureRules", [{"worker": [0]}]),
    kept("service.ports.0.port", 80, text="spec.service is immutable"),
    kept("service", None),
    kept("scheduler", None),
    kept("scheduler.t9kScheduler.priority", 1, text="spec.scheduler is immutable"),
]

MAY_CHANGE: Spec = merged(
    OLD,
    replicaSpecs=[
        restarting("ps", 1, "Always", 1),
        replicas("worker", 2, container(image="other"), restartPolicy={"policy": "OnFailure", "limit": 0}),
    ],
    cleanUpPolicy="All",
    runMode={**OLD["runMode"], "debug": {"enabled": False}},
)
MAY_CHANGE["runMode"]["pause"]["enabled"] = True

CASES = Cases(
    kind=KIND,
    refused=REFUSED,
    old=OLD,
    kept=KEPT,
    may_change=MAY_CHANGE,
    policies=({"cleanUpPolicy": "All"}, {"cleanUpPolicy": "Unfinished"}),
)
