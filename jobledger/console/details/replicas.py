"""The rows of the replica table, from the state of a job and what its pods are made of. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from jobledger.console.details.overview import ContainerRow, containers
from jobledger.console.timeline.model import Mark
from projectors.explain.model import IncidentKind, Nature
from projectors.phrases import Language, in_words
from projectors.phrases.exits import exit_code
from statemachine.ids import split_replica
from statemachine.kinds import kind_of
from statemachine.observations import Container as ObservedContainer
from statemachine.state import JobState, ReplicaState

COLUMNS: Final = ("status", "name", "labels", "error", "restarts", "node", "cpu", "memory")
"""What the table shows at first. Source: spec console.md, section 4."""

ALL_COLUMNS: Final = (*COLUMNS, "attempt", "ready", "image", "extended", "uid")

ALWAYS: Final = "name"
"""The column that leads on."""


def columns(said: str) -> Sequence[str]:
    """The columns in `name,status`, in the order of the table; the usual ones if none is said."""
    wanted = {*said.split(",")} & {*ALL_COLUMNS}
    return [column for column in ALL_COLUMNS if column in wanted or column == ALWAYS] if wanted else COLUMNS


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """A replica: its pod of now, or that it has none. `error` says what is or was wrong, the latest first.

    `seen` is what the pod's status says of its containers; `labels` and `containers` are those of its manifest, once
    that is there (`described`). The API has promised these names.
    """

    name: str
    type: str
    pod: str
    uid: str
    phase: str
    attempt: int
    restarts: int
    ready: bool
    node: str
    error: str
    labels: tuple[str, ...]
    seen: tuple[ObservedContainer, ...]
    containers: tuple[ContainerRow, ...]
    primary: bool


def table(state: JobState, marks: Sequence[Mark], language: Language = "en") -> Sequence[ReplicaRow]:
    """All replicas that the job has or had, in the order of the state; errors are in `language`."""
    said = {
        mark.replica: in_words(mark.says, language)
        for mark in marks
        if mark.replica and mark.nature is Nature.ABNORMAL
    }  # the last one stands
    restarts = Counter(mark.replica for mark in marks if mark.kind is IncidentKind.RESTART)
    primary = state.plan.primary if state.plan else ""
    rows = []
    for replica in state.replicas.values():
        errors = "; ".join(filter(None, (_codes(replica.containers, language), said.get(replica.name, ""))))
        row = _row(state, replica, errors, is_primary=replica.name == primary)
        rows.append(replace(row, restarts=restarts[replica.name]))
    return rows


def described(row: ReplicaRow, pod: Mapping[str, Any]) -> ReplicaRow:
    """The row with the labels and containers that stand in the manifest of its pod."""
    labels = (pod.get("metadata") or {}).get("labels") or {}
    return replace(
        row,
        labels=tuple(f"{key}={value}" for key, value in sorted(labels.items())),
        containers=tuple(containers(pod)),
    )


def _row(state: JobState, replica: ReplicaState, errors: str, *, is_primary: bool) -> ReplicaRow:
    return ReplicaRow(
        name=replica.name,
        type=split_replica(replica.name)[0],
        pod=kind_of(state.api_version, state.kind).pod_name(state, replica.name),
        uid=replica.uid if replica.has_pod else "",
        phase=replica.phase.value,
        attempt=replica.attempt,
        restarts=0,
        ready=replica.ready,
        node=replica.node,
        error=errors,
        labels=(),
        seen=replica.containers,
        containers=(),
        primary=is_primary,
    )


def _codes(containers: Iterable[ObservedContainer], language: Language) -> str:
    codes = [
        f"{box.name}: {exit_code(box.exit_code).text(language).strip()}{f' ({box.reason})' if box.reason else ''}"
        for box in containers
        if box.exit_code
    ]
    return ", ".join(codes)
