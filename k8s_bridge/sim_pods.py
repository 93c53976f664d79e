"""How simulated pods live: scripts, and the statuses that they lead to. Pure.

The default script reads the pod's annotations `sim.jobledger.dev/…`: `start-seconds` (until Running),
`run-seconds` (until the end; absent: runs for ever), `exit-code`, `stop-seconds` (between deletion and
going).
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
class Step:
    """`after` seconds from the step before (or the creation) the pod is in `phase`.

    `exit_codes` are those of the containers, in order, at an end; one that is missing is 0 for Succeeded, 1
    for Failed. An empty tuple with a `reason` is an end without containers' codes, such as an eviction.
    `restarts` is how often the kubelet has started each container again in the pod.
    """

    after: float
    phase: str
    exit_codes: tuple[int, ...] = ()
    reason: str = ""
    restarts: int = 0


Script = Callable[[Manifest], Sequence[Step]]
"""What happens to a pod, from its manifest as created. Must be pure."""


def annotated(pod: Manifest) -> tuple[Step, ...]:
    """The default script: what the pod's annotations say."""
    start, run = seconds(pod, "start-seconds", 0.05), seconds(pod, "run-seconds", None)
    steps: tuple[Step, ...] = (Step(start or 0.0, "Running"),)
    if run is not None:
        steps += (ending(pod, run),)
    return steps


def ending(pod: Manifest, after: float) -> Step:
    """The end that the annotations ask for: `exit-code` in every container."""
    code = int(seconds(pod, "exit-code", 0.0) or 0)
    codes = tuple(code for _ in names(pod, "containers"))
    return Step(after, "Failed" if code else "Succeeded", codes)


def seconds(pod: Manifest, name: str, default: float | None) -> float | None:
    """The number in annotation `name`; `default` if there is none that can be read."""
    text = (pod["metadata"].get("annotations") or {}).get(PREFIX + name)
    try:
        return float(text) if text is not None else default
    except (TypeError, ValueError):
        return default


def names(pod: Mapping[str, Any], field: str) -> list[str]:
    """The names of the pod's containers, `field` being `containers` or `initContainers`."""
    return [each["name"] for each in (pod.get("spec") or {}).get(field) or () if each.get("name")]


def pending(pod: Manifest) -> Status:
    """The status of a pod that waits for its node."""
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    containers = [{"name": each, "state": waiting, "ready": False} for each in names(pod, "containers")]
    return {"phase": "Pending", "containerStatuses": containers}


def moved(pod: Manifest, step: Step, at: datetime) -> Status:
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
        _finished(each, 0, status.get("startTime") or stamp(at)) for each in names(pod, "initContainers")
    ]
    if inits and step.phase != "Pending":
        status["initContainerStatuses"] = inits
    bare = step.reason and not step.exit_codes
    containers = [] if bare else _containers(pod, step, status, at)
    if step.restarts:
        containers = [{**each, "restartCount": step.restarts} for each in containers]
    status["containerStatuses"] = containers
    return status


def _containers(pod: Manifest, step: Step, status: Status, at: datetime) -> list[Status]:
    found = names(pod, "containers")
    if step.phase == "Running":
        running = {"running": {"startedAt": status["startTime"]}}
        return [{"name": each, "state": running, "ready": True} for each in found]
    if step.phase in ("Succeeded", "Failed"):
        missing = 0 if step.phase == "Succeeded" else 1
        codes = [*step.exit_codes, *[missing] * len(found)]
        return [_finished(each, code, stamp(at)) for each, code in zip(found, codes, strict=False)]
    if step.phase == "Pending":
        pending_: list[Status] = pending(pod)["containerStatuses"]
        return pending_
    last: list[Status] = (pod.get("status") or {}).get("containerStatuses") or []
    return last


def _finished(name: str, code: int, at: str) -> Status:
    reason = "Completed" if code == 0 else "OOMKilled" if code == 137 else "Error"
    ended = {"exitCode": code, "reason": reason, "finishedAt": at}
    return {"name": name, "state": {"terminated": ended}, "ready": False}
