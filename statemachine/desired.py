"""State → the child objects that should exist right now, in the order of their creation."""

from collections.abc import Iterator

from statemachine.kinds import kind_of
from statemachine.owned import Child
from statemachine.state import JobState


def desired(state: JobState) -> Iterator[Child]:
    """The job's children as they should be. Source: spec R4 (order), R9, R11, R13.

    Pods: of every replica that has one asked for and not dismissed. Of the others the kind says which.
    """
    if state.deleted or state.plan is None:
        return
    kind = kind_of(state.api_version, state.kind)
    for child in kind.children(state):
        if child.kind == "Pod":
            replica = state.replicas[child.replica]
            if replica.has_pod and not replica.leaving:
                yield child
        elif kind.keeps(state, child):
            yield child
