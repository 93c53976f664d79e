"""Volcano places the pods of a job together: none is made before its PodGroup is let in.

Source: kubeflow-pytorchjob.md, sections 3 and 4 (`lastReconcileTime`).
"""

from collections.abc import Iterator
from typing import Final

from statemachine.events import Event, PodGroupChanged
from statemachine.kind import Kind
from statemachine.kinds.pytorchjob.gang import VOLCANO
from statemachine.kinds.pytorchjob.settings import gang_scheduler
from statemachine.observations import Observation, PodGroupObserved
from statemachine.rules import creation
from statemachine.state import JobState

_NOT_LET_IN: Final = frozenset({"", "Pending"})


def pod_group(_kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """What the job's PodGroup does, while the job has one."""
    if (
        not isinstance(seen, PodGroupObserved)
        or state.plan is None
        or state.deleted
        or seen.name != state.name
    ):
        return
    known = state.pod_group
    if not seen.uid and (known is None or known.uid != seen.gone_uid):
        return  # an earlier one is gone
    if seen.uid and not state.phase.is_active:
        return  # it is being deleted
    if known is None or (known.uid, known.phase) != (seen.uid, seen.phase):
        held = state.phase.is_active and seen.phase in _NOT_LET_IN
        yield PodGroupChanged(name=seen.name, at=seen.at, uid=seen.uid, phase=seen.phase, held=held)


def is_held(state: JobState) -> bool:
    """Pods have to wait for the PodGroup."""
    if gang_scheduler(state) != VOLCANO:
        return False
    return state.pod_group is None or state.pod_group.phase in _NOT_LET_IN


def requests(kind: Kind, state: JobState, seen: Observation) -> Iterator[Event]:
    """Pods are asked for as everywhere, once they need not wait."""
    if not is_held(state):
        yield from creation.requests(kind, state, seen)
