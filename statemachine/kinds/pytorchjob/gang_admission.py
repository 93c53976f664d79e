"""Volcano places the pods of a job together: none is made before its PodGroup is let in.

Source: kubeflow-pytorchjob.md, sections 3 and 4 (`lastReconcileTime`).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from statemachine.events import ChildChanged, Event
from statemachine.kind import Kind
from statemachine.kinds.pytorchjob.gang import PHASE, POD_GROUP, VOLCANO
from statemachine.kinds.pytorchjob.settings import gang_scheduler
from statemachine.observations import ChildObserved, Observation
from statemachine.phases import ACTIVE
from statemachine.rules import creation
from statemachine.rules.asking import answers
from statemachine.state import ChildState, JobState

_NOT_LET_IN: Final = frozenset({"", "Pending"})


@answers(ChildObserved)
def pod_group(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """What the job's PodGroup does, while the job has one."""
    if not isinstance(observation, ChildObserved) or state.plan is None or state.deleted:
        return
    if (observation.kind, observation.name) != (POD_GROUP, state.name):
        return
    known = group_of(state)
    if not observation.uid and (known is None or known.uid != observation.gone_uid):
        return  # an earlier one is gone
    if observation.uid and not state.phase.is_active:
        return  # it is being deleted
    if known is None or (known.uid, known.facts) != (observation.uid, observation.facts):
        yield ChildChanged(
            kind=observation.kind,
            name=observation.name,
            at=observation.at,
            uid=observation.uid,
            facts=observation.facts,
            holds=state.phase.is_active and not _is_let_in(observation.facts),
            while_active=True,
        )


def group_of(state: JobState) -> ChildState | None:
    """What is known of the job's PodGroup; only Volcano's say whether pods may be made."""
    return state.child(POD_GROUP, state.name)


def _is_let_in(facts: Mapping[str, str]) -> bool:
    return facts.get(PHASE, "") not in _NOT_LET_IN


def is_held(state: JobState) -> bool:
    """Pods have to wait for the PodGroup."""
    if gang_scheduler(state.settings) != VOLCANO:
        return False
    known = group_of(state)
    return known is None or not _is_let_in(known.facts)


@answers(phases=ACTIVE)
def requests(kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Pods are asked for as everywhere, once they need not wait."""
    if not is_held(state):
        yield from creation.requests(kind, state, observation)
