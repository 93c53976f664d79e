"""The pods of a job and the rows of its replicas, as far as the caller may see them."""

import asyncio
from contextlib import suppress
from typing import Any

from jobledger.api.rights import Caller, Right
from jobledger.app import App
from jobledger.console.details.lives import Lives
from jobledger.console.details.replicas import Row, table
from jobledger.console.details.subject import Subject
from projectors.explain import Language
from statemachine.errors import ClusterError


async def rows_of(
    app: App, lives: Lives, subject: Subject, caller: Caller, language: Language = "en"
) -> list[Row]:
    """All replicas that the job has or had; none before anything was decided about it."""
    if subject.state is None:
        return []
    life = await lives.of(subject.uid)
    marks = (await asyncio.to_thread(life.timeline)).marks if life.entries else ()
    return list(table(subject.state, await pods_of(app, subject, caller), marks, language))


async def pods_of(app: App, subject: Subject, caller: Caller) -> list[dict[str, Any]]:
    """The pods that live; none where the cluster, or the caller's rights, do not give them."""
    if not await caller.may(Right("list", "", "pods", subject.namespace)):
        return []
    with suppress(ClusterError):
        children = await app.cluster.children(subject.namespace, subject.uid)
        return [each for each in children if each["kind"] == "Pod"]
    return []
