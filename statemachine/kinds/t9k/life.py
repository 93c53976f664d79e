"""The life of a T9k job: which of the shared rules make it, in which order. Source: spec R5–R14."""

from typing import Final

from statemachine.kind import LifeRule
from statemachine.kinds.t9k import tensorboard
from statemachine.owned import Child
from statemachine.rules.admission import admission
from statemachine.rules.backoff import delays
from statemachine.rules.creation import (
    acceptance,
    deletions,
    refusals,
    requests,
    start_refusals,
)
from statemachine.rules.ending import clean_up, closing, deadline, outcome
from statemachine.rules.lifecycle import lost_and_found, recovered, running
from statemachine.rules.pause import pause, paused, scale
from statemachine.rules.pods import pods
from statemachine.rules.queue import queue
from statemachine.rules.restart import restart
from statemachine.rules.timers import deadline_timer, readability
from statemachine.state import JobState

LIFE: Final[tuple[LifeRule, ...]] = (
    admission,  # what the user wishes, before anything that depends on it
    queue,  # what Kueue makes of that
    pods,  # what the pods did
    readability,  # … or did not show
    refusals,  # what the cluster would not take
    deletions,  # … and takes now
    start_refusals,  # … or start, before it is judged as a failure
    tensorboard.reports,
    restart,  # an ended replica is judged before anybody asks whether the job ended
    deadline,  # …
    pause,  # a wish to pause comes before starting or ending by what was seen in the same moment
    paused,  # which is done when nothing runs any more
    scale,
    acceptance,  # T4 before T7, T17 before T7, T7 before T8: a job passes through Running, however fast it is
    lost_and_found,
    running,
    recovered,
    outcome,
    clean_up,  # once the phase is final
    delays,
    requests,  # after everything that can make a pod wanted or unwanted
    deadline_timer,  # after everything that can start or stop the clock
    closing,
)

FIXED_WHEN_FINISHED: Final = ("spec.runPolicy", "spec.cleanUpPolicy")
"""Mutable fields that become immutable when the job ends (R2): held by the CRD, elsewhere by the rules."""

_RETRYABLE: Final = frozenset({130, 137, 138, 143})


def is_retryable(exit_code: int) -> bool:
    """Restart policy ExitCode restarts a replica that ended so. Source: spec R8."""
    return exit_code in _RETRYABLE


def keeps(job: JobState, child: Child) -> bool:
    """The PodGroup exists while the job is active, all the rest until the job is deleted. Source: spec R9, R11."""
    return child.kind != "PodGroup" or job.phase.is_active
