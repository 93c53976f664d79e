"""The Job that submits the program, and its pods: what is observed of them. Source: beamjob.md, section 4.

The Job's own controller makes the pods and decides how often it tries; here its condition is the end.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from statemachine.events import ChildChanged, Event
from statemachine.kind import Kind
from statemachine.kinds.beamjob.flink import REST, latest_job
from statemachine.kinds.beamjob.roles import JOB, job_manager_name, submit_name
from statemachine.observations import ChildObserved, Observation
from statemachine.owned import MAKER, POD_PHASE, Inquiry, Owned
from statemachine.schema.lookup import items, number, text
from statemachine.spec import CleanUpPolicy
from statemachine.state import ChildState, JobState, ReplicaPhase

ENDED: Final = "ended"
"""Fact of the Job: Complete or Failed."""

LOST: Final = "lost"
"""The Job existed, and does not exist any more."""

REASON: Final = "reason"
MESSAGE: Final = "message"

FLINK_JOB: Final = "FlinkJob"
"""What the program is for Flink: known by the id that Flink gave it."""

_COUNTS: Final = ("active", "succeeded", "failed")
_LONGEST: Final = 1024
_POD: Final = "Pod"

_MOST_PODS: Final = 128
"""Pods of one Job that are shown; those that come after them are not."""

_OVER: Final = frozenset({ReplicaPhase.SUCCEEDED, ReplicaPhase.FAILED})
_PROGRESS: Final[Mapping[str, int]] = {ReplicaPhase.RUNNING: 1, **dict.fromkeys(_OVER, 2)}
"""What a late report cannot take back. A pod whose status was lost may run again."""


def _facts(raw: Mapping[str, Any]) -> Mapping[str, str]:
    facts = {name: str(count) for name in _COUNTS if (count := number(raw, f"status.{name}"))}
    for _, condition in items(raw, "status.conditions"):
        type_ = text(condition, "type")
        if type_ in ("Complete", "Failed") and text(condition, "status") == "True":
            said = {REASON: text(condition, "reason"), MESSAGE: text(condition, "message")[:_LONGEST]}
            return facts | {ENDED: type_} | {name: value for name, value in said.items() if value}
    return facts


OWNED: Final = Owned("batch/v1", JOB, "jobs", optional=False, facts=_facts, makes_pods=True)
"""Source: Kubernetes, batch/v1 JobStatus."""


def submit_job(state: JobState) -> ChildState | None:
    """What is known of the Job; None: it was never reported."""
    return state.child(JOB, submit_name(state.name))


def submit_pods(state: JobState) -> list[ChildState]:
    """The Job's pods that were reported, in the order of their first report."""
    maker = submit_name(state.name)
    return [
        child for child in state.children.values() if child.kind == _POD and child.facts.get(MAKER) == maker
    ]


def phase_of(pod: ChildState) -> ReplicaPhase:
    """A submit pod's phase. One that is gone without an end is Deleted."""
    phase = pod.facts.get(POD_PHASE, "")
    if not pod.uid and phase not in _OVER:
        return ReplicaPhase.DELETED
    return ReplicaPhase(phase) if phase in {*ReplicaPhase} else ReplicaPhase.UNKNOWN


def runs(state: JobState) -> bool:
    """A pod of the Job runs."""
    return any(phase_of(pod) is ReplicaPhase.RUNNING for pod in submit_pods(state))


def flink_id(state: JobState) -> str:
    """The id of the program's job in Flink; empty until it is known."""
    known = state.child(FLINK_JOB, job_manager_name(state.name))
    return known.uid if known else ""


def _is_due(state: JobState) -> bool:
    """While the program may be submitted, and afterwards if its id is not known yet and the cluster stays."""
    if state.plan is None or state.deleted or submit_job(state) is None:
        return False
    return state.phase.is_active or (not flink_id(state) and state.plan.clean_up is CleanUpPolicy.NONE)


INQUIRY: Final = Inquiry(
    FLINK_JOB, REST, "/jobs/overview", lambda state: job_manager_name(state.name), _is_due, latest_job
)
"""Source: Flink REST API."""


def reports(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """What is reported of the Job and of its pods becomes known."""
    if not isinstance(observation, ChildObserved) or state.plan is None or state.deleted:
        return
    known = state.child(observation.kind, observation.name)
    if known and observation.gone_uid and known.uid not in ("", observation.gone_uid):
        return  # an earlier one is gone, and there is another since
    if (observation.kind, observation.name) == (JOB, submit_name(state.name)):
        news = _of_job(known, observation)
    elif observation.kind == _POD:
        news = _of_pod(state, known, observation)
    elif (observation.kind, observation.name) == (
        FLINK_JOB,
        job_manager_name(state.name),
    ) and observation.uid:
        news = _changed(observation, observation.facts)
    else:
        return
    if news is not None and (known is None or (known.uid, known.facts) != (news.uid, news.facts)):
        yield news


def _of_job(known: ChildState | None, observation: ChildObserved) -> ChildChanged | None:
    """Its end stays known, whatever is reported later of the same Job.

    It is lost when the projector has looked for it in vain: a watch says that one is gone that has lost its labels.
    """
    if not observation.uid:
        lost = {} if observation.gone_uid or ENDED in (known.facts if known else ()) else {LOST: "true"}
        return _changed(observation, {**known.facts, **lost}) if known else None
    if known and known.uid == observation.uid and ENDED in known.facts and ENDED not in observation.facts:
        return None
    return _changed(observation, observation.facts)


def _of_pod(state: JobState, known: ChildState | None, observation: ChildObserved) -> ChildChanged | None:
    """A pod's phase only moves on; an end stays known when the pod is gone."""
    over, phase = known is not None and phase_of(known) in _OVER, observation.facts.get(POD_PHASE, "")
    if not observation.uid:
        return None if known is None or over else _changed(observation, known.facts)
    if known is None:
        is_ours = observation.facts.get(MAKER) == submit_name(state.name)
        return (
            _changed(observation, observation.facts)
            if is_ours and len(submit_pods(state)) < _MOST_PODS
            else None
        )
    if known.uid == observation.uid and _PROGRESS.get(phase, 0) < _PROGRESS.get(phase_of(known), 0):
        return None
    return _changed(observation, observation.facts)


def _changed(observation: ChildObserved, facts: Mapping[str, str]) -> ChildChanged:
    return ChildChanged(kind=observation.kind, name=observation.name, uid=observation.uid, facts=dict(facts))
