"""What all kinds share, a module a concern. Each rule is a plain function (state, observation) → events.

The order is the order in which facts become consequences; each rule sees the state that the ones before it
left.
"""

from collections.abc import Callable, Iterator
from typing import Final

from statemachine.events import Event
from statemachine.observations import Observation
from statemachine.rules.admission import admission
from statemachine.rules.creation import acceptance, refusals, requests, tensorboard
from statemachine.rules.ending import clean_up, closing, deadline, outcome
from statemachine.rules.lifecycle import lost_and_found, recovered, running
from statemachine.rules.pause import pause, scale
from statemachine.rules.pods import pods
from statemachine.rules.restart import restart
from statemachine.rules.timers import deadline_timer, readability
from statemachine.state import JobState

Rule = Callable[[JobState, Observation], Iterator[Event]]

RULES: Final[tuple[Rule, ...]] = (
    admission,  # what the user wishes, before anything that depends on it
    pods,  # what the pods did
    readability,  # … or did not show
    refusals,  # what the cluster would not take
    tensorboard,
    restart,  # an ended replica is judged before anybody asks whether the job ended
    deadline,  # …
    pause,  # a wish to pause comes before starting or ending by what was seen in the same moment
    scale,
    acceptance,  # T4 before T7, T17 before T7, T7 before T8: a job passes through Running, however fast it is
    lost_and_found,
    running,
    recovered,
    outcome,
    clean_up,  # once the phase is final
    requests,  # after everything that can make a pod wanted or unwanted
    deadline_timer,  # after everything that can start or stop the clock
    closing,
)
