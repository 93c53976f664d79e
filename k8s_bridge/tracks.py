"""What a bridge keeps of each object: the report if it is gone, and a fingerprint of the last report. Pure."""

import hashlib
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import Final

from msgspec.json import Encoder

from k8s_bridge.context import Known
from k8s_bridge.port import Ref
from statemachine.observations import (
    ChildObserved,
    JobGone,
    JobObserved,
    Observation,
    PodGone,
    PodObserved,
    PodUnreadable,
    WorkloadObserved,
)

_NEWS: Final = Encoder()
_NO_NEWS: Final = {"at", "happened_at", "version", "written_at", "actor", "actor_source", "recorded"}

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
"""Stands for a time that is not known: of a `gone` until it is reported, of a last report before the first."""


@dataclass(slots=True)
class Track:
    """A known object: the observation to send if it vanishes, and the fingerprint of the one that was sent last.

    `fields` is the digest of a job's spec and labels then: their change shows the actor. `written_at` is when the API
    server took that version of a pod, `at` when the change was observed. `is_placed`: the pod has the name of its
    replica's pods, which neither it nor the replica of a track ever changes. `place` is where a pod was seen last:
    the log, which may be behind, has not yet every pod that was reported.
    """

    gone: Observation
    sent: bytes = b""
    fields: bytes | None = None
    written_at: datetime | None = None
    at: datetime = _NEVER
    is_placed: bool = False
    place: Ref | None = None

    def is_later_than(self, observation: Observation) -> bool:
        """The last report is of a later version of the pod than `observation`, which came late.

        The API server's times are whole seconds; within one our clock decides, which may have been put back.
        """
        written_at: datetime | None = getattr(observation, "written_at", None)
        if written_at is None or self.written_at is None:
            return False
        return (written_at, observation.at) < (self.written_at, self.at)


def gone_of(known: Known, besides: Container[str] = ()) -> dict[str, Observation]:
    """By uid, the observation that says of each known object, but those `besides`, that it is gone."""
    observations: dict[str, Observation] = {}
    for job, pods in known.items():
        if job not in besides:
            observations[job] = JobGone(job=job, at=_NEVER)
        for (replica, attempt), uid in pods.items():
            if uid and uid not in besides:
                observations[uid] = PodGone(job=job, at=_NEVER, replica=replica, attempt=attempt, uid=uid)
    return observations


def gone(last: Observation) -> Observation:
    """The observation that says that the object of `last` is gone."""
    match last:
        case JobObserved():
            return JobGone(job=last.job, at=_NEVER)
        case ChildObserved():
            return ChildObserved(
                job=last.job, at=_NEVER, kind=last.kind, name=last.name, uid="", gone_uid=last.uid
            )
        case WorkloadObserved():
            return WorkloadObserved(job=last.job, at=_NEVER, name=last.name, uid="", gone_uid=last.uid)
        case PodObserved():
            return PodGone(job=last.job, at=_NEVER, replica=last.replica, attempt=last.attempt, uid=last.uid)
        case PodUnreadable():
            return PodGone(job=last.job, at=_NEVER, replica=last.replica, attempt=0, uid=last.uid)
        case _:
            return last


def as_known(observation: Observation, known: Observation) -> Observation:
    """A pod keeps the replica and attempt of its first observation: users can edit labels and annotations."""
    if not (isinstance(known, PodGone) and isinstance(observation, PodObserved | PodGone | PodUnreadable)):
        return observation
    if isinstance(observation, PodUnreadable):
        is_same = observation.replica == known.replica
        return observation if is_same else observation.changed(replica=known.replica)
    attempt = known.attempt or observation.attempt
    is_same = (observation.replica, observation.attempt) == (known.replica, attempt)
    return observation if is_same else observation.changed(replica=known.replica, attempt=attempt)


def fingerprint(observation: Observation) -> bytes:
    """Equal for two observations that differ, for any decision, only in their time."""
    news = _read_news(type(observation))(observation)
    return hashlib.blake2b(_NEWS.encode([observation.type, *news]), digest_size=12).digest()


@cache
def _read_news(type_: type[Observation]) -> Callable[[Observation], tuple[object, ...]]:
    """Reads all fields of such an observation that a decision can depend on."""
    return attrgetter(*(name for name in type_.__struct_fields__ if name not in _NO_NEWS))
