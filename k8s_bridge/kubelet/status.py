"""The status of a local pod, made from its containers. Pure."""

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
    """The container has not started."""

    reason: str = "PodInitializing"
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """The container has started, and has not ended."""

    since: datetime | None


State = Waiting | Running | Ended


@dataclass(frozen=True, slots=True)
class PastRuns:
    """The runs of a container before its present one: their number, and the end of the last."""

    restarts: int = 0
    last: Ended | None = None


@dataclass(frozen=True, slots=True)
class PodOutcome:
    """The result of the pod as a whole."""

    phase: str
    reason: str = ""
    message: str = ""


def pod_status(
    pod: Manifest,
    states: Mapping[str, State],
    past: Mapping[str, PastRuns],
    verdict: PodOutcome,
    started_at: str,
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
    main = [container["name"] for container in spec.get("containers") or ()]
    ready = verdict.phase == "Running" and all(isinstance(states.get(name), Running) for name in main)
    status["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
    for field, listed in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        names = [container["name"] for container in spec.get(field) or ()]
        if names:
            status[listed] = [
                _container(name, states.get(name, Waiting()), past.get(name, PastRuns())) for name in names
            ]
    return status


def verdict(ended: Mapping[str, Ended]) -> PodOutcome:
    """The result of a pod by the ends of all its containers, none of which is started again.

    Source: Kubernetes, pod lifecycle, pod phase.
    """
    if all(end.well for end in ended.values()):
        return PodOutcome("Succeeded")
    for name, end in ended.items():
        if end.reason in (LOST, START_ERROR, CANNOT_START):
            return PodOutcome("Failed", end.reason, f'container "{name}": {end.message}')
    return PodOutcome("Failed")


def _container(name: str, state: State, past: PastRuns) -> dict[str, Any]:
    status: dict[str, Any] = {
        "name": name,
        "ready": isinstance(state, Running),
        "restartCount": past.restarts,
    }
    if past.last is not None:
        status["lastState"] = {"terminated": _terminated(past.last)}
    match state:
        case Running(since):
            status["state"] = {"running": {"startedAt": stamp(since)} if since else {}}
        case Ended(reason=reason) if reason == NEVER:
            status["state"] = {"waiting": {"reason": "ContainerCreating", "message": state.message}}
        case Ended():
            status["state"] = {"terminated": _terminated(state)}
        case Waiting(reason, message):
            status["state"] = {"waiting": {"reason": reason} | ({"message": message} if message else {})}
    return status


def _terminated(ended: Ended) -> dict[str, Any]:
    code = {} if ended.code is None else {"exitCode": ended.code}
    message = {"message": ended.message} if ended.message else {}
    return {**code, "reason": ended.reason, **message, "finishedAt": stamp(ended.at)}
