"""Jobs as users see them: manifests with the status that the log says. Pure.

Client commands import this for the words alone, so what it takes to make a status is imported late.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from statemachine.state import JobState

Manifest = dict[str, Any]

GONE: Final = "jobledger.dev/gone"
"""Annotation on a manifest made from the log of a job that is deleted: `deleting` or `deleted`."""


def with_status(job: Manifest, state: "JobState | None") -> Manifest:
    """The job object with the status of `state`, which may be ahead of the one stored with it."""
    from statemachine.status import status

    said = status(state) if state is not None else {}
    return {**job, "status": said} if said else job


def manifest_of(state: "JobState") -> Manifest:
    """A job whose object is gone, from what the log says."""
    from statemachine.status import status
    from statemachine.timestamps import rfc3339

    meta: Manifest = {"name": state.name, "namespace": state.namespace, "uid": state.uid}
    if state.created_at is not None:
        meta["creationTimestamp"] = rfc3339(state.created_at)
    meta["generation"] = state.generation
    meta["annotations"] = {GONE: "deleted" if state.closed else "deleting"}
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
    return str((job.get("status") or {}).get("phase") or "New")
