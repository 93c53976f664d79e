"""How a job stands in a queue of Kueue's: what its Workload says, as facts of the job's life.

Nothing follows from them: Kueue suspends and resumes the job object, and that is what a job obeys. Source: conditions
of a Workload (Kueue 0.19, `apis/kueue/v1beta2/workload_types.go`).
"""

import re
from collections.abc import Iterator
from typing import Final

from statemachine.events import Event, Eviction, QueueChanged, Standing
from statemachine.kind import Kind
from statemachine.observations import Observation, WorkloadCondition, WorkloadObserved
from statemachine.rules.asking import answers
from statemachine.state import JobState, QueueState

_AGAIN: Final = "Previously: "
"""How the message of a condition begins that Kueue took back when it reserved quota anew."""

_PREEMPTOR: Final = re.compile(r"JobUID: ([0-9a-f-]{36})\b")
"""In Kueue's message of a preemption: the job that gets the quota. Source: pkg/scheduler/preemption."""

_PREEMPTED: Final = "Preempted"

_NUMBERS: Final = re.compile(r"\d+\S*")
"""What is missing changes with each job that starts or ends; to say so once is enough."""


@answers(WorkloadObserved)
def queue(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """Another standing, reason, quota, or an eviction is news while the job has not ended."""
    if not isinstance(observation, WorkloadObserved) or state.plan is None or state.deleted or state.is_final:
        return
    known = state.queue
    if not observation.uid and (
        known is None or known.uid != observation.gone_uid or known.standing == "gone"
    ):
        return  # an earlier one is gone
    if known is not None and _is_older(known, observation):
        return
    event = _event(known, observation)
    if known is None or event.eviction is not None or _shape(known) != _shape(event):
        yield event


def _is_older(known: QueueState, observation: WorkloadObserved) -> bool:
    """A late report: all that it tells of the Workload is from before the eviction that is known.

    Kueue keeps the condition `Evicted`, so what is newer has that one, of that time or later.
    """
    if observation.uid != known.uid or known.evicted_at is None:
        return False
    times = [condition.changed_at for condition in observation.conditions if condition.changed_at is not None]
    return not times or max(times) < known.evicted_at


def _event(known: QueueState | None, observation: WorkloadObserved) -> QueueChanged:
    standing, said = _standing(observation)
    evicted = _condition(observation, "Evicted")
    return QueueChanged(
        at=observation.at,
        workload=observation.name,
        uid=observation.uid or observation.gone_uid,
        queue=observation.queue or (known.queue if known else ""),
        cluster_queue=observation.cluster_queue,
        flavors=observation.flavors,
        standing=standing,
        reason=said.reason if said else "",
        message=said.message if said else "",
        evicted_at=evicted.changed_at if evicted else known.evicted_at if known else None,
        evicted=_is_true(evicted),
        eviction=_eviction(known, observation),
    )


def _standing(observation: WorkloadObserved) -> tuple[Standing, WorkloadCondition | None]:
    """How the job stands, and the condition that says why."""
    reserved, admitted = _condition(observation, "QuotaReserved"), _condition(observation, "Admitted")
    if not observation.uid:
        return "gone", None
    if _is_true(finished := _condition(observation, "Finished")):
        return "finished", finished
    if not observation.active:
        return "deactivated", _condition(observation, "Evicted") or reserved
    if _is_true(admitted) and _is_true(reserved):
        return "admitted", None
    if _is_true(reserved):
        return "reserved", admitted
    return "waiting", reserved


def _eviction(known: QueueState | None, observation: WorkloadObserved) -> Eviction | None:
    """The eviction that the Workload tells of and the log does not know.

    One that happened and was made good while nobody looked is known by what Kueue keeps of it.
    """
    evicted, preempted = _condition(observation, "Evicted"), _condition(observation, _PREEMPTED)
    if evicted is None or (known is not None and known.evicted_at == evicted.changed_at):
        return None
    past = evicted.message.startswith(_AGAIN)
    if not _is_true(evicted) and (not past or (known is not None and known.evicted)):
        return None  # it is over, and was announced when it began
    message = evicted.message.removeprefix(_AGAIN)
    by = _PREEMPTOR.search(message)
    was = _PREEMPTED if by and preempted is not None else ""
    return Eviction(
        reason=evicted.reason if _is_true(evicted) else was,
        message=message,
        preemptor=by[1] if by else "",
        happened_at=evicted.changed_at if _is_true(evicted) else None,
    )


def _condition(observation: WorkloadObserved, type_: str) -> WorkloadCondition | None:
    return next((condition for condition in observation.conditions if condition.type == type_), None)


def _is_true(condition: WorkloadCondition | None) -> bool:
    return condition is not None and condition.status == "True"


def _shape(known: QueueState | QueueChanged) -> tuple[object, ...]:
    """Equal for two that tell a user the same."""
    return (
        known.uid,
        known.queue,
        known.cluster_queue,
        known.flavors,
        known.standing,
        known.reason,
        known.evicted,
        _NUMBERS.sub("", known.message),
    )
