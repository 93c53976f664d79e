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
from statemachine.rules import creation
from statemachine.state import ChildState, JobState

_NOT_LET_IN: Final = frozenset({"", "Pending"})


def pod_group(_kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """What the job's PodGroup does, while the job has one."""
    if not isinstance(seen, ChildObserved) or state.plan is None or state.deleted:
        return
    if (seen.kind, seen.name) != (POD_GROUP, state.name):
        return
    known = group_of(state)
    if not seen.uid and (known is None or known.uid != seen.gone_uid):
        return  # an earlier one is gone
    if seen.uid and not state.phase.is_active:
        return  # it is being deleted
    if known is None or (known.uid, known.facts) != (seen.uid, seen.facts):
        yield ChildChanged(
            kind=seen.kind,
            name=seen.name,
            at=seen.at,
            uid=seen.uid,
            facts=seen.facts,
            holds=state.phase.is_active and not _is_let_in(seen.facts),
            while_active=True,
        )


def group_of(state: JobState) -> ChildState | None:
    """What is known of the job's PodGroup; only Volcano's say whether pods may be made."""
    return state.child(POD_GROUP, state.name)


def _is_let_in(facts: Mapping[str, str]) -> bool:
    return facts.get(PHASE, "") not in _NOT_LET_IN


def is_held(state: JobState) -> bool:
    """Pods have to wait for the PodGroup."""
    if gang_scheduler(state) != VOLCANO:
        return False
    known = group_of(state)
    return known is None or not _is_let_in(known.facts)


def requests(kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """Pods are asked for as everywhere, once they need not wait."""
    if not is_held(state):
        yield from creation.requests(kind, state, seen)
