"""Jobs as users see them: manifests with the status that the log says. Pure.

Client commands import this for the words alone, so what it takes to make a status is imported late.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from k8s_bridge.port import JobEvent
    from statemachine.kind import Kind
    from statemachine.state import JobState

Manifest = dict[str, Any]

GONE: Final = "jobledger.dev/gone"
"""Annotation on a manifest made from the log of a job that is deleted: `deleting` or `deleted`."""


def with_status(job: Manifest, state: "JobState | None") -> Manifest:
    """The job object with the status of `state`, which may be ahead of the one stored with it."""
    from statemachine.status import status

    said = status(state) if state is not None else {}
    return {**job, "status": said} if said else job


def undecided(name: str, why: str) -> str:
    """What users read of a job in quarantine."""
    return (
        f'the history of job "{name}" cannot be read to its end ({why}), and nothing is decided: '
        f"`jobledger why {name}` shows what can be read, `jobledger delete {name}` ends the job"
    )


def in_quarantine(job: Manifest, why: str) -> Manifest:
    """The job object as it stands, with a status that says that nobody can tell how the job is, and `why`."""
    condition = {
        "type": "Undecided",
        "status": "True",
        "reason": "HistoryUnreadable",
        "message": undecided(job["metadata"]["name"], why),
    }
    said = job.get("status") or {}
    replaced = {"phase": "Unknown", "conditions": [*(said.get("conditions") or ()), condition]}
    return {**job, "status": {**said, **replaced}}


def manifest_of(state: "JobState") -> Manifest:
    """A job whose object is gone, from what the log says."""
    job = recorded(state)
    job["metadata"].setdefault("annotations", {GONE: "deleting"})
    return job


def recorded(state: "JobState") -> Manifest:
    """A job from what the log says, whether its object is there or not."""
    from statemachine.status import status
    from statemachine.timestamps import rfc3339

    meta: Manifest = {"name": state.name, "namespace": state.namespace, "uid": state.uid}
    if state.created_at is not None:
        meta["creationTimestamp"] = rfc3339(state.created_at)
    meta["generation"] = state.generation
    if state.deleted or state.closed:
        meta["annotations"] = {GONE: "deleted" if state.closed else "deleting"}
    if state.labels:
        meta["labels"] = dict(state.labels)
    return {
        "apiVersion": state.api_version,
        "kind": state.object_kind,
        "metadata": meta,
        "spec": dict(state.spec),
        "status": status(state),
    }


def is_gone(job: Manifest) -> bool:
    """The job is deleted, or being deleted."""
    meta = job["metadata"]
    return GONE in (meta.get("annotations") or {}) or bool(meta.get("deletionTimestamp"))


def phase_of(job: Manifest) -> str:
    """What users read as the job's phase: `Deleting` and `Deleted` stand before the phase it had."""
    if is_gone(job):
        gone = (job["metadata"].get("annotations") or {}).get(GONE)
        return "Deleted" if gone == "deleted" else "Deleting"
    return stated_phase(job) or "New"


def stated_phase(job: Manifest) -> str:
    """The phase that the job's status says, in so many words or by its conditions; empty if it says none."""
    status = job.get("status") or {}
    if phase := status.get("phase"):
        return str(phase)
    kind = known_kind(job) if status else None
    return kind.stated_phase(status) if kind else ""


_GONE_PHASES: Final = ("Deleting", "Deleted")
"""What `phase_of` says beside the phases of the state machine."""


def phase_meant(said: str, among: Sequence[str] = ()) -> str:
    """The phase that a user means by `said`, in whatever case; nothing stays nothing.

    `among`: those that there are; by default all that `phase_of` says.

    Raises:
        UnknownPhase: no job is ever in it.
    """
    if not said:
        return ""
    from jobledger.program.errors import UnknownPhase
    from statemachine.phases import Phase

    known = among or (*(phase.value for phase in Phase), *_GONE_PHASES)
    meant = next((phase for phase in known if phase.lower() == said.lower()), "")
    if not meant:
        raise UnknownPhase(said, known)
    return meant


def is_in(job: Manifest, phase: str) -> bool:
    """The job is in this phase, as the list shows it or as its status says; in any, if `phase` is empty."""
    return phase in ("", phase_of(job), stated_phase(job) or "New")


def event_of(event: "JobEvent") -> dict[str, Any]:
    """An Event as the API says it."""
    from statemachine.timestamps import rfc3339

    return {
        "name": event.name,
        "at": rfc3339(event.at),
        "type": event.level,
        "reason": event.reason,
        "message": event.message,
    }


def running_of(job: Manifest) -> tuple[int, int]:
    """How many replicas run, and how many there are."""
    status = job.get("status") or {}
    if counts := status.get("aggregate"):
        return counts.get("running", 0), sum(counts.values())
    kind = known_kind(job)
    return kind.counted(job) if kind else (0, 0)


def known_kind(job: Manifest) -> "Kind | None":
    """The job's kind; None for one of a newer jobledger. Only statuses of a form of their own need it."""
    from statemachine.kinds import UnknownKind, kind_of

    try:
        return kind_of(job["apiVersion"], job["kind"])
    except UnknownKind:
        return None


def replicas_of(job: Manifest) -> list[str]:
    """The names of the job's replicas: those its status counts, else those its kind makes of its spec."""
    status = job.get("status") or {}
    if tasks := status.get("tasks"):
        return [f"{task['type']}-{index}" for task in tasks for index in range(len(task["replicas"]))]
    kind = known_kind(job)
    if kind is None:
        return []
    plan = kind.admit(job["metadata"]["name"], job.get("spec") or {}).plan
    return list(plan.replicas()) if plan else []
