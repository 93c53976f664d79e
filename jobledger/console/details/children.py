"""A job's replicas as the log tells them, and what it takes the cluster to know: a pod as it lives, a gang.

The table of replicas is made from the log alone, pods as jobledger makes them included, so that it costs the API
server nothing however many pages are open, and is the same in every process. What somebody else has added to a pod
shows on the replica's own page, to those who may get pods.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from jobledger.console.details.lives import Lives
from jobledger.console.details.replicas import ReplicaRow, described, table
from jobledger.console.details.subject import Subject
from jobledger.program.errors import NoRight
from jobledger.service.app import App
from jobledger.web.rights import AccessRight, Caller, demand
from k8s_bridge.port import Manifest, Ref
from projectors.explain import Language
from statemachine.errors import ClusterError
from statemachine.ids import ReplicaName
from statemachine.kinds import KINDS, kind_of
from statemachine.owned import Child
from statemachine.redact import redacted
from statemachine.state import ChildState, JobState

_PLURALS: Final = {
    (owned.api_version, owned.kind): owned.plural for kind in KINDS for owned in kind.owns
}  # by which roles know them
_GANGS: Final = frozenset(
    (owned.api_version, owned.kind) for kind in KINDS for owned in kind.owns if owned.gang
)


async def rows_of(lives: Lives, subject: Subject, language: Language = "en") -> list[ReplicaRow]:
    """All replicas that the job has or had, without what their pods are made of; none before anything was decided."""
    if subject.state is None:
        return []
    life = await lives.of(subject.uid)
    marks = (await asyncio.to_thread(life.timeline)).marks if life.entries else ()
    return list(table(subject.state, marks, language))


def with_pods(state: JobState | None, rows: Iterable[ReplicaRow]) -> Sequence[ReplicaRow]:
    """The rows with labels, images, commands and resources of their pods, as jobledger makes these."""
    made = made_pods(state)
    return [
        described(row, redacted(made[ReplicaName(row.name)]())) if row.uid and row.name in made else row
        for row in rows
    ]


def made_pods(state: JobState | None) -> Mapping[ReplicaName, Callable[[], Manifest]]:
    """How the pod of each replica is made; of a job of which nothing is left nobody can say any more."""
    return {child.replica: child.build for child in children_of(state) if child.kind == "Pod"}


def children_of(state: JobState | None) -> Sequence[Child]:
    """The objects that the job may have, whether or not it has them now."""
    if state is None or state.plan is None or state.closed:
        return ()
    return tuple(kind_of(state.api_version, state.kind).children(state))


async def pod_of(
    app: App, subject: Subject, row: ReplicaRow, caller: Caller
) -> tuple[dict[str, Any] | None, str]:
    """The pod of a replica as it lives; or none, and the sentence that says why, if there should be one."""
    if not row.uid:
        return None, ""
    try:
        await demand(caller, AccessRight("get", "", "pods", subject.namespace, row.pod))
        pod = await app.cluster.get(Ref("v1", "Pod", subject.namespace, row.pod))
    except (ClusterError, NoRight) as error:
        return None, str(error)
    return (pod, "") if pod["metadata"]["uid"] == row.uid else (None, "")


def gang_of(state: JobState | None) -> Child | None:
    """The child by which a scheduler places the job's pods together."""
    return next((child for child in children_of(state) if (child.api_version, child.kind) in _GANGS), None)


def known_gang(state: JobState) -> ChildState | None:
    """What the log knows of that child; nothing where the job's kind does not observe it."""
    child = gang_of(state)
    return state.child(child.kind, child.name) if child else None


async def group_of(app: App, subject: Subject, caller: Caller) -> dict[str, Any] | None:
    """The object by which the job's pods are placed together; None if it has none, or nobody gives it to the caller.

    Where pods wait for their group the log knows of it, and the cluster is not asked.
    """
    child = gang_of(subject.state)
    if child is None or subject.state is None or subject.state.child(child.kind, child.name):
        return None
    return await readable(app, Ref(child.api_version, child.kind, subject.namespace, child.name), caller)


async def readable(app: App, ref: Ref, caller: Caller) -> dict[str, Any] | None:
    """An object that belongs to a job; None where the cluster, or the caller's rights, do not give it."""
    plural = _PLURALS.get((ref.api_version, ref.kind), "")
    group = ref.api_version.rpartition("/")[0]
    if not plural or not await caller.may(AccessRight("get", group, plural, ref.namespace, ref.name)):
        return None
    with suppress(ClusterError):
        return await app.cluster.get(ref)
    return None
