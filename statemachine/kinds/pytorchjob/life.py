"""The life of a PyTorchJob: which of the shared rules make it, and its own, in which order.

Source: kubeflow-pytorchjob.md, sections 4 to 7; what it leaves open is as the training operator was seen to do it.
"""

from collections.abc import Iterator
from typing import Final

from statemachine.events import Event
from statemachine.kind import Kind, LifeRule
from statemachine.kinds.pytorchjob import tally, words
from statemachine.kinds.pytorchjob.admission import admission
from statemachine.kinds.pytorchjob.conditions import end, hold
from statemachine.kinds.pytorchjob.creation import acceptance, pods, refusals, start_refusals
from statemachine.kinds.pytorchjob.ending import clean_up, deadline, expiry, outcome, past_limit
from statemachine.kinds.pytorchjob.gang_admission import pod_group, requests
from statemachine.kinds.pytorchjob.in_place import limited
from statemachine.kinds.pytorchjob.restarts import restarts
from statemachine.observations import Observation
from statemachine.phases import ACTIVE, Phase, Trigger, allows
from statemachine.rules.asking import answers
from statemachine.rules.backoff import delays
from statemachine.rules.creation import deletions
from statemachine.rules.ending import closing
from statemachine.rules.entering import entered
from statemachine.rules.pause import all_dismissed, scale
from statemachine.rules.queue import queue
from statemachine.rules.timers import deadline_timer
from statemachine.state import JobState


@answers(phases=ACTIVE | {Phase.PAUSED})
def suspend(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The wish to suspend is followed until the job has ended; so is its end. Source: section 7."""
    if state.plan is None or state.deleted:
        return
    if state.plan.paused and allows(state.phase, Trigger.PAUSE_WISHED):
        yield from all_dismissed(state)
        yield entered(state, Trigger.PAUSE_WISHED, "T14", observation)
        message, reason = words.suspended(state.name), words.reason(words.SUSPENDED)
        running = state.condition(words.RUNNING)
        if running is not None and running.status == "True":
            yield from end(state, observation, words.RUNNING, message, reason=reason)
        yield from hold(state, observation, words.SUSPENDED, message, level="Normal")
    elif not state.plan.paused and allows(state.phase, Trigger.PAUSE_ENDED):
        yield entered(state, Trigger.PAUSE_ENDED, "T15", observation)
        message = words.resumed(state.name)
        yield from end(state, observation, words.SUSPENDED, message, reason=words.RESUMED, level="Normal")


@answers(phases=ACTIVE)
def running(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """The Master runs, without one a Worker, and no failed pod waits to be made again. Source: section 4."""
    if not state.phase.is_active or state.deleted:
        return
    master, members = tally.has_master(state), list(state.members)
    deciding = [state.replicas[state.running_plan.primary]] if master else members
    if not any(map(tally.is_active, deciding)) or any(map(tally.has_failed, members)):
        return
    if allows(state.phase, Trigger.REPLICAS_UP):
        yield entered(state, Trigger.REPLICAS_UP, "T7", observation)
    yield from hold(state, observation, words.RUNNING, words.running(state, master=master))


LIFE: Final[tuple[LifeRule, ...]] = (
    admission,  # what the user wishes, before anything that depends on it
    queue,  # what Kueue makes of that
    limited(
        pods,  # what the pods did
        pod_group,  # whether more of them may be made
        refusals,  # what the cluster would not take
        deletions,  # … and takes now
        start_refusals,  # … or start, before it is judged as a failure
        restarts,  # a failed replica is judged before anybody asks whether the job ended
        deadline,
        suspend,  # a wish to suspend comes before starting or ending by what was seen in the same moment
        scale,
        acceptance,
        running,  # a job passes through Running, however fast it is
        outcome,
        failure=past_limit,  # a container was started again: only before `pods` was it known how often until then
    ),
    clean_up,  # once the phase is final
    delays,
    requests,  # after everything that can make a pod wanted or unwanted
    deadline_timer,  # after everything that can start or stop the clock
    expiry,  # after everything that can end the job
    closing,
)
