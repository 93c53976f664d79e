"""Replicas and their attempts: which pod is meant when somebody asks for a replica's log."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from jobledger.program.errors import NotPossible, UnknownReplica, nearest
from k8s_bridge.port import Cluster
from statemachine.errors import Missing
from statemachine.events import Event, ReplicaCreated, ReplicaRequested
from statemachine.ids import PodUid, ReplicaName
from statemachine.kinds import kind_of
from statemachine.state import JobState


@dataclass(frozen=True, slots=True)
class Attempt:
    """One pod of a replica; `number` counts from 1. `before`: what it did before it was last restarted in place."""

    replica: ReplicaName
    number: int
    uid: PodUid
    before: bool = False


def attempts(life: Iterable[Sequence[Event]]) -> list[Attempt]:
    """Every pod that was observed in a job's life, of which these are the events by entries, oldest first."""
    pods: list[Attempt] = []
    asked: dict[ReplicaName, int] = {}
    for event in chain.from_iterable(life):
        if isinstance(event, ReplicaRequested):
            asked[event.replica] = event.attempt
        elif isinstance(event, ReplicaCreated):
            pods.append(Attempt(event.replica, asked.get(event.replica, 1), event.uid))
    return pods


def chosen(
    state: JobState,
    known: Sequence[Attempt],
    replica: str = "",
    *,
    container: str = "",
    previous: bool = False,
) -> Attempt:
    """The attempt that is meant: the newest of the replica (default: the primary), or what was before.

    That is an earlier run of the `container` (default: the first) in the same pod, or else the pod before.

    Raises:
        UnknownReplica: no such replica, or no earlier attempt.
        NotPossible: it has not been started.
    """
    if state.plan is None:
        raise NotPossible(f'job "{state.name}" never had a replica: its manifest was refused')
    name = _named(state, known, replica or state.plan.leading)
    of_replica = [attempt for attempt in known if attempt.replica == name]
    if not of_replica:
        phase = state.replicas[name].phase if name in state.replicas else "Deleted"
        raise NotPossible(f"replica {name} has no log yet: it has not been started ({phase})")
    if not previous:
        return of_replica[-1]
    if _restarted_in_place(state, of_replica[-1], container):
        return replace(of_replica[-1], before=True)
    if len(of_replica) == 1:
        raise UnknownReplica(f"replica {name} has no previous attempt: it has been started once")
    return of_replica[-2]


def _restarted_in_place(state: JobState, attempt: Attempt, container: str) -> bool:
    replica = state.replicas.get(attempt.replica)
    if replica is None or replica.uid != attempt.uid:
        return False
    meant = [
        candidate
        for candidate in replica.containers
        if (candidate.name == container if container else not candidate.init)
    ]
    return bool(meant and meant[0].restarts)


def _named(state: JobState, known: Sequence[Attempt], wanted: str) -> ReplicaName:
    """The replica's name, also when its pod was named."""
    names = list(dict.fromkeys([*state.replicas, *(attempt.replica for attempt in known)]))
    kind = kind_of(state.api_version, state.kind)
    for name in names:
        if wanted in (name, kind.pod_name(state, name)):
            return name
    near = nearest(wanted, names)
    hint = f'; did you mean "{near}"?' if near else ""
    raise UnknownReplica(f'job "{state.name}" has no replica "{wanted}", it has {", ".join(names)}{hint}')


async def pod_of(
    cluster: Cluster, state: JobState, attempt: Attempt, container: str, *, follow: bool
) -> AsyncIterator[bytes]:
    """What the attempt's pod wrote. Raises UnknownReplica when its log, or the container, does not exist."""
    pod = kind_of(state.api_version, state.kind).pod_name(state, attempt.replica)
    pieces = cluster.logs(
        state.namespace, pod, uid=attempt.uid, container=container, previous=attempt.before, follow=follow
    )
    try:
        first = await anext(pieces, b"")  # what is wrong with the request shows here
    except Missing as error:
        raise UnknownReplica(
            f"no log of replica {attempt.replica}, attempt {attempt.number}: {error}"
        ) from error
    return _from(first, pieces)


async def _from(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece
