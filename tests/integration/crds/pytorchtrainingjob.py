"""PyTorchTrainingJob: what its CRD refuses and keeps."""

from typing import Any

from tests.integration.crds.words import (
    DEBUG_TEXT,
    NAME_TEXT,
    NAME_TOO_LONG_TEXT,
    Cases,
    Kept,
    Refused,
    changed,
)
from tests.unit.kinds.build import TORCHRUN, Spec, container, merged, replicas, spec


def with_elastic(**elastic: Any) -> Spec:
    """A torchrun job with these elastic fields."""
    return spec(**TORCHRUN, elastic=elastic)


REFUSED: list[Refused] = [
    Refused("G1", "1a", spec(), NAME_TEXT),
    Refused("G1", "a.b", spec(), NAME_TEXT),
    Refused("G2", "a" * 49, spec(), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 48, spec(replicas("worker", 11)), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 48, with_elastic(enabled=True, minReplicas=1, maxReplicas=11), NAME_TOO_LONG_TEXT),
    Refused("G3", "job", spec(replicas("W")), 'spec.replicaSpecs[0].type: Invalid value: "W"'),
    Refused(
        "G3", "job", spec(replicas("w" * 21)), "spec.replicaSpecs[0].type: Too long: may not be more than 20"
    ),
    Refused(
        "G4", "job", spec(replicas("a"), replicas("a")), "spec.replicaSpecs: replica types must be unique"
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
    Refused(
        "G11",
        "job",
        spec(runPolicy={"cleanUpPolicy": "Some"}),
        'spec.runPolicy.cleanUpPolicy: Unsupported value: "Some"',
    ),
    Refused(
        "G12",
        "job",
        spec(torchrunConfig={"enable": False, "enabled": True}),
        "spec.torchrunConfig.enable is a deprecated alias of spec.torchrunConfig.enabled; set only one",
    ),
    Refused(
        "G12",
        "job",
        spec(elastic={"enable": True, "enabled": False}),
        "spec.elastic.enable is a deprecated alias of spec.elastic.enabled; set only one",
    ),
    Refused(
        "G12",
        "job",
        spec(runMode={"debug": {"enable": True, "enabled": False}}),
        "spec.runMode.debug.enable is a deprecated alias of spec.runMode.debug.enabled; set only one",
    ),
    Refused(
        "G12",
        "job",
        spec(runMode={"pause": {"enable": True, "enabled": False}}),
        "spec.runMode.pause.enable is a deprecated alias of spec.runMode.pause.enabled; set only one",
    ),
    Refused(
        "G12",
        "job",
        spec(tensorboardSpec={"logDir": {"pvc": [{"name": "a", "subpath": ["x"], "subPath": ["y"]}]}}),
        "spec.tensorboardSpec.logDir.pvc[].subpath is a deprecated alias of "
        "spec.tensorboardSpec.logDir.pvc[].subPath; set only one",
    ),
    Refused(
        "PT1",
        "job",
        spec(replicas("worker", 0)),
        "spec.replicaSpecs[0].replicas: must be at least 1, its first replica is the master",
    ),
    Refused(
        "PT3",
        "job",
        with_elastic(enabled=True, minReplicas=1),
        "spec.elastic: minReplicas and maxReplicas are required",
    ),
    Refused(
        "PT4",
        "job",
        with_elastic(enabled=True, minReplicas=3, maxReplicas=2),
        "spec.elastic: must satisfy 1 <= minReplicas <= maxReplicas",
    ),
    Refused(
        "PT4",
        "job",
        with_elastic(enabled=False, minReplicas=0, maxReplicas=2),
        "spec.elastic: must satisfy 1 <= minReplicas <= maxReplicas",
    ),
    Refused(
        "PT5",
        "job",
        with_elastic(enabled=True, minReplicas=1, maxReplicas=2, expectedReplicas=3),
        "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas",
    ),
    Refused("PT7", "job", spec(torchrunConfig={"procPerNode": "tpu"}), "spec.torchrunConfig.procPerNode"),
    Refused(
        "PT8",
        "job",
        spec(torchrunConfig={"rdzvBackend": "etcd"}),
        "spec.torchrunConfig: rdzvBackend etcd needs --rdzv_endpoint in extraOptions",
    ),
    Refused(
        "PT11",
        "job",
        spec(
            replicas("a", 2, scalingWeight=0),
            replicas("b"),
            **TORCHRUN,
            elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 9},
        ),
        "spec.elastic.minReplicas: too small for the number of replica types",
    ),
    Refused(
        "G19", "job", spec(replicas("worker", 10_001)), "spec.replicaSpecs[0].replicas: Invalid value: 10001"
    ),
    Refused(
        "G19",
        "job",
        with_elastic(enabled=True, minReplicas=1, maxReplicas=10_001),
        "spec.elastic.maxReplicas: Invalid value: 10001",
    ),
]


ITEMS = [replicas("worker", 2), replicas("ps", 1)]
OLD = spec(
    *ITEMS,
    torchrunConfig={"enable": True, "procPerNode": "4"},
    elastic={"enabled": True, "minReplicas": 3, "maxReplicas": 5},
    scheduler={"t9kScheduler": {"queue": "a"}},
    runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
)


def _etcd(**torchrun: Any) -> Spec:
    """A job with torchrun and a rendezvous of its own."""
    config = {"enabled": True, "rdzvBackend": "etcd", "extraOptions": ["--rdzv_endpoint=etcd:2379"]}
    return spec(torchrunConfig={**config, **torchrun})


KEPT: list[Kept] = [
    Kept("G8", changed(OLD, "runMode.debug", {"enabled": True}), DEBUG_TEXT),
    Kept("G8", changed(OLD, "runMode.debug", {"replicaSpecs": [{"type": "ps"}]}), DEBUG_TEXT),
    Kept(
        "G9",
        changed(OLD, "runMode.pause.resumeSpecs.0.args", ["b"]),
        "spec.runMode.pause.resumeSpecs is immutable",
    ),
    Kept("G9", changed(OLD, "runMode.pause", {}), "spec.runMode.pause.resumeSpecs is immutable"),
    Kept("G17", changed(OLD, "replicaSpecs", [*ITEMS, replicas("x")]), "spec.replicaSpecs is immutable"),
    Kept("G17", changed(OLD, "replicaSpecs.1.type", "node"), "spec.replicaSpecs[1].type is immutable"),
    Kept("G17", changed(OLD, "replicaSpecs.1.replicas", 3), "spec.replicaSpecs[1].replicas is immutable"),
    Kept(
        "G17",
        changed(OLD, "replicaSpecs.0.restartPolicy", "Never"),
        "spec.replicaSpecs[0].restartPolicy is immutable",
    ),
    Kept(
        "G17",
        changed(OLD, "replicaSpecs.1.scalingWeight", 4),
        "spec.replicaSpecs[1].scalingWeight is immutable",
    ),
    Kept(
        "G17", changed(OLD, "torchrunConfig.maxRestarts", 1), "spec.torchrunConfig.maxRestarts is immutable"
    ),
    Kept(
        "G17",
        changed(OLD, "torchrunConfig.procPerNode", "gpu"),
        "spec.torchrunConfig.procPerNode is immutable",
    ),
    Kept(
        "G17",
        changed(OLD, "torchrunConfig.procPerNode", None),
        "spec.torchrunConfig.procPerNode is immutable",
    ),
    Kept(
        "G17",
        changed(OLD, "torchrunConfig.extraOptions", ["--tee=3"]),
        "spec.torchrunConfig.extraOptions is immutable",
    ),
    Kept("G17", changed(OLD, "scheduler", None), "spec.scheduler is immutable"),
    Kept("G17", changed(OLD, "scheduler.t9kScheduler.queue", "b"), "spec.scheduler is immutable"),
    Kept("G17", changed(OLD, "scheduler.t9kScheduler.priority", 1), "spec.scheduler is immutable"),
    Kept("PT6", changed(OLD, "elastic.minReplicas", 4), "spec.elastic.minReplicas is immutable"),
    Kept("PT6", changed(OLD, "elastic.maxReplicas", 6), "spec.elastic.maxReplicas is immutable"),
    Kept("PT6", changed(OLD, "elastic.enabled", False), "spec.elastic.enabled is immutable"),
    Kept("G17", _etcd(enabled=False), "spec.torchrunConfig.enabled is immutable", _etcd()),
    Kept("G17", _etcd(rdzvBackend="c10d"), "spec.torchrunConfig.rdzvBackend is immutable", _etcd()),
]

MAY_CHANGE = merged(
    changed(OLD, "runMode.pause.enabled", value=True),
    torchrunConfig={"enabled": True, "procPerNode": 4, "rdzvBackend": "c10d"},
    elastic={"enabled": True, "minReplicas": 3, "maxReplicas": 5, "expectedReplicas": 4},
    runPolicy={"backoffLimit": 9},
    tensorboardSpec={"image": "tb"},
    replicaSpecs=[replicas("worker", 2, container(image="other")), ITEMS[1]],
)
MAY_CHANGE["runMode"]["debug"] = {"enabled": False}

CASES = Cases(
    kind="PyTorchTrainingJob",
    refused=REFUSED,
    old=OLD,
    kept=KEPT,
    may_change=MAY_CHANGE,
    scale=(4, 9),
    status={
        "backoffCount": 1,
        "tensorboard": {
            "dependent": {
                "apiVersion": "v1",
                "kind": "TensorBoard",
                "name": "a",
                "namespace": "b",
                "uid": "c",
            },
            "ready": True,
            "reason": "DependentReady",
            "action": "NOP",
            "type": "Normal",
            "note": "TensorBoard [a] is ready",
        },
    },
)
