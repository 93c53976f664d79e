"""State → how many restarts a job may have, has had, and may still have. Pure; what counts is the kind's to say.

Whatever shows a job's restarts asks here: two formulas would contradict each other where containers that a kubelet
starts again in place count, too. Source: spec R8.
"""

from statemachine.kind import Budget
from statemachine.kinds import kind_of
from statemachine.state import JobState

__all__ = ["Budget", "budget"]


def budget(state: JobState) -> Budget:
    """The restart budget of a job in `state`; nothing used, without a limit, where no plan was ever made."""
    if state.plan is None:
        return Budget(None, state.spent)
    return kind_of(state.api_version, state.kind).budget(state)
