"""State → the child objects that should exist right now, in the order of their creation."""

from collections.abc import Iterator

from statemachine.kinds import kind_of
from statemachine.kinds.base import Child
from statemachine.state import JobState


def desired(state: JobState) -> Iterator[Child]:
    """The job's children as they should be. Source: spec R4 (order), R9, R11, R13.

    Pods: of every replica that has one asked for and not dismissed. PodGroup: while the job is active.
    Services, ConfigMaps, Secrets and the TensorBoard: from the start until the job is deleted.
    """
    if state.deleted or state.plan is None:
        return
    for child in kind_of(state.api_version, state.kind).children(state):
        if child.kind == "Pod":
            replica = state.replicas[child.replica]
            if replica.has_pod and not replica.leaving:
                yield child
        elif child.kind != "PodGroup" or state.phase.is_active:
            yield child
