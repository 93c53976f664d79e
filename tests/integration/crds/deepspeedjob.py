"""DeepSpeedJob: what its CRD refuses and keeps."""

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
from tests.unit.kinds.deepspeed import RUN, container, spec, worker


def with_config(**config: Any) -> Spec:
    """A job with these fields of `config`."""
    return spec(config={**RUN, **config})


def _alias(path: str) -> str:
    return f"spec.{path}.enable is a deprecated alias of spec.{path}.enabled; set only one"


REFUSED: list[Refused] = [
    Refused("G1", "1a", spec(), NAME_TEXT),
    Refused("G2", "a" * 55, spec(), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 54, spec(worker(11)), NAME_TOO_LONG_TEXT),
    Refused(
        "G2",
        "a" * 54,
        spec(elastic={"enabled": True, "minReplicas": 1, "maxReplicas": 11}),
        NAME_TOO_LONG_TEXT,
    ),
    Refused(
        "G7",
        "job",
        spec(runMode={"debug": {"replicaSpecs": [{"type": "worker"}, {"type": "worker"}]}}),
        "spec.runMode.debug.replicaSpecs: unknown or repeated replica type",
    ),
    Refused(
        "G7",
        "job",
        spec(runMode={"pause": {"resumeSpecs": [{"type": "worker"}, {"type": "worker"}]}}),
        "spec.runMode.pause.resumeSpecs: unknown or repeated replica type",
    ),
    Refused(
        "G7",
        "job",
        spec(runMode={"pause": {"resumeSpecs": [{"type": "ps"}]}}),
        "spec.runMode.pause.resumeSpecs: unknown or repeated replica type",
    ),
    Refused(
        "G10",
        "job",
        spec(scheduler={"t9kScheduler": {"priority": 101}}),
        "spec.scheduler.t9kScheduler.priority",
    ),
    Refused(
        "G11", "job", spec(runPolicy={"activeDeadlineSeconds": 0}), "spec.runPolicy.activeDeadlineSeconds"
    ),
    Refused("G11", "job", spec(runPolicy={"backoffLimit": -1}), "spec.runPolicy.backoffLimit"),
    Refused("G11", "job", spec(runPolicy={"cleanUpPolicy": "Some"}), "spec.runPolicy.cleanUpPolicy"),
    Refused(
        "G12",
        "job",
        with_config(slotPerWorker=1, slotsPerWorker=2),
        "spec.config.slotPerWorker is a deprecated alias of spec.config.slotsPerWorker; set only one",
    ),
    Refused("G12", "job", spec(elastic={"enable": True, "enabled": False}), _alias("elastic")),
    Refused(
        "G12", "job", spec(runMode={"debug": {"enable": True, "enabled": False}}), _alias("runMode.debug")
    ),
    Refused(
        "G12", "job", spec(runMode={"pause": {"enable": True, "enabled": False}}), _alias("runMode.pause")
    ),
    Refused("DS1", "job", {"worker": worker()}, "spec.config: Required value"),
    Refused(
        "DS1",
        "job",
        spec(config={"run": {"python": ["a.py"], "exec": ["b"]}}),
        "spec.config.run: Too many: 2: must have at most 1 item",
    ),
    Refused(
        "DS9",
        "job",
        spec(elastic={"enabled": True}),
        "spec.elastic: minReplicas and maxReplicas are required",
    ),
    Refused(
        "DS9",
        "job",
        spec(elastic={"minReplicas": 3, "maxReplicas": 2}),
        "spec.elastic: must satisfy 1 <= minReplicas <= maxReplicas",
    ),
    Refused(
        "DS9",
        "job",
        spec(elastic={"minReplicas": 1, "maxReplicas": 2, "expectedReplicas": 3}),
        "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas",
    ),
    # bounds of fields without a rule of their own
    Refused("", "job", spec(worker(0)), "spec.worker.replicas"),
    Refused("", "job", spec(worker(1, restartPolicy="Sometimes")), "spec.worker.restartPolicy"),
    Refused("", "job", {"config": RUN}, "spec.worker: Required value"),
    Refused("", "job", with_config(slotsPerWorker=0), "spec.config.slotsPerWorker"),
    Refused("", "job", with_config(autotune="always"), "spec.config.autotune"),
    Refused("G19", "job", spec(worker(10_001)), "spec.worker.replicas: Invalid value: 10001"),
]

OLD = spec(
    worker(2),
    config={**RUN, "slotPerWorker": 2, "otherArgs": ["--no_ssh_check"]},
    elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 4},
    scheduler={"t9kScheduler": {"queue": "a"}},
    runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
)

KEPT: list[Kept] = [
    Kept("G8", changed(OLD, "runMode.debug", {"enabled": True}), DEBUG_TEXT),
    Kept("G8", changed(OLD, "runMode.debug", {"replicaSpecs": [{"type": "worker"}]}), DEBUG_TEXT),
    Kept("G9", changed(OLD, "runMode.pause.resumeSpecs.0.args", ["b"]), RESUME_TEXT),
    Kept("G9", changed(OLD, "runMode.pause", {}), RESUME_TEXT),
    Kept("G17", changed(OLD, "worker.replicas", 3), "spec.worker.replicas is immutable"),
    Kept("G17", changed(OLD, "worker.restartPolicy", "Never"), "spec.worker.restartPolicy is immutable"),
    Kept("G17", changed(OLD, "config.slotPerWorker", 3), "spec.config.slotsPerWorker is immutable"),
    Kept("G17", changed(OLD, "config.slotPerWorker", None), "spec.config.slotsPerWorker is immutable"),
    Kept("G17", changed(OLD, "config.localRank", value=False), "spec.config.localRank is immutable"),
    Kept("G17", changed(OLD, "config.autotune", "run"), "spec.config.autotune is immutable"),
    Kept("G17", changed(OLD, "config.otherArgs", ["--force_multi"]), "spec.config.otherArgs is immutable"),
    Kept("G17", changed(OLD, "config.otherArgs", None), "spec.config.otherArgs is immutable"),
    Kept("G17", changed(OLD, "config.customCommand", "true"), "spec.config.customCommand is immutable"),
    Kept("G17", changed(OLD, "disableCustomEnv", value=True), "spec.disableCustomEnv is immutable"),
    Kept("G17", changed(OLD, "scheduler", None), "spec.scheduler is immutable"),
    Kept("G17", changed(OLD, "scheduler.t9kScheduler.queue", "b"), "spec.scheduler is immutable"),
    Kept("DS9", changed(OLD, "elastic.minReplicas", 1), "spec.elastic.minReplicas is immutable"),
    Kept("DS9", changed(OLD, "elastic.maxReplicas", 5), "spec.elastic.maxReplicas is immutable"),
    Kept("DS9", changed(OLD, "elastic.enabled", value=False), "spec.elastic.enabled is immutable"),
]

MAY_CHANGE = merged(
    changed(OLD, "runMode.pause.enabled", value=True),
    worker=worker(2, container(image="other")),
    config={
        **RUN,
        "slotsPerWorker": 2,
        "otherArgs": ["--no_ssh_check"],
        "localRank": True,
        "autotune": "none",
    },
    elastic={"enable": True, "minReplicas": 2, "maxReplicas": 4, "expectedReplicas": 3},
    runPolicy={"backoffLimit": 9},
)

CASES = Cases(
    kind="DeepSpeedJob",
    refused=REFUSED,
    old=OLD,
    kept=KEPT,
    may_change=MAY_CHANGE,
    scale=(3, 5),
    status={"backoffCount": 1},
)
