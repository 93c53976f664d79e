"""All collections as one stream: jobs first, then their children, `Synced`, and every change after that."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, Self

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.index import Index, number, version_of
from k8s_bridge.apiserver.reflector import (
    Noted,
    Patience,
    Reflector,
    Source,
    Tell,
    Vanished,
    WatchProgress,
    nothing,
)
from k8s_bridge.apiserver.sources import UNWATCHED, child_sources, job_sources, workload_sources
from k8s_bridge.attended import Attended
from k8s_bridge.observe import is_job
from k8s_bridge.port import Change, Manifest, Synced, Verb

_QUEUE: Final = 2000
"""Changes that wait to be taken. When it is full the sockets are not read, and the server ends watches that lag."""


class Watching(AsyncIterator[Change | Synced]):
    """An open watch of everything. Starts with the first `anext`; `aclose` ends it."""

    def __init__(
        self, api: Api, attended: Attended, patience: Patience, forget: Callable[[str], None]
    ) -> None:
        self._api, self._attended, self._patience, self._forget = api, attended, patience, forget
        self._items: asyncio.Queue[Change | Synced | BaseException] = asyncio.Queue(_QUEUE)
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self.index = Index()
        """The children of all jobs."""
        self.versions: dict[str, str] = {}
        """resourceVersion of every job object, by uid."""
        self._jobs: dict[str, Manifest] = {}
        self._workloads: dict[str, Manifest] = {}
        """What is to be said of Kueue's objects that vanish unseen. They are no children: nobody deletes them."""
        self._children: list[Reflector] = []
        self.synced = asyncio.Event()
        self.progress: list[WatchProgress] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change | Synced:
        if self._closed:
            raise StopAsyncIteration
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="watches")
            self._task.add_done_callback(self._ended)
        item = await self._items.get()
        if isinstance(item, BaseException):
            raise item
        return item

    @property
    def is_open(self) -> bool:
        """It was begun, or may yet be, and is not closed."""
        return not self._closed

    async def aclose(self) -> None:
        """Nothing is watched any more; idempotent."""
        self._closed = True
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def note_version(self, meta: Manifest) -> None:
        """A job object is of this version, unless a newer one is known."""
        uid, version = meta["uid"], version_of(meta)
        if not version or version > number(self.versions.get(uid, "")):
            self.versions[uid] = meta["resourceVersion"]

    def note_sight(self, uid: str, found: Manifest | None) -> None:
        """A pod was looked at by its name: `found`, or gone."""
        if found is None:
            self.index.remove(uid)
        else:
            self.index.sight(found)

    def note(self, stored: Manifest) -> None:
        """An answer to a write of ours, ahead of the watches or behind them.

        What no watch follows is not kept, but for what is meant to be known from such answers alone.
        """
        if stored["kind"] in UNWATCHED:
            self.index.put(stored)
        told_by = [each for each in self._children if each.source.covers(stored)]
        if told_by:
            last = min(told_by, key=lambda each: each.position)
            self.index.note(stored, last.source.collection, last.position)
        elif self.index.get(stored["metadata"]["uid"]) is not None:
            self.index.put(stored)  # no watch tells of it, a look did: see `note_sight`

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Reflectors run for ever: that they ended is somebody's bug, and whoever reads the stream hears of it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            found = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
            asyncio.ensure_future(self._items.put(found))  # noqa: RUF006 - it ends with the loop

    async def _run(self) -> None:
        jobs = [
            self._reflector(each, self._tell_job, self._job_vanished) for each in job_sources(self._attended)
        ]
        children = self._children = [
            self._reflector(
                each,
                partial(self._tell_child, each.collection),
                self._child_vanished,
                partial(self.index.up_to, each.collection),
            )
            for each in child_sources(self._attended)
        ]
        workloads = [
            self._reflector(each, self._tell_workload, self._workload_vanished)
            for each in workload_sources(self._attended)
        ]
        async with asyncio.TaskGroup() as tasks:
            # a pod says nothing to somebody who does not know its job yet
            for each in jobs:
                tasks.create_task(each.run(), name=f"watch-{each.source.kind}")
            await _known_enough(jobs)
            for each in (*children, *workloads):
                tasks.create_task(each.run(), name=f"watch-{each.source.kind}")
            for each in (*children, *workloads):
                await each.settled.wait()
            self.synced.set()
            late = [each for each in jobs if each.is_withheld]
            await self._items.put(Synced(_now(), _kinds(late)))
            for each in late:
                tasks.create_task(self._catch_up(each, late), name=f"watch-{each.source.kind}-late")

    async def _catch_up(self, one: Reflector, late: Sequence[Reflector]) -> None:
        """When `one` of the collections that nobody waited for is listed, that is said."""
        await one.listed.wait()
        await self._items.put(Synced(_now(), _kinds(each for each in late if each.is_withheld)))

    def _reflector(
        self,
        source: Source,
        tell: Tell,
        vanished: Vanished,
        noted: Noted = nothing,
    ) -> Reflector:
        progress = WatchProgress(source.kind)
        self.progress.append(progress)
        return Reflector(self._api, source, tell, vanished, progress, self._patience, noted)

    async def _tell_job(self, verb: Verb, raw: Manifest) -> None:
        meta = raw["metadata"]
        uid = meta["uid"]
        if verb is Verb.DELETED:
            self._gone(uid)
        else:
            self.note_version(meta)
            self._jobs[uid] = _identity(raw)
        await self._put(verb, raw)

    async def _job_vanished(self, uid: str) -> None:
        raw = self._jobs.get(uid)
        self._gone(uid)
        if raw is not None:
            await self._put(Verb.DELETED, raw)

    def _gone(self, uid: str) -> None:
        self._jobs.pop(uid, None)
        self.versions.pop(uid, None)
        self._forget(uid)

    async def _tell_child(self, collection: str, verb: Verb, raw: Manifest) -> None:
        if verb is Verb.DELETED:
            self.index.remove(raw["metadata"]["uid"], version_of(raw["metadata"]))
        else:
            self.index.put(raw, collection)
        await self._put(verb, raw)

    async def _tell_workload(self, verb: Verb, raw: Manifest) -> None:
        uid = raw["metadata"]["uid"]
        if verb is Verb.DELETED:
            self._workloads.pop(uid, None)
        else:
            self._workloads[uid] = _owned_identity(raw)
        await self._put(verb, raw)

    async def _workload_vanished(self, uid: str) -> None:
        if (raw := self._workloads.pop(uid, None)) is not None:
            await self._put(Verb.DELETED, raw)

    async def _child_vanished(self, uid: str) -> None:
        if (seen := self.index.remove(uid)) is not None:
            await self._put(Verb.DELETED, seen.vanished())

    async def _put(self, verb: Verb, raw: Manifest) -> None:
        await self._items.put(Change(verb, raw, _now()))


async def _known_enough(jobs: Sequence[Reflector]) -> None:
    """Every kind of jobs is listed or withheld, and of one at least something is known."""
    for each in jobs:
        await each.settled.wait()
    if all(each.is_withheld for each in jobs):
        waits = [asyncio.create_task(each.listed.wait()) for each in jobs]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _kinds(withheld: Iterable[Reflector]) -> frozenset[str]:
    return frozenset(each.source.kind for each in withheld)


def _identity(raw: Manifest) -> Manifest:
    """What is to be said of a job that vanished unseen."""
    assert is_job(raw)  # noqa: S101 - the source says so
    meta = raw["metadata"]
    kept = {key: meta[key] for key in ("namespace", "name", "uid")}
    return {"apiVersion": raw["apiVersion"], "kind": raw["kind"], "metadata": kept}


def _owned_identity(raw: Manifest) -> Manifest:
    """What is to be said of an object of somebody else's that a job controls."""
    meta = raw["metadata"]
    kept = {key: meta[key] for key in ("namespace", "name", "uid", "ownerReferences") if key in meta}
    return {"apiVersion": raw["apiVersion"], "kind": raw["kind"], "metadata": kept}


def _now() -> datetime:
    return datetime.now(UTC)
