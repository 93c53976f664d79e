"""All collections as one stream: jobs, then their children, `Synced`, and then every change."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, Self

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.index import Index
from k8s_bridge.apiserver.reflector import (
    Noted,
    Reflector,
    Tell,
    Vanished,
    WatchPatience,
    WatchProgress,
    WatchSource,
    nothing,
)
from k8s_bridge.apiserver.sources import UNWATCHED, child_sources, job_sources, workload_sources
from k8s_bridge.attended import Attended
from k8s_bridge.observe import is_job
from k8s_bridge.port import Change, Manifest, Synced, Verb
from k8s_bridge.raw import number, version_of

_QUEUE: Final = 2000
"""Changes that wait to be taken. If it is full, sockets are not read, and the server ends watches that lag."""


class WatchStream(AsyncIterator[Change | Synced]):
    """An open watch of everything. Starts with the first `anext`; `aclose` ends it."""

    def __init__(
        self, api: Api, attended: Attended, patience: WatchPatience, forget: Callable[[str], None]
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
        """The identities of Workloads, for those that vanish unseen. They are no children: Kueue deletes them."""
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
        """The watch is not closed."""
        return not self._closed

    async def aclose(self) -> None:
        """Ends all watches; idempotent."""
        self._closed = True
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def note_version(self, meta: Manifest) -> None:
        """Notes the version of a job object, unless a newer one is known."""
        uid, version = meta["uid"], version_of(meta)
        if not version or version > number(self.versions.get(uid, "")):
            self.versions[uid] = meta["resourceVersion"]

    def note_sight(self, uid: str, pod: Manifest | None) -> None:
        """Takes the result of a look at a pod by its name: `pod`, or None if it is gone."""
        if pod is None:
            self.index.remove(uid)
        else:
            self.index.sight(pod)

    def note(self, stored: Manifest) -> None:
        """Takes the object of a response to a write of ours, ahead of the watches or behind them.

        Objects that no watch follows are not kept, except for those that are known from such responses alone.
        """
        if stored["kind"] in UNWATCHED:
            self.index.put(stored)
        covering = [reflector for reflector in self._children if reflector.source.covers(stored)]
        if covering:
            last = min(covering, key=lambda reflector: reflector.position)
            self.index.note(stored, last.source.collection, last.position)
        elif self.index.get(stored["metadata"]["uid"]) is not None:
            self.index.put(stored)  # no watch shows it, but a look did: see `note_sight`

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Passes an error on to the reader of the stream: reflectors run for ever, so their end is a bug."""
        if not task.cancelled() and (error := task.exception()) is not None:
            cause = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
            asyncio.ensure_future(self._items.put(cause))  # noqa: RUF006 - it ends with the loop

    async def _run(self) -> None:
        jobs = [
            self._reflector(source, self._tell_job, self._job_vanished)
            for source in job_sources(self._attended)
        ]
        children = self._children = [
            self._reflector(
                source,
                partial(self._tell_child, source.collection),
                self._child_vanished,
                partial(self.index.up_to, source.collection),
            )
            for source in child_sources(self._attended)
        ]
        workloads = [
            self._reflector(source, self._tell_workload, self._workload_vanished)
            for source in workload_sources(self._attended)
        ]
        async with asyncio.TaskGroup() as tasks:
            # a reader can use a pod only when it knows the pod's job
            for reflector in jobs:
                tasks.create_task(reflector.run(), name=f"watch-{reflector.source.kind}")
            await _known_enough(jobs)
            for reflector in (*children, *workloads):
                tasks.create_task(reflector.run(), name=f"watch-{reflector.source.kind}")
            for reflector in (*children, *workloads):
                await reflector.settled.wait()
            self.synced.set()
            late = [reflector for reflector in jobs if reflector.is_withheld]
            await self._items.put(Synced(_now(), _kinds(late)))
            for reflector in late:
                tasks.create_task(self._catch_up(reflector, late), name=f"watch-{reflector.source.kind}-late")

    async def _catch_up(self, reflector: Reflector, late: Sequence[Reflector]) -> None:
        """Queues another `Synced` when `reflector`, which others did not wait for, is listed."""
        await reflector.listed.wait()
        await self._items.put(Synced(_now(), _kinds(withheld for withheld in late if withheld.is_withheld)))

    def _reflector(
        self,
        source: WatchSource,
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
        if (known := self.index.remove(uid)) is not None:
            await self._put(Verb.DELETED, known.vanished())

    async def _put(self, verb: Verb, raw: Manifest) -> None:
        await self._items.put(Change(verb, raw, _now()))


async def _known_enough(jobs: Sequence[Reflector]) -> None:
    """Waits until every kind of jobs is listed or withheld, and at least one is listed."""
    for reflector in jobs:
        await reflector.settled.wait()
    if all(reflector.is_withheld for reflector in jobs):
        waits = [asyncio.create_task(reflector.listed.wait()) for reflector in jobs]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _kinds(withheld: Iterable[Reflector]) -> frozenset[str]:
    return frozenset(reflector.source.kind for reflector in withheld)


def _identity(raw: Manifest) -> Manifest:
    """The report of a job that vanished unseen."""
    assert is_job(raw)  # noqa: S101 - the source says so
    meta = raw["metadata"]
    kept = {key: meta[key] for key in ("namespace", "name", "uid")}
    return {"apiVersion": raw["apiVersion"], "kind": raw["kind"], "metadata": kept}


def _owned_identity(raw: Manifest) -> Manifest:
    """The report of another controller's object that a job controls."""
    meta = raw["metadata"]
    kept = {key: meta[key] for key in ("namespace", "name", "uid", "ownerReferences") if key in meta}
    return {"apiVersion": raw["apiVersion"], "kind": raw["kind"], "metadata": kept}


def _now() -> datetime:
    return datetime.now(UTC)
