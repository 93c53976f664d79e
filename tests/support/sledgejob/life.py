"""The life of a SledgeJob: it is over when enough dogs have arrived, or cannot arrive any more."""

from collections.abc import Iterator
from typing import Final

from statemachine.events import ChildChanged, Event
from statemachine.ids import ReplicaName
from statemachine.kind import Budget, Kind, LifeRule
from statemachine.observations import ChildObserved, Observation
from statemachine.owned import Child
from statemachine.phases import Trigger, allows
from statemachine.rules.admission import admission
from statemachine.rules.backoff import delays
from statemachine.rules.creation import acceptance, deletions, refusals, requests, start_refusals
from statemachine.rules.ending import clean_up, closing, failed, succeeded
from statemachine.rules.lifecycle import lost_and_found, recovered, running
from statemachine.rules.pause import pause, paused
from statemachine.rules.pods import pods
from statemachine.rules.restart import restart
from statemachine.schema.lookup import number
from statemachine.state import JobState
from tests.support.sledgejob.roles import HARNESS

TOO_FEW: Final = "Too few dogs are left."


def _harness(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    """What is reported of the harness."""
    if not isinstance(observation, ChildObserved) or observation.kind != HARNESS or state.deleted:
        return
    known = state.child(HARNESS, observation.name)
    if known and not observation.uid and known.uid not in ("", observation.gone_uid):
        return
    new = (observation.uid, observation.facts, "", False)
    if known is None or (known.uid, known.facts, known.error, known.outdated) != new:
        yield ChildChanged(kind=HARNESS, name=observation.name, uid=observation.uid, facts=observation.facts)


def arrived(state: JobState) -> int:
    """How many dogs have arrived."""
    return sum(replica.has_succeeded for replica in state.members)


def _outcome(_kind: Kind, state: JobState, observation: Observation) -> Iterator[Event]:
    if not allows(state.phase, Trigger.SUCCESS_MET):
        return
    wanted = number(state.spec, "arrivals") or 1
    if arrived(state) >= wanted:
        yield from succeeded(state, observation)
    elif sum(not replica.lost_for_good for replica in state.members) < wanted:
        yield from failed(state, observation, "TooFewDogs", TOO_FEW, None)


def budget(job: JobState, replica: ReplicaName | None = None) -> Budget:
    """A dog has falls of its own; those of the job are their sum."""
    types = job.running_plan.types
    if replica is not None:
        return Budget(job.running_plan.type_of(replica).restart_limit, job.replicas[replica].restarts)
    limit = sum((type_.restart_limit or 0) * type_.scale for type_ in types)
    return Budget(limit, sum(job.restarts.values()))


def keeps(job: JobState, child: Child) -> bool:
    """The harness is taken off at the end."""
    return child.kind != HARNESS or not job.is_final


LIFE: Final[tuple[LifeRule, ...]] = (
    *(admission, pods, refusals, deletions, start_refusals, _harness, restart, pause, paused, acceptance),
    *(lost_and_found, running, recovered, _outcome, clean_up, delays, requests, closing),
)
