"""The status of a local pod, from what is known of its containers. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from k8s_bridge.kubelet.containers import LOST, NEVER, START_ERROR, Ended
from k8s_bridge.kubelet.values import ADDRESS
from k8s_bridge.port import Manifest
from k8s_bridge.timestamps import stamp
from statemachine.observations import CANNOT_START


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not started."""

    reason: str = "PodInitializing"
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Started, and has not ended."""

    since: datetime | None


State = Waiting | Running | Ended


@dataclass(frozen=True, slots=True)
class Past:
    """The runs of a container before the one that its state speaks of: how many, and how the last one ended."""

    restarts: int = 0
    last: Ended | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said about the pod as a whole."""

    phase: str
    reason: str = ""
    message: str = ""


def pod_status(
    pod: Manifest, states: Mapping[str, State], past: Mapping[str, Past], verdict: Verdict, started_at: str
) -> dict[str, Any]:
    """`status` of `pod`; `states` and `past` by container name, init containers included."""
    spec = pod.get("spec") or {}
    status: dict[str, Any] = {
        "phase": verdict.phase,
        "startTime": started_at,
        "hostIP": ADDRESS,
        "podIP": ADDRESS,
    }
    if verdict.reason:
        status["reason"] = verdict.reason
    if verdict.message:
        status["message"] = verdict.message
    main = [each["name"] for each in spec.get("containers") or ()]
    ready = verdict.phase == "Running" and all(isinstance(states.get(each), Running) for each in main)
    status["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
    for field, listed in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        names = [each["name"] for each in spec.get(field) or ()]
        if names:
            status[listed] = [
                _container(name, states.get(name, Waiting()), past.get(name, Past())) for name in names
            ]
    return status


def verdict(ended: Mapping[str, Ended]) -> Verdict:
    """What the ends of all containers, none of which is started again, make of the pod.

    Source: Kubernetes, pod lifecycle, pod phase.
    """
    if all(each.well for each in ended.values()):
        return Verdict("Succeeded")
    for name, each in ended.items():
        if each.reason in (LOST, START_ERROR, CANNOT_START):
            return Verdict("Failed", each.reason, f'container "{name}": {each.message}')
    return Verdict("Failed")


def _container(name: str, state: State, past: Past) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name,
        "ready": isinstance(state, Running),
        "restartCount": past.restarts,
    }
    if past.last is not None:
        found["lastState"] = {"terminated": _terminated(past.last)}
    match state:
        case Running(since):
            found["state"] = {"running": {"startedAt": stamp(since)} if since else {}}
        case Ended(reason=reason) if reason == NEVER:
            found["state"] = {"waiting": {"reason": "ContainerCreating", "message": state.message}}
        case Ended():
            found["state"] = {"terminated": _terminated(state)}
        case Waiting(reason, message):
            found["state"] = {"waiting": {"reason": reason} | ({"message": message} if message else {})}
    return found


def _terminated(ended: Ended) -> dict[str, Any]:
    code = {} if ended.code is None else {"exitCode": ended.code}
    message = {"message": ended.message} if ended.message else {}
    return {**code, "reason": ended.reason, **message, "finishedAt": stamp(ended.at)}
