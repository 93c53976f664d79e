"""The Events on a job's page: what jobledger says of the job, or all that happened to it and its children."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from jobledger.console.details.children import children_of
from jobledger.console.details.lives import KeptLife
from jobledger.console.details.subject import Subject
from jobledger.service.app import App
from jobledger.web.rights import AccessRight, Caller
from k8s_bridge.port import Happening
from statemachine.errors import ClusterError

SHOWN: Final = 500
"""Events on a page, the newest: pods of a large job have a handful each."""


async def events_of(
    app: App, subject: Subject, life: KeptLife, caller: Caller, *, detailed: bool
) -> Sequence[Happening]:
    """The events, the newest first; none where the caller may not read them, or the cluster does not answer.

    With `detailed` also those of every pod that there was, and of the job's other children. Of these the log has no
    uid, so they are found by name; what was said before the job was made is of a job before it. Source: spec
    console.md, section 4.
    """
    if subject.job is None or not await may_read(caller, subject.namespace):
        return []
    happenings: Sequence[Happening] = []
    with suppress(ClusterError):
        if detailed:
            uids = {subject.uid, *(attempt.uid for attempt in life.attempts())}
            names = {(child.kind, child.name) for child in children_of(subject.state) if child.kind != "Pod"}
            begun = subject.state.created_at if subject.state else None
            happenings = [
                happening
                for happening in await app.cluster.events_about(subject.namespace, uids, names)
                if happening.uid in uids or begun is None or happening.last_at >= begun
            ]
        else:
            happenings = [
                Happening(
                    event.about, event.uid, event.reason, event.message, event.level, event.at, event.at
                )
                for event in await app.events(subject.job)
            ]
    return happenings[::-1][:SHOWN]


async def events_of_pod(app: App, subject: Subject, uid: str, caller: Caller) -> Sequence[Happening]:
    """The events of one pod, the newest first; as `events_of`."""
    if not uid or not await may_read(caller, subject.namespace):
        return []
    with suppress(ClusterError):
        return (await app.cluster.events_about(subject.namespace, [uid]))[::-1][:SHOWN]
    return []


async def may_read(caller: Caller, namespace: str) -> bool:
    """The caller may read Events there."""
    return await caller.may(AccessRight("list", "", "events", namespace))
