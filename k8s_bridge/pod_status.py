"""What the status of a raw pod says of its containers, its end, and when that was. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from k8s_bridge.raw import mapping, mappings, text
from statemachine.ids import whole_number
from statemachine.observations import Container, ContainerStatus, PodPhase
from statemachine.timestamps import instant

_LONGEST_GRACE: Final = 100 * 365 * 86_400
"""Seconds; what is longer is nonsense."""

ENDED: Final = (PodPhase.SUCCEEDED, PodPhase.FAILED)


def phase_of(status: Mapping[str, Any]) -> PodPhase | None:
    """The phase; None for one that is unknown."""
    try:
        return PodPhase(text(status.get("phase")))
    except ValueError:
        return None


def disruption_of(conditions: Iterable[Mapping[str, Any]]) -> str:
    """Why the pod is disrupted; empty if it is not."""
    for condition in conditions:
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            return text(condition.get("reason")) or "DisruptionTarget"
    return ""


class RawContainer(NamedTuple):
    """A status of a container as it was read: its name may be empty, its state hold anything."""

    name: str
    state: Mapping[str, Any]
    restarts: int
    init: bool


def read_containers(status: Mapping[str, Any]) -> list[RawContainer]:
    """The statuses of all containers: init containers first, as the pod runs them."""
    return [
        RawContainer(
            text(container.get("name")),
            mapping(container.get("state")),
            whole_number(container.get("restartCount")) or 0,
            init,
        )
        for field, init in (("initContainerStatuses", True), ("containerStatuses", False))
        for container in mappings(status.get(field))
    ]


def containers_of(statuses: Iterable[RawContainer]) -> tuple[Container, ...]:
    """Those that have a name."""
    return tuple([_container(*container) for container in statuses if container.name])


def _container(name: str, state: Mapping[str, Any], restarts: int, init: bool) -> Container:
    for key, known in (
        ("terminated", ContainerStatus.TERMINATED),
        ("running", ContainerStatus.RUNNING),
        ("waiting", ContainerStatus.WAITING),
    ):
        if key in state and isinstance(state[key], Mapping):
            detail = mapping(state[key])
            code = _exit_code(detail) if key == "terminated" else None
            reason = text(detail.get("reason"))
            return Container(
                name=name, state=known, exit_code=code, reason=reason, init=init, restarts=restarts
            )
    # Kubernetes: a state without a member counts as waiting; one with an unknown member is not understood.
    unknown = ContainerStatus.UNKNOWN if state else ContainerStatus.WAITING
    return Container(name=name, state=unknown, init=init, restarts=restarts)


def _exit_code(detail: Mapping[str, Any]) -> int | None:
    """The exit code as given; Windows ones may be negative."""
    code = detail.get("exitCode")
    return code if type(code) is int and -(1 << 31) <= code < 1 << 32 else None


def ended_or_started_at(statuses: Iterable[RawContainer], phase: PodPhase) -> datetime | None:
    """The latest instant that explains `phase`: an end is explained by ends only."""
    instants: list[datetime | None] = []
    for container in statuses:
        state = container.state
        if "terminated" in state:
            instants.append(instant(mapping(state["terminated"]).get("finishedAt")))
        if "running" in state and phase not in ENDED:
            instants.append(instant(mapping(state["running"]).get("startedAt")))
    return max([at for at in instants if at is not None], default=None)


_NOT_STARTED: Final = ("StartError", "ContainerCannotRun")
"""Reasons of containers that never ran: of containerd and CRI-O, of dockershim and cri-dockerd."""

_FOR_GOOD: Final = re.compile(
    r"exec.*(executable file not found|no such file or directory|exec format error|argument list too long"
    r"|permission denied|is a directory)",
    re.IGNORECASE | re.DOTALL,
)
"""What a runtime says of a program that no other attempt would start. Source: runc; execve(2) ENOENT, ENOEXEC, E2BIG,
EACCES, EISDIR. A mount that is missing is not among them: another node may have it."""


def refused_for_good(statuses: Iterable[RawContainer]) -> str:
    """What the container runtime said of a program that it will never start; empty if it was something else."""
    for container in statuses:
        ended = mapping(container.state.get("terminated"))
        said = text(ended.get("message"))
        if text(ended.get("reason")) in _NOT_STARTED and _FOR_GOOD.search(said):
            return said
    return ""


def own_ends(meta: Mapping[str, Any], statuses: Iterable[RawContainer]) -> Iterator[str]:
    """The containers that had finished when somebody asked for the pod's deletion (spec R8, T18 against T11).

    Source: Kubernetes, pod termination: deletionTimestamp is the moment of the request plus the grace period, also
    after that was shortened.
    """
    until = instant(meta.get("deletionTimestamp"))
    if until is None:
        return
    grace = meta.get("deletionGracePeriodSeconds")
    seconds = grace if isinstance(grace, int | float) and 0 <= grace <= _LONGEST_GRACE else 0
    asked_at = until - timedelta(seconds=seconds)
    for container in statuses:
        if container.name and not container.init:
            finished = instant(mapping(container.state.get("terminated")).get("finishedAt"))
            if finished is not None and finished <= asked_at:
                yield container.name
