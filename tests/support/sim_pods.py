"""The lives of simulated pods: scripts, and the statuses that they lead to. Pure.

The default script reads the pod's annotations `sim.jobledger.dev/…`: `start-seconds` (until Running),
`run-seconds` (until the end; absent: for ever), `exit-code`, `stop-seconds` (between deletion and
removal).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from k8s_bridge.port import Manifest
from k8s_bridge.timestamps import stamp

PREFIX = "sim.jobledger.dev/"

Status = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SimStep:
    """The pod enters `phase`, `after` seconds from the step before (or its creation).

    `exit_codes` are those of the containers, in order, at an end; a missing one is 0 for Succeeded, 1
    for Failed. An empty tuple with a `reason` is an end without containers' codes, such as an eviction.
    `restarts` is the number of restarts of each container in the pod.
    """

    after: float
    phase: str
    exit_codes: tuple[int, ...] = ()
    reason: str = ""
    restarts: int = 0


Script = Callable[[Manifest], Sequence[SimStep]]
"""A pod's manifest as created → its steps. Must be pure."""


def annotated(pod: Manifest) -> tuple[SimStep, ...]:
    """The default script, by the pod's annotations."""
    start, run = seconds(pod, "start-seconds", 0.05), seconds(pod, "run-seconds", None)
    steps: tuple[SimStep, ...] = (SimStep(start or 0.0, "Running"),)
    if run is not None:
        steps += (ending(pod, run),)
    return steps


def ending(pod: Manifest, after: float) -> SimStep:
    """The end by the annotations: `exit-code` in every container."""
    code = int(seconds(pod, "exit-code", 0.0) or 0)
    codes = tuple(code for _ in names(pod, "containers"))
    return SimStep(after, "Failed" if code else "Succeeded", codes)


def seconds(pod: Manifest, name: str, default: float | None) -> float | None:
    """The number in annotation `name`; `default` if there is none, or no number."""
    text = (pod["metadata"].get("annotations") or {}).get(PREFIX + name)
    try:
        return float(text) if text is not None else default
    except (TypeError, ValueError):
        return default


def names(pod: Mapping[str, Any], field: str) -> list[str]:
    """The names of the pod's containers, `field` being `containers` or `initContainers`."""
    return [
        container["name"] for container in (pod.get("spec") or {}).get(field) or () if container.get("name")
    ]


def pending(pod: Manifest) -> Status:
    """The status of a pod that waits for its node."""
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    containers = [
        {"name": container, "state": waiting, "ready": False} for container in names(pod, "containers")
    ]
    return {"phase": "Pending", "containerStatuses": containers}


def moved(pod: Manifest, step: SimStep, at: datetime) -> Status:
    """The pod's status after `step`, taken at `at`."""
    old: Status = pod.get("status") or {}
    status: Status = {"phase": step.phase}
    if "startTime" in old or step.phase == "Running":
        status["startTime"] = old.get("startTime") or stamp(at)
    if step.reason:
        status["reason"] = step.reason
    ready = step.phase == "Running"
    status["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
    inits = [
        _finished(container, 0, status.get("startTime") or stamp(at))
        for container in names(pod, "initContainers")
    ]
    if inits and step.phase != "Pending":
        status["initContainerStatuses"] = inits
    bare = step.reason and not step.exit_codes
    containers = [] if bare else _containers(pod, step, status, at)
    if step.restarts:
        containers = [{**container, "restartCount": step.restarts} for container in containers]
    status["containerStatuses"] = containers
    return status


def _containers(pod: Manifest, step: SimStep, status: Status, at: datetime) -> list[Status]:
    containers = names(pod, "containers")
    if step.phase == "Running":
        running = {"running": {"startedAt": status["startTime"]}}
        return [{"name": container, "state": running, "ready": True} for container in containers]
    if step.phase in ("Succeeded", "Failed"):
        missing = 0 if step.phase == "Succeeded" else 1
        codes = [*step.exit_codes, *[missing] * len(containers)]
        return [
            _finished(container, code, stamp(at)) for container, code in zip(containers, codes, strict=False)
        ]
    if step.phase == "Pending":
        pending_: list[Status] = pending(pod)["containerStatuses"]
        return pending_
    last: list[Status] = (pod.get("status") or {}).get("containerStatuses") or []
    return last


def _finished(name: str, code: int, at: str) -> Status:
    reason = "Completed" if code == 0 else "OOMKilled" if code == 137 else "Error"
    ended = {"exitCode": code, "reason": reason, "finishedAt": at}
    return {"name": name, "state": {"terminated": ended}, "ready": False}
