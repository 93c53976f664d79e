"""What the API server shows of a PyTorchJob besides its spec: status, columns, scale.

Source: kubeflow-pytorchjob.md, head and section 4.
"""

from typing import Any, Final

from statemachine.kinds.common.crd import Served

Schema = dict[str, Any]


def _text(about: str, **more: object) -> Schema:
    return {"type": "string", "description": about, **more}


def _time(about: str) -> Schema:
    return {"type": "string", "format": "date-time", "description": about}


def _count(about: str) -> Schema:
    return {"type": "integer", "format": "int32", "description": about}


def _object(about: str, properties: Schema) -> Schema:
    return {"type": "object", "description": about, "properties": properties}


_CONDITION: Final = _object(
    "One condition.",
    {
        "type": _text("Created, Running, Restarting, Succeeded, Failed or Suspended."),
        "status": _text("Whether it holds.", enum=["True", "False", "Unknown"]),
        "reason": _text("Why, in a word."),
        "message": _text("Why, in a sentence."),
        "lastUpdateTime": _time("When it was set last."),
        "lastTransitionTime": _time("When status changed last."),
    },
) | {"required": ["type", "status"]}

_REPLICAS: Final = _object(
    "The pods of one replica type.",
    {
        "active": _count("Pods that run and are not being deleted."),
        "succeeded": _count("Pods that have succeeded."),
        "failed": _count("Pods that have failed."),
        "selector": _text("Label selector of the type's pods."),
    },
)

STATUS: Final = _object(
    "What the controller knows of the job. Written by the controller only.",
    {
        "conditions": {
            "type": "array",
            "description": "What holds of the job; what changed last stands at the end.",
            "items": _CONDITION,
        },
        "replicaStatuses": {
            "type": "object",
            "description": "The replicas by type: Master, Worker.",
            "additionalProperties": _REPLICAS,
        },
        "startTime": _time("When the job was started, or resumed last."),
        "completionTime": _time("When the job succeeded or failed."),
        "lastReconcileTime": _time("When it was last looked whether the PodGroup fits."),
    },
)

SERVED: Final = Served(
    about="Distributed training with PyTorch, as the Kubeflow training operator knows it: a Master and Workers, or "
    "Workers alone.",
    status=STATUS,
    columns=(
        {"name": "State", "type": "string", "jsonPath": ".status.conditions[-1:].type"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ),
    scale={
        "specReplicasPath": ".spec.pytorchReplicaSpecs.Worker.replicas",
        "statusReplicasPath": ".status.replicaStatuses.Worker.active",
        "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
    },
)
