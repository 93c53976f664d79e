"""The schema of a T9k job's status. Source: spec R6, R7, R14."""

from typing import Any

from statemachine.state import ReplicaPhase

Schema = dict[str, Any]

_PHASES = ["Pending", "Running", "Paused", "Resuming", "Succeeded", "Failed", "Unknown"]


def status_schema(*, restarts: bool, tensorboard: bool) -> Schema:
    """The status schema; `backoffCount` and `tensorboard` only where the kind has them."""
    return _object(
        "What the controller knows of the job. Written by the controller only.",
        {
            "phase": _text("Where the job is in its life.", enum=_PHASES),
            "conditions": _conditions(),
            "tasks": _list("The replicas by type, in the order of the spec.", _task()),
            "aggregate": _aggregate(),
            **(
                {"backoffCount": _count("Restarts done so far, all replica types together.")}
                if restarts
                else {}
            ),
            **({"tensorboard": _tensorboard()} if tensorboard else {}),
            "startTime": _time("When the job was started, or resumed last."),
            "completionTime": _time("When the job succeeded or failed."),
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "The generation of the spec that was acted on last.",
            },
        },
    )


def _conditions() -> Schema:
    item = _object(
        "One condition.",
        {
            "type": _text("Initialized, Running, ReplicaFailure, Completed, Failed or Paused."),
            "status": _text("Whether it holds.", enum=["True", "False", "Unknown"]),
            "reason": _text('Why, in a word; "-" if there is nothing to say.'),
            "message": _text("Why, in a sentence."),
            "lastTransitionTime": _time("When status changed last."),
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "Generation it was set from.",
            },
        },
    )
    return {
        **_list(
            "What holds of the job, in order of first appearance.", item | {"required": ["type", "status"]}
        ),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }


def _task() -> Schema:
    container = _object(
        "A container of the pod.",
        {
            "name": _text("Its name."),
            "state": _text("What it is doing.", enum=["Waiting", "Running", "Terminated", "Unknown"]),
            "exitCode": {
                "type": "integer",
                "format": "int32",
                "description": "Its exit code once terminated.",
            },
        },
    )
    replica = _object(
        "One replica.",
        {
            "name": _text("Name of its pod."),
            "uid": _text("uid of its current pod, empty while there is none."),
            "phase": _text(
                "Phase of the pod; Creating: asked for and not seen yet; Deleted: there is none.",
                enum=[phase.value for phase in ReplicaPhase],
            ),
            "containers": _list("Its containers, of the last pod if there is none now.", container),
        },
    )
    return _object(
        "The replicas of one type.",
        {
            "type": _text("The replica type."),
            "restartCount": _count("Restarts of all its replicas together."),
            "replicas": _list("Its replicas by index.", replica),
        },
    )


def _aggregate() -> Schema:
    phases = ("creating", "pending", "running", "succeeded", "failed", "unknown", "deleted")
    return _object(
        "Number of replicas in each phase, over all types.",
        {phase: _count(f"Replicas that are {phase}.") for phase in phases},
    )


def _tensorboard() -> Schema:
    names = ("apiVersion", "kind", "name", "namespace", "uid")
    return _object(
        "State of the job's TensorBoard.",
        {
            "dependent": _object("The TensorBoard object.", {name: _text(f"Its {name}.") for name in names}),
            "ready": {"type": "boolean", "description": "TensorBoard runs."},
            "reason": _text("State in a word."),
            "note": _text("State in a sentence."),
            "action": _text("What the controller does about it: NOP, Create or Update."),
            "type": _text("Normal or Warning."),
        },
    )


def _object(about: str, properties: Schema) -> Schema:
    return {"type": "object", "description": about, "properties": properties}


def _list(about: str, item: Schema) -> Schema:
    return {"type": "array", "description": about, "items": item}


def _text(about: str, **more: object) -> Schema:
    return {"type": "string", "description": about, **more}


def _count(about: str) -> Schema:
    return {"type": "integer", "format": "int32", "description": about}


def _time(about: str) -> Schema:
    return {"type": "string", "format": "date-time", "description": about}
