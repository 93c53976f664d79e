"""The life of a BeamJob: the cluster comes up, the program is submitted, and the Job that does that decides.

Its conditions are words of its own. Source: beamjob.md, section 4.
"""

from collections.abc import Iterator
from typing import Final

from statemachine.events import (
    Announced,
    Cause,
    CauseClass,
    Condition,
    ConditionsChanged,
    Event,
)
from statemachine.kind import Kind, LifeRule
from statemachine.kinds.beamjob import submit
from statemachine.kinds.beamjob.roles import JOB, submit_name
from statemachine.observations import Observation
from statemachine.owned import Child
from statemachine.phases import Phase, Trigger, allows
from statemachine.rules import words
from statemachine.rules.admission import admission
from statemachine.rules.backoff import delays
from statemachine.rules.creation import acceptance, deletions, refusals, requests, start_refusals
from statemachine.rules.ending import clean_up, closing
from statemachine.rules.entering import entered
from statemachine.rules.pods import pods
from statemachine.rules.restart import restart
from statemachine.spec import CleanUpPolicy
from statemachine.state import JobState, ReplicaPhase, ReplicaState

CLUSTER_RUNNING: Final = "ClusterRunning"
JOB_RUNNING: Final = "JobRunning"


def is_launched(state: JobState) -> bool:
    """The cluster was up once: the program may be submitted. What the cluster does afterwards takes nothing back."""
    return state.condition(JOB_RUNNING) is not None


def keeps(job: JobState, child: Child) -> bool:
    """The PodGroup exists while the job is active, the Job from its launch on, the cluster until it is cleaned up."""
    if child.kind == "PodGroup":
        return job.phase.is_active
    if child.kind == JOB:
        return is_launched(job)
    return not (job.is_final and _cleans_up(job))


def _cleans_up(state: JobState) -> bool:
    return state.plan is not None and state.plan.clean_up is CleanUpPolicy.ALL


def in_our_words(rule: LifeRule) -> LifeRule:
    """A shared rule whose conditions become those of a BeamJob; what has no place in them is left out."""

    def worded(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
        for event in rule(kind, state, observation):
            if not isinstance(event, ConditionsChanged):
                yield event
            elif conditions := tuple(_in_our_words(state, event)):
                yield event.changed(conditions=conditions, removed=())

    return worded


def _in_our_words(state: JobState, event: ConditionsChanged) -> Iterator[Condition]:
    for condition in event.conditions:
        if condition.type == words.INITIALIZED and condition.status == "False":
            of = JOB_RUNNING if is_launched(state) else CLUSTER_RUNNING
            yield words.false(of, condition.reason, condition.message)
        elif condition.type == words.CHILD_REFUSED or condition == words.true(
            words.FAILED, condition.reason, condition.message
        ):
            yield condition


def standing(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Whether the cluster and the submitting Job run. The first time that the cluster is up is the launch."""
    if not state.phase.is_active or state.deleted:
        return
    changes: list[Condition] = []
    missing = next((replica for replica in state.members if not _serves(replica)), None)
    if missing is None and not _holds(state, CLUSTER_RUNNING):
        changes.append(words.true(CLUSTER_RUNNING, "", ""))
        if not is_launched(state):
            changes.append(words.false(JOB_RUNNING, "", ""))
    elif missing is not None and _holds(state, CLUSTER_RUNNING):
        said = f"The Flink pod {kind.pod_name(state, missing.name)} is {_standing_of(missing)}."
        changes.append(words.false(CLUSTER_RUNNING, "PodNotRunning", said))
    if is_launched(state) and submit.runs(state) != _holds(state, JOB_RUNNING):
        changes.append((words.true if submit.runs(state) else words.false)(JOB_RUNNING, "", ""))
    if changes:
        yield ConditionsChanged(at=observation.at, conditions=tuple(changes))


def _serves(replica: ReplicaState) -> bool:
    return replica.phase is ReplicaPhase.RUNNING and not replica.leaving and not replica.deleting


def _standing_of(replica: ReplicaState) -> str:
    return "being deleted" if replica.phase is ReplicaPhase.RUNNING else replica.phase.value


def _holds(state: JobState, type_: str) -> bool:
    condition = state.condition(type_)
    return condition is not None and condition.status == "True"


def sight(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The status of every Flink pod was lost (T16), or one's is known again (T17). One to be made is no loss."""
    if not state.phase.is_active or state.deleted:
        return
    living = [replica for replica in state.members if replica.lives or replica.wanted]
    lost = bool(living) and all(replica.phase is ReplicaPhase.UNKNOWN for replica in living)
    if lost and allows(state.phase, Trigger.STATUS_LOST):
        yield entered(state, Trigger.STATUS_LOST, "T16", observation)
    elif not lost and state.phase is Phase.UNKNOWN:
        trigger = Trigger.STATUS_KNOWN_UP if state.has_run else Trigger.STATUS_KNOWN_PENDING
        yield entered(state, trigger, "T17", observation)


def running(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The cluster is up and a pod that submits the program runs, or the Job has ended since (T7)."""
    if not is_launched(state) or not allows(state.phase, Trigger.REPLICAS_UP):
        return
    if _holds(state, JOB_RUNNING) or _end(state):
        yield entered(state, Trigger.REPLICAS_UP, "T7", observation)
        yield Announced(reason="Running", message=words.NORMAL_MESSAGE)


def _end(state: JobState) -> str:
    known = submit.submit_job(state)
    return known.facts.get(submit.ENDED, "") if known else ""


def outcome(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The end of the Job that submits the program is the job's (T8, T9). So is its deletion: nothing runs twice."""
    known = submit.submit_job(state)
    if known is None or state.deleted or not allows(state.phase, Trigger.SUCCESS_MET):
        return
    ended, name = _end(state), submit_name(state.name)
    if ended == "Complete":
        yield entered(state, Trigger.SUCCESS_MET, "T8", observation)
        yield ConditionsChanged(
            at=observation.at, conditions=tuple(_at_the_end(state, "Succeeded", words.DONE_MESSAGE))
        )
        yield Announced(reason="Succeeded", message=words.DONE_MESSAGE)
    elif ended:
        why = known.facts.get(submit.MESSAGE, "")
        message = f"The Job {name} has failed{f': {why}' if why else '.'}"
        yield from _failed(
            state, observation, known.facts.get(submit.REASON) or "Failed", message, lost=False
        )
    elif submit.LOST in known.facts:
        message = f"The Job {name}, which submits the program, was deleted before it had ended."
        yield from _failed(state, observation, "SubmitJobDeleted", message, lost=True)


def _failed(
    state: JobState, observation: Observation, reason: str, message: str, *, lost: bool
) -> Iterator[Event]:
    class_ = CauseClass.DELETED_BY_SOMEONE if lost else CauseClass.APPLICATION_EXIT
    cause = Cause(kind=class_, rule="T9", reason=reason, message=message)
    yield entered(state, Trigger.FAILURE_MET, "T9", observation, cause)
    conditions = (*_at_the_end(state, reason, message), words.true(words.FAILED, reason, message))
    yield ConditionsChanged(at=observation.at, conditions=conditions)
    yield Announced(reason="Failed", message=message, level="Warning")


def _at_the_end(state: JobState, reason: str, message: str) -> Iterator[Condition]:
    """Nothing is submitted any more; and the cluster goes, where it is cleaned up."""
    yield words.false(JOB_RUNNING, reason, message)
    if _cleans_up(state):
        yield words.false(CLUSTER_RUNNING, "CleanedUp", "The Flink cluster is deleted, as runPolicy asks.")


LIFE: Final[tuple[LifeRule, ...]] = (
    in_our_words(admission),  # what the user wishes, before anything that depends on it
    pods,  # what the Flink pods did
    in_our_words(refusals),  # what the cluster would not take
    deletions,  # … and takes now
    in_our_words(start_refusals),  # … or start, before it is judged as a failure
    submit.reports,  # what the submitting Job and its pods did
    in_our_words(restart),  # an ended Flink pod is judged before anybody asks whether the cluster runs
    in_our_words(acceptance),  # T4 before T7
    sight,  # T17 before T7
    standing,  # the launch comes before what depends on it
    running,  # T7 before T8: a job passes through Running, however fast it is
    outcome,
    clean_up,  # once the phase is final
    delays,
    requests,  # after everything that can make a pod wanted or unwanted
    closing,
)
