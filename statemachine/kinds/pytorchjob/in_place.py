"""A container that the kubelet has started again in its pod: that counts for `backoffLimit`, too.

A restart in place that makes the restarts as many as the limit says fails the job; a pod made again does not. The sum
of both does not tell which was the last, so what was seen is compared with what was known.
Source: kubeflow-pytorchjob.md, section 5.
"""

from collections.abc import Iterator
from typing import Final

from statemachine.events import Event
from statemachine.kind import Kind, LifeRule
from statemachine.kinds.pytorchjob import tally
from statemachine.observations import Observation, PodObserved
from statemachine.rules.asking import in_turn
from statemachine.state import JobState, ReplicaPhase, ReplicaState

_NOT_STARTED: Final = frozenset({ReplicaPhase.CREATING, ReplicaPhase.PENDING})


def limited(*rules: LifeRule, failure: LifeRule) -> LifeRule:
    """The rule that is `rules`, one after the other, and then `failure` if a restart in place was one too many."""

    def rule(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
        events, after = in_turn(rules, kind, state, observation)
        yield from events
        if isinstance(observation, PodObserved) and _is_one_too_many(state, after, observation):
            yield from failure(kind, after, observation)

    return rule


def _is_one_too_many(before: JobState, state: JobState, observation: PodObserved) -> bool:
    was, now = before.replicas.get(observation.replica), state.replicas.get(observation.replica)
    return (
        was is not None
        and now is not None
        and tally.counts_in_place(state, now)
        and _was_started_again(was, now)
        and tally.is_too_much(state, tally.budget(state).used)
    )


def _was_started_again(was: ReplicaState, now: ReplicaState) -> bool:
    """Restarts that were seen before the pod ran count once it does."""
    known = 0 if was.phase in _NOT_STARTED else tally.started_again(was)
    return tally.started_again(now) > known
