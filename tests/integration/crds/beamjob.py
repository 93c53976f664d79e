"""BeamJob: what its CRD refuses and keeps."""

from tests.integration.crds.words import (
    DEBUG_TEXT,
    NAME_TEXT,
    NAME_TOO_LONG_TEXT,
    Cases,
    Kept,
    Refused,
    changed,
)
from tests.unit.kinds.beam import KIND, container, flink, job_template, spec
from tests.unit.kinds.build import Spec, merged

CLUSTER = "spec.flinkClusterTemplate.spec"
TWICE = [{"type": "batchjob"}, {"type": "batchjob"}]
ENABLED = "spec.runMode.debug.enable is a deprecated alias of spec.runMode.debug.enabled; set only one"


def without(name: str) -> Spec:
    """A job without one of its required parts."""
    return {part: value for part, value in spec().items() if part != name}


REFUSED: list[Refused] = [
    Refused("G1", "1a", spec(), NAME_TEXT),
    Refused("BJ1", "job", without("flinkClusterTemplate"), "spec.flinkClusterTemplate"),
    Refused("BJ1", "job", without("jobTemplate"), "spec.jobTemplate"),
    Refused("BJ1", "job", spec(cluster=flink(flinkVersion="1.16")), f"{CLUSTER}.flinkVersion"),
    Refused("BJ1", "job", spec(cluster=flink(image={})), f"{CLUSTER}.image.name"),
    Refused("BJ4", "a" * 37, spec(), NAME_TOO_LONG_TEXT),
    Refused("BJ4", "a" * 36, spec(11), NAME_TOO_LONG_TEXT),
    Refused(
        "G7",
        "job",
        spec(runMode={"debug": {"replicaSpecs": TWICE}}),
        "spec.runMode.debug.replicaSpecs: unknown or repeated replica type",
    ),
    Refused(
        "G10",
        "job",
        spec(scheduler={"t9kScheduler": {"priority": 101}}),
        "spec.scheduler.t9kScheduler.priority",
    ),
    Refused("G12", "job", spec(runMode={"debug": {"enable": True, "enabled": False}}), ENABLED),
    Refused("G19", "job", spec(10_001), f"{CLUSTER}.taskManager.replicas"),
]

OLD = spec(
    2,
    cluster=flink(2, flinkProperties={"a": "b"}),
    scheduler={"t9kScheduler": {"queue": "a"}},
)


def kept(path: str, value: object, *, text: str = "") -> Kept:
    """A change of one field of the cluster that is immutable."""
    return Kept(
        "G17",
        changed(OLD, f"flinkClusterTemplate.spec.{path}", value),
        text or f"{CLUSTER}.{path} is immutable",
    )


KEPT: list[Kept] = [
    Kept("G8", changed(OLD, "runMode.debug", {"enabled": True}), DEBUG_TEXT),
    kept("flinkVersion", "1.17.0"),
    kept("image.name", "flink:2"),
    kept("image.pullPolicy", "Always"),
    kept("taskManager.replicas", 3),
    kept("taskManager.replicas", None),
    Kept("G17", changed(OLD, "scheduler.t9kScheduler.queue", "b"), "spec.scheduler is immutable"),
    Kept("G17", changed(OLD, "scheduler", None), "spec.scheduler is immutable"),
]

MAY_CHANGE: Spec = merged(
    OLD,
    jobTemplate=job_template(container(image="other")),
    runPolicy={"cleanUpCluster": True},
    runMode={"debug": {"enabled": False}},
)

CASES = Cases(
    kind=KIND,
    refused=REFUSED,
    old=OLD,
    kept=KEPT,
    may_change=MAY_CHANGE,
    policies=({"runPolicy": {"cleanUpCluster": True}}, {"runPolicy": {"cleanUpCluster": False}}),
    status={"jobURL": "/t9k/"},
)
