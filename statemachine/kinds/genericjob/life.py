"""The life of a GenericJob: its own result and restarts, else that of T9k kinds. Source: genericjob.md, section 5."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from statemachine.events import Cause, CauseClass, Event
from statemachine.ids import ReplicaName, replica_name
from statemachine.kind import Budget, Kind, LifeRule
from statemachine.observations import Observation, PodObserved, PodPhase
from statemachine.phases import ACTIVE, Trigger, allows
from statemachine.rules import causes
from statemachine.rules.admission import admission
from statemachine.rules.asking import answers
from statemachine.rules.backoff import delays
from statemachine.rules.creation import acceptance, deletions, refusals, requests, start_refusals
from statemachine.rules.ending import clean_up, closing, failed, succeeded
from statemachine.rules.lifecycle import lost_and_found, recovered, running
from statemachine.rules.pause import pause, paused
from statemachine.rules.pods import pods
from statemachine.rules.queue import queue
from statemachine.rules.restart import restart
from statemachine.state import JobState, ReplicaState

Ranks = Mapping[str, Sequence[int]]
"""Replica type → indexes of its replicas: what one rule names."""

_NO_RULE: Final = "All replicas have ended but no success or failure rule is fulfilled."


def success_rules(state: JobState) -> Iterable[Ranks]:
    """The rules of success in their order; one that names every replica where the spec has none."""
    types = state.running_plan.types
    return state.spec.get("successRules") or [
        {type_.type: range(type_.scale) for type_ in types if type_.scale}
    ]


def failure_rules(state: JobState) -> Iterable[Ranks]:
    """The rules of failure in their order; one for each replica where the spec has none."""
    types = state.running_plan.types
    return state.spec.get("failureRules") or (
        {type_.type: [index]} for type_ in types for index in range(type_.scale)
    )


def _is_met(state: JobState, rule: Ranks, by: Callable[[ReplicaState], bool]) -> bool:
    """All replicas that the rule names are as it asks.

    A job that another controller admitted may have a rule that names others, or nothing: it is never met.
    """
    named = [state.replicas.get(replica_name(type_, rank)) for type_, ranks in rule.items() for rank in ranks]
    return bool(named) and all(replica is not None and by(replica) for replica in named)


def written(rule: Ranks) -> str:
    """A rule as messages show it: `{ "worker": [0, 1] }`."""
    return "{ " + json.dumps(dict(rule), ensure_ascii=False)[1:-1] + " }"


@answers(phases=ACTIVE)
def outcome(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """A success rule, or else a failure rule, is met by the ends of replicas (T8, T9)."""
    if not allows(state.phase, Trigger.SUCCESS_MET):
        return
    if any(_is_met(state, rule, lambda replica: replica.has_succeeded) for rule in success_rules(state)):
        yield from succeeded(state, observation)
        return
    reason, message = "Failed", ""
    for rule in failure_rules(state):
        if _is_met(state, rule, lambda replica: replica.lost_for_good):
            message = f"The job is failed with rule: {written(rule)}"
            break
    else:
        if all(replica.has_succeeded or replica.lost_for_good for replica in state.members):
            reason, message = "NoRuleMatched", _NO_RULE
    if message:
        yield from failed(state, observation, reason, message, _cause(kind, state, observation, message))


def _cause(kind: Kind, state: JobState, observation: Observation, message: str) -> Cause:
    """Of the replica whose end was the last that was needed."""
    if isinstance(observation, PodObserved) and observation.phase is PodPhase.FAILED:
        return causes.of_failure(kind, state, observation, "T9")
    return Cause(kind=CauseClass.APPLICATION_EXIT, rule="T9", message=message)


def budget(job: JobState, replica: ReplicaName | None = None) -> Budget:
    """A replica has the restarts of its type for itself; the job's budget is their sum."""
    plan = job.running_plan
    if replica is not None:
        return Budget(plan.type_of(replica).restart_limit, job.replicas[replica].restarts)
    return Budget(
        sum((type_.restart_limit or 0) * type_.scale for type_ in plan.types), sum(job.restarts.values())
    )


LIFE: Final[tuple[LifeRule, ...]] = (
    admission,  # what the user wishes, before anything that depends on it
    queue,  # what Kueue makes of that
    pods,  # what the pods did
    refusals,  # what the cluster would not take
    deletions,  # … and takes now
    start_refusals,  # … or start, before it is judged as a failure
    restart,  # an ended replica is judged before a rule asks how it ended
    pause,  # a wish to pause comes before starting or ending by an observation of the same moment
    paused,  # which is done when nothing runs any more
    acceptance,  # T4 before T7, T17 before T7, T7 before T8: a job passes through Running, however fast it is
    lost_and_found,
    running,
    recovered,
    outcome,
    clean_up,  # once the phase is final
    delays,
    requests,  # after everything that can make a pod wanted or unwanted
    closing,
)
