"""The wishes that have a verb of their own, as merge patches. Pure.

`kubectl jobledger` imports this too, so what only `scale` needs is imported late.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jobledger.jobs.views import is_gone, stated_phase
from jobledger.program.errors import NotPossible
from k8s_bridge.port import Manifest
from statemachine.phases import FINAL

if TYPE_CHECKING:
    from statemachine.state import JobState

MergePatch = dict[str, Any]


def wished(wish: str, job: Manifest, body: Mapping[str, Any]) -> MergePatch:
    """The patch for `pause`, `resume` or `scale`. Raises NotPossible where the job cannot be changed so."""
    return scaled(job, body["replicas"]) if wish == "scale" else paused(job, wish == "pause")


def paused(job: Manifest, on: bool) -> MergePatch:
    """Pause the job, or let it go on. Source: spec R11."""
    _unfinished(job, "paused" if on else "resumed")
    from statemachine.kinds import kind_of

    change = kind_of(job["apiVersion"], job["kind"]).pausing(on)
    if not change:
        raise NotPossible(f'job "{job["metadata"]["name"]}" cannot be paused: no {job["kind"]} can')
    return {"spec": change}


def kueue_queue(job: Manifest, state: "JobState | None" = None) -> str:
    """The queue of Kueue's that decides when the job runs; empty if none does.

    With the `state` of the log it is known of jobs, too, that only their Workload puts into a queue.
    """
    from statemachine.kinds import kind_of

    labels = (job.get("metadata") or {}).get("labels") or {}
    if state is not None and state.queue is not None and state.queue.standing != "gone":
        return state.queue.queue
    return kind_of(job["apiVersion"], job["kind"]).queue(labels)


def queue_note(job: Manifest, state: "JobState | None" = None) -> str:
    """What somebody has to know who pauses or resumes a job in a queue; empty for any other job."""
    queue = kueue_queue(job, state)
    if not queue:
        return ""
    return (
        f'Kueue decides when {job["metadata"]["name"]} runs (queue "{queue}"): it resumes a job that it has '
        "admitted, and suspends one that it has not. spec.active: false in its Workload keeps it stopped."
    )


def scaled(job: Manifest, replicas: int) -> MergePatch:
    """So many replicas are wished, at the place that the kind's `scale` subresource names. Source: spec R12.

    Whether the job is elastic is for `patches` to say.
    """
    _unfinished(job, "scaled")
    name, path = job["metadata"]["name"], _scale_path(job)
    if not path:
        raise NotPossible(f'job "{name}" cannot be scaled: a {job["kind"]} has a fixed number of replicas')
    place = (job.get("spec") or {}).get(path[1])
    if path[1] != "elastic":
        # a type may be written in any case, and a patch has to say it as the object does
        key = (
            next((spelling for spelling in place if spelling.lower() == path[2].lower()), "")
            if isinstance(place, dict)
            else ""
        )
        if not key:
            raise NotPossible(f'job "{name}" cannot be scaled: it has no {".".join(path[1:-1])}')
        return _at((*path[:2], key, *path[3:]), replicas)
    return _at(path, replicas)


def _at(path: tuple[str, ...], value: object) -> MergePatch:
    patch: Any = value
    for step in reversed(path):
        patch = {step: patch}
    return dict(patch)


def still_there(job: Manifest) -> None:
    """Nothing, for a job that can be changed. Raises NotPossible for one that is being deleted."""
    if is_gone(job):
        raise NotPossible(f'job "{job["metadata"]["name"]}" is being deleted and cannot be changed any more')


def _unfinished(job: Manifest, done: str) -> None:
    still_there(job)
    phase = stated_phase(job)
    if phase in FINAL:
        raise NotPossible(f'job "{job["metadata"]["name"]}" cannot be {done}: it has ended ({phase})')


def scale_path(job: Manifest) -> str:
    """Where the number of replicas is wished, as `spec.elastic.expectedReplicas`; empty where it is fixed."""
    return ".".join(_scale_path(job))


def _scale_path(job: Manifest) -> tuple[str, ...]:
    """`.spec.elastic.expectedReplicas` in steps; empty for a kind without the subresource."""
    from statemachine.kinds import kind_of

    crd = kind_of(job["apiVersion"], job["kind"]).crd()
    scale_path = (
        crd["spec"]["versions"][0].get("subresources", {}).get("scale", {}).get("specReplicasPath", "")
    )
    return tuple(step for step in scale_path.split(".") if step)
