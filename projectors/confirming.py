"""The children projector makes nothing for a job object that the API server does not confirm.

Otherwise a sender of forged observations could make pods: it would report a job that does not exist, or another spec
of one that does. So the projector first reads the job object, once for every spec of it, and compares it with the
state. All children then come from an object whose author had the right to create it.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, Final

from k8s_bridge.env_values import EnvValues
from k8s_bridge.observe import job as job_seen
from k8s_bridge.port import Change, Cluster, Ref, Verb
from statemachine.concealed import is_reference, with_variables
from statemachine.engine.clock import Clock
from statemachine.errors import Missing, Refused
from statemachine.ids import JobUid
from statemachine.kind import Kind
from statemachine.kinds import kind_of
from statemachine.observations import JobObserved
from statemachine.rules.admission import judged_update
from statemachine.state import JobState

log = logging.getLogger(__name__)

_SOON: Final = 1.0
"""Seconds until an object that is ahead of the log is compared again: its observation is under way."""

_FIRST: Final = 10.0
_LATER: Final = 60.0
"""Seconds until an object that is not there, or is another, is read again. The first time the job may have been
deleted just now."""


class Confirmation(Enum):
    """What the job object says of the state."""

    CONFIRMED = auto()
    AHEAD = auto()
    """The object was changed, or is being deleted, and the log does not have that yet."""
    REFUSED = auto()
    """The object does not exist, or the state is not the object's."""


@dataclass(slots=True)
class _Compared:
    """The outcome of the last comparison. `spec` is the very object that the state held then."""

    spec: Mapping[str, Any]
    verdict: Confirmation
    refusals: int = 0


@dataclass
class Confirming:
    """Compares job objects of `cluster` with states, and keeps each outcome until the job is deleted.

    `env_values` has the values behind the references in the log.
    """

    cluster: Cluster
    clock: Clock
    env_values: EnvValues = field(default_factory=EnvValues)
    _looks: dict[JobUid, _Compared] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """The number of jobs that get no children now, as their objects do not exist or differ from the state."""
        return sum(look.verdict is Confirmation.REFUSED for look in self._looks.values())

    def has(self, state: JobState) -> bool:
        """The job object has confirmed the spec of this state."""
        look = self._looks.get(state.uid)
        return look is not None and look.verdict is Confirmation.CONFIRMED and look.spec is state.spec

    def forget(self, job: JobUid) -> None:
        """The job is deleted: its outcome is dropped."""
        self._looks.pop(job, None)

    def again(self, job: JobUid) -> float:
        """After how many seconds an object that has not confirmed its job should be read again."""
        look = self._looks.get(job)
        if look is None or look.verdict is not Confirmation.REFUSED:
            return _SOON
        return _FIRST if look.refusals == 1 else _LATER

    async def look(self, state: JobState) -> None:
        """The job object was read, unless it has confirmed this spec before."""
        if self.has(state):
            return
        ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
        try:
            raw = await self.cluster.get(ref)
        except Missing:
            verdict, why = Confirmation.REFUSED, "it is not there"
        except Refused as error:
            verdict, why = Confirmation.REFUSED, error.message
        else:
            observed = job_seen(Change(Verb.MODIFIED, raw, self.clock.now()))
            verdict, why = compared(state, observed, self.env_values.values(raw))
        before = self._looks.get(state.uid)
        refusals = (before.refusals if before else 0) + 1 if verdict is Confirmation.REFUSED else 0
        self._looks[state.uid] = _Compared(state.spec, verdict, refusals)
        if refusals == 2:  # the first time it may have been deleted just now
            fields = {"action": "job-not-confirmed", "job": state.uid, "object": str(ref), "why": why}
            log.warning(
                "nothing is made for a job, as the API server does not confirm its object", extra=fields
            )


def compared(
    state: JobState, job: object, values: Mapping[str, str] = MappingProxyType({})
) -> tuple[Confirmation, str]:
    """The verdict of the object, as the bridge reports it, on the state; and the reason if it does not confirm it.

    `values` are those of the object's env by the references that the log may have in their places (ADR 0022).
    """
    if not isinstance(job, JobObserved) or job.job != state.uid or _place(job) != _place(state):
        return Confirmation.REFUSED, "there is another one of that name"
    if job.terminating_since is not None:
        return Confirmation.AHEAD, "it is being deleted"
    kind = kind_of(state.api_version, state.kind)
    logged = with_variables(state.spec, lambda _, value: values.get(value, value)) if values else state.spec
    if within(logged, kind.canonical(job.spec)):
        return Confirmation.CONFIRMED, ""
    if _is_ignored(kind, state, job.spec):
        return Confirmation.CONFIRMED, ""
    if job.generation > state.generation:
        return Confirmation.AHEAD, "it was changed"
    return Confirmation.REFUSED, f"its spec, of generation {job.generation}, is not the one that the log has"


def _place(job: JobObserved | JobState) -> tuple[str, str, str, str]:
    """What the object's path was built from. The path alone proves nothing: a name may contain any text."""
    kind = job.object_kind if isinstance(job, JobState) else job.kind
    return job.api_version, kind, job.namespace, job.name


def _is_ignored(kind: Kind, state: JobState, spec: Mapping[str, Any]) -> bool:
    """The specs are equal, or differ only where an update may not change them, as the log says of the last update."""
    update, problems = judged_update(kind, state, spec)
    refused = problems or update.plan is None
    if update.changes and not refused:
        return False
    paths = {problem.path for problem in problems} if refused else set(update.frozen)
    return paths == {problem.path for problem in state.ignored}


def within(part: object, whole: object) -> bool:
    """`whole` has everything that `part` has. A null is nothing.

    More fields in `whole` are no reason for doubt: defaults of a newer CRD show in objects stored before it.
    """
    match part, whole:
        case None, _:
            return True
        case Mapping(), Mapping():
            return all(within(value, whole.get(key)) for key, value in part.items())
        case list() | tuple(), list() | tuple():
            return len(part) == len(whole) and all(map(within, part, whole))
        case str(), str() if is_reference(part):
            return True  # the value is lost: the children projector reports that, and makes no pod of it
        case _:
            return part == whole and isinstance(part, bool) is isinstance(whole, bool)
