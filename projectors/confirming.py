"""Nothing is made for a job object that the API server does not confirm.

Anybody who may send observations could otherwise make pods: by reporting a job that does not exist, or another spec
of one that does. So before anything is made for a job its object is read, once for every spec of it, and compared
with the state. What is made then comes from an object that somebody with the right to make it has made.
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
"""Seconds until an object that is ahead of the log is compared again: its observation is on its way."""

_FIRST: Final = 10.0
_LATER: Final = 60.0
"""Seconds until an object that is not there, or is another, is read again. The first time the job may have been
deleted just now."""


class Verdict(Enum):
    """What the job object says of the state."""

    CONFIRMED = auto()
    AHEAD = auto()
    """It was changed, or is being deleted, and the log does not know that yet."""
    REFUSED = auto()
    """It is not there, or the state is not its state."""


@dataclass(slots=True)
class _Look:
    """What came of the last one. `spec` is the very object that the state held then."""

    spec: Mapping[str, Any]
    verdict: Verdict
    refusals: int = 0


@dataclass
class Confirming:
    """Reads job objects of `cluster`, and remembers what came of it until their jobs are deleted.

    `env_values` knows what references to values in the log stand for.
    """

    cluster: Cluster
    clock: Clock
    env_values: EnvValues = field(default_factory=EnvValues)
    _looks: dict[JobUid, _Look] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """For how many jobs nothing is made at the moment, as their objects are not there or say something else."""
        return sum(look.verdict is Verdict.REFUSED for look in self._looks.values())

    def has(self, state: JobState) -> bool:
        """The job object has confirmed the spec of this state."""
        look = self._looks.get(state.uid)
        return look is not None and look.verdict is Verdict.CONFIRMED and look.spec is state.spec

    def forget(self, job: JobUid) -> None:
        """Nothing will be made for the job any more."""
        self._looks.pop(job, None)

    def again(self, job: JobUid) -> float:
        """After how many seconds the object of a job that it has not confirmed should be read again."""
        look = self._looks.get(job)
        if look is None or look.verdict is not Verdict.REFUSED:
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
            verdict, why = Verdict.REFUSED, "it is not there"
        except Refused as error:
            verdict, why = Verdict.REFUSED, error.message
        else:
            observed = job_seen(Change(Verb.MODIFIED, raw, self.clock.now()))
            verdict, why = compared(state, observed, self.env_values.values(raw))
        before = self._looks.get(state.uid)
        refusals = (before.refusals if before else 0) + 1 if verdict is Verdict.REFUSED else 0
        self._looks[state.uid] = _Look(state.spec, verdict, refusals)
        if refusals == 2:  # the first time it may have been deleted just now
            fields = {"action": "job-not-confirmed", "job": state.uid, "object": str(ref), "why": why}
            log.warning(
                "nothing is made for a job, as the API server does not confirm its object", extra=fields
            )


def compared(
    state: JobState, seen: object, values: Mapping[str, str] = MappingProxyType({})
) -> tuple[Verdict, str]:
    """What the object, as the bridge would report it, says of the state; and why, if it does not confirm it.

    `values` are those of the object's env by the references that the log may have in their places (ADR 0022).
    """
    if not isinstance(seen, JobObserved) or seen.job != state.uid or _place(seen) != _place(state):
        return Verdict.REFUSED, "there is another one of that name"
    if seen.terminating_since is not None:
        return Verdict.AHEAD, "it is being deleted"
    kind = kind_of(state.api_version, state.kind)
    logged = with_variables(state.spec, lambda _, value: values.get(value, value)) if values else state.spec
    if within(logged, kind.admit(state.name, seen.spec, uid=state.uid).spec):
        return Verdict.CONFIRMED, ""
    if _is_ignored(kind, state, seen.spec):
        return Verdict.CONFIRMED, ""
    if seen.generation > state.generation:
        return Verdict.AHEAD, "it was changed"
    return Verdict.REFUSED, f"its spec, of generation {seen.generation}, is not the one that the log has"


def _place(job: JobObserved | JobState) -> tuple[str, str, str, str]:
    """What a path of the API server was made of, which says nothing by itself: anything may be in a name."""
    kind = job.object_kind if isinstance(job, JobState) else job.kind
    return job.api_version, kind, job.namespace, job.name


def _is_ignored(kind: Kind, state: JobState, spec: Mapping[str, Any]) -> bool:
    """They differ in nothing, or in what an update may not change, and that is what the log says of the last one."""
    update, problems = judged_update(kind, state, spec)
    refused = problems or update.plan is None
    if update.changes and not refused:
        return False
    paths = {problem.path for problem in problems} if refused else set(update.frozen)
    return paths == {problem.path for problem in state.ignored}


def within(part: object, whole: object) -> bool:
    """`whole` has everything that `part` has. A null is nothing.

    What it has beside that is no reason for doubt: defaults of a newer CRD show in objects stored before it.
    """
    match part, whole:
        case None, _:
            return True
        case Mapping(), Mapping():
            return all(within(value, whole.get(key)) for key, value in part.items())
        case list() | tuple(), list() | tuple():
            return len(part) == len(whole) and all(map(within, part, whole))
        case str(), str() if is_reference(part):
            return True  # nobody knows its value any more: whoever makes a pod of it says so, and makes none
        case _:
            return part == whole and isinstance(part, bool) is isinstance(whole, bool)
