"""PyTorchJob: what its CRD refuses and keeps."""

from typing import Any

from tests.integration.crds.words import NAME_TOO_LONG_TEXT, Cases, Kept, Refused
from tests.unit.kinds.build import Spec
from tests.unit.kinds.kubeflow import container, replica, scheduling, spec, types, workers_only

TYPES = "spec.pytorchReplicaSpecs"
NAME_TEXT = "metadata.name: should match: a DNS-1035 label"


def strange(key: str) -> str:
    """What is said of a key that there is not."""
    return f'{TYPES}[{key}]: Unsupported value: "{key}": supported values: "Master", "Worker"'


def policy(**run_policy: Any) -> Spec:
    """A spec with this run policy."""
    return spec(runPolicy=run_policy)


def elastic(**elastic_policy: Any) -> Spec:
    """Workers alone with this elastic policy."""
    return workers_only(elasticPolicy=elastic_policy)


REFUSED = [
    Refused("K1", "1a", spec(), NAME_TEXT),
    Refused("K1", "a.b", spec(), NAME_TEXT),
    Refused("K1", "a" * 55, spec(), NAME_TOO_LONG_TEXT),
    Refused("K1", "a" * 54, workers_only(11), NAME_TOO_LONG_TEXT),
    Refused("K1", "a" * 54, elastic(maxReplicas=11), NAME_TOO_LONG_TEXT),
    Refused("K2", "job", spec({}), f"{TYPES}: Required value: must be required"),
    Refused("K2", "job", {}, "spec.pytorchReplicaSpecs: Required value"),
    Refused("K3", "job", spec(types(chief=replica())), strange("chief")),
    Refused("K3", "job", spec(types(WORKER=replica())), strange("WORKER")),
    Refused("K7", "job", spec({"Master": replica(2)}), f"{TYPES}[Master].replicas: Forbidden: must be 1"),
    Refused("K7", "job", spec({"MASTER": replica(0)}), f"{TYPES}[Master].replicas: Forbidden: must be 1"),
    Refused("K8", "job", workers_only(0), f"{TYPES}[Worker].replicas: Forbidden: must be at least 1"),
    Refused(
        "K9",
        "job",
        spec({"Master": replica()}, elasticPolicy={}),
        f"{TYPES}[Worker]: Required value: must be configured if elastic policy is used",
    ),
    Refused(
        "K10",
        "job",
        workers_only(nprocPerNode="2", elasticPolicy={"nProcPerNode": 2}),
        "spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode",
    ),
    Refused(
        "K12", "job", policy(managedBy="me"), 'spec.runPolicy.managedBy: Unsupported value: "me": supported'
    ),
    Refused(
        "K14",
        "job",
        elastic(minReplicas=3, maxReplicas=2),
        "spec.elasticPolicy.maxReplicas: must not be smaller than minReplicas",
    ),
    Refused("K15", "job", policy(activeDeadlineSeconds=0), "spec.runPolicy.activeDeadlineSeconds"),
    Refused("K15", "job", policy(backoffLimit=-1), "spec.runPolicy.backoffLimit"),
    Refused("K15", "job", policy(ttlSecondsAfterFinished=-1), "spec.runPolicy.ttlSecondsAfterFinished"),
    Refused(
        "K15", "job", spec(**scheduling(minAvailable=-1)), "spec.runPolicy.schedulingPolicy.minAvailable"
    ),
    Refused(
        "K15",
        "job",
        spec(**scheduling(scheduleTimeoutSeconds=-1)),
        "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds",
    ),
    Refused("K15", "job", elastic(minReplicas=-1), "spec.elasticPolicy.minReplicas"),
    Refused("K15", "job", elastic(minReplicas=0), "spec.elasticPolicy.minReplicas"),
    Refused("K15", "job", elastic(rdzvPort=-1), "spec.elasticPolicy.rdzvPort"),
    Refused(
        "", "job", policy(cleanPodPolicy="Some"), 'spec.runPolicy.cleanPodPolicy: Unsupported value: "Some"'
    ),
    Refused("", "job", spec(types(Worker=replica(restartPolicy="No"))), ".Worker.restartPolicy: Unsupported"),
    Refused("", "job", spec(nprocPerNode="tpu"), "spec.nprocPerNode: Invalid value"),
    Refused("", "job", elastic(rdzvBackend="zk"), "spec.elasticPolicy.rdzvBackend: Unsupported value"),
    Refused("", "job", spec({"Worker": {"replicas": 1}}), "Worker.template: Required value"),
    Refused("G19", "job", workers_only(10_001), "Worker.replicas: Invalid value: 10001"),
    Refused(
        "G19", "job", elastic(maxReplicas=10_001), "spec.elasticPolicy.maxReplicas: Invalid value: 10001"
    ),
]

OLD = spec(types(2), runPolicy={"schedulingPolicy": {"queue": "a"}})
MANAGED = policy(managedBy="kubeflow.org/training-operator")
SAME_MANAGER = "spec.runPolicy.managedBy: field is immutable"
SAME_QUEUE = "spec.runPolicy.schedulingPolicy.queue is immutable"
SAME_TYPES = f"{TYPES}: Forbidden: replica types cannot be added or taken away"

KEPT = [
    Kept("K13", policy(managedBy="kueue.x-k8s.io/multikueue"), SAME_MANAGER, MANAGED),
    Kept("K13", spec(), SAME_MANAGER, MANAGED),
    Kept("K13", MANAGED, SAME_MANAGER, spec()),
    Kept("K13", spec(**scheduling(queue="b")), SAME_QUEUE, OLD),
    Kept("K13", spec(), SAME_QUEUE, OLD),
    Kept("K13", spec(**scheduling(queue="b")), SAME_QUEUE, spec()),
    Kept("KX2", spec({"Worker": replica(2)}, **scheduling(queue="a")), SAME_TYPES, OLD),
    Kept("KX2", spec(), SAME_TYPES, workers_only()),
    Kept("KX2", spec({"Master": replica()}), SAME_TYPES, workers_only()),
]

MAY_CHANGE = spec(
    {
        "MASTER": replica(1, container(image="other")),
        "Worker": replica(5, restartPolicy="ExitCode"),
    },
    nprocPerNode="4",
    elasticPolicy={"minReplicas": 1, "metrics": [{"type": "Resource", "resource": {"name": "cpu"}}]},
    runPolicy={
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 0,
        "activeDeadlineSeconds": 1,
        "backoffLimit": 0,
        "suspend": True,
        "schedulingPolicy": {
            "queue": "a",
            "minAvailable": 2,
            "minResources": {"cpu": 1, "memory": "1Gi"},
            "priorityClass": "high",
            "scheduleTimeoutSeconds": 5,
        },
    },
)

AT = "2023-01-31T06:10:00Z"

STATUS: dict[str, Any] = {
    "startTime": AT,
    "completionTime": AT,
    "lastReconcileTime": AT,
    "replicaStatuses": {
        "Master": {"active": 1, "selector": "a=b"},
        "Worker": {"active": 2, "succeeded": 1, "failed": 1, "selector": "a=b"},
    },
    "conditions": [
        {
            "type": "Created",
            "status": "True",
            "reason": "PyTorchJobCreated",
            "message": "PyTorchJob mnist is created.",
            "lastUpdateTime": AT,
            "lastTransitionTime": AT,
        }
    ],
}

CASES = Cases(
    kind="PyTorchJob",
    refused=REFUSED,
    old=OLD,
    kept=KEPT,
    may_change=MAY_CHANGE,
    scale=(4, 0),
    scale_path=".spec.pytorchReplicaSpecs.Worker.replicas",
    scale_text=f"{TYPES}[Worker].replicas: Forbidden: must be at least 1",
    whole_status=STATUS,
)
