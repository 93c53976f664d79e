"""State → how many restarts a job may have, has had, and may still have. Pure; what counts is the kind's to say.

Whatever shows a job's restarts asks here: two formulas would contradict each other where containers that a kubelet
starts again in place count, too. Source: spec R8; kubeflow-pytorchjob.md, section 5.
"""

from typing import NamedTuple

from statemachine.kinds import kind_of
from statemachine.state import JobState


class Budget(NamedTuple):
    """Restarts of a job; without a limit `limit` is None."""

    limit: int | None
    used: int

    @property
    def left(self) -> int | None:
        """How many are left; None without a limit. A limit lowered below what was used leaves none."""
        return None if self.limit is None else max(0, self.limit - self.used)

    def __str__(self) -> str:
        return str(self.used) if self.limit is None else f"{self.used} of {self.limit}"


def budget(state: JobState) -> Budget:
    """The restart budget of a job in `state`; nothing used, without a limit, where no plan was ever made."""
    if state.plan is None:
        return Budget(None, state.spent)
    used = kind_of(state.api_version, state.kind).restarts_used(state)
    return Budget(state.plan.backoff_limit, used)
