"""The Cluster port over processes of this machine."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from k8s_bridge.base import StoredCluster
from k8s_bridge.kept_events import KeptEvents
from k8s_bridge.kubelet.containers import Ended
from k8s_bridge.kubelet.folders import DataFolder, PodFolder
from k8s_bridge.kubelet.machine import this_machine
from k8s_bridge.kubelet.node import Kubelet
from k8s_bridge.kubelet.restarts import FIRST, again
from k8s_bridge.local import logs
from k8s_bridge.local.storage import Storage, Store
from k8s_bridge.objects import Admit, ObjectStore
from k8s_bridge.port import Change, LogPart, Manifest, Ref, Synced, Verb
from k8s_bridge.watching import Watcher, is_watched
from statemachine.errors import ClusterUnavailable, Missing

_AT_ONCE = ("create", "patch", "delete", "emit")
"""Writes that are durable when the call returns: users' objects, and events, which are written only once.

The controller derives the others from the log again.
"""


class LocalCluster(StoredCluster):
    """Jobs and their objects in the store, pods as process groups. Enter it before use.

    `store` is what `statemachine.log.store` opens; `data` the folder for everything that pods write.
    `workdir` is the folder of processes that name none, `python` the Python for `python`, `python3` and
    modules that are programs, if it is not the one on the PATH (annotations of a job win over both).
    `restart_wait`: seconds of the first back-off before a container is started again in its pod.
    """

    def __init__(
        self,
        store: Store,
        data: Path,
        *,
        admit: Admit | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        workdir: Path | None = None,
        python: str = "",
        restart_wait: float = FIRST,
    ) -> None:
        self._storage = Storage(store)
        self._data = DataFolder(data.absolute())
        self.kept_events = KeptEvents(persist=self._storage.put_event)
        host = this_machine((workdir or Path.cwd()).absolute(), python)
        kept: dict[str, Any] = {} if admit is None else {"admit": admit}
        self.objects = ObjectStore(
            clock=clock,
            new_uid=lambda: str(uuid4()),
            prepare=self._prepare,
            persist=self._storage.put_object,
            **kept,
        )
        self._kubelet = Kubelet(
            self.objects,
            self.kept_events,
            self._data,
            host,
            durable=self._durable,
            name=socket.gethostname(),
            restart_wait=restart_wait,
        )
        self._open = False

    async def open(self) -> Self:
        """Restores what was kept, and takes over pods that still run."""
        self._data.open()
        objects, events = await self._storage.load()
        for kept_object in sorted(
            objects, key=lambda stored: str(stored.object["metadata"]["creationTimestamp"])
        ):
            self.objects.restore(kept_object)
        for event in events:
            self.kept_events.restore(event)
        self._storage.start()
        self._kubelet.start()
        self._open = True
        return self

    async def close(self) -> None:
        """Ends the adapter's tasks; idempotent. Pods live on, and the next process takes them over."""
        if self._open:
            self._open = False
            self.objects.drop_watches()
            await self._kubelet.close()
            await self._storage.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
        else:
            with contextlib.suppress(ClusterUnavailable):  # the error before says more
                await self.close()

    def watch(self) -> AsyncIterator[Change | Synced]:
        """See the port. The watch shows a new object once it is durable.

        Otherwise, if this process is killed, the log could know a pod that the store does not have: an attempt that
        never ran, and whose end is unknown.
        """
        return _OnceKept(self.objects.watch(is_watched), self._durable)

    def logs(
        self,
        namespace: str,
        pod: str,
        *,
        uid: str = "",
        container: str = "",
        previous: bool = False,
        follow: bool = False,
    ) -> AsyncIterator[bytes]:
        """The log of the container's last run, in pieces; with `follow` until the container ends for good.

        `previous`: the log of the run before. Raises Missing.
        """
        ref = Ref("v1", "Pod", namespace, pod)
        return self._logs(ref, uid, container, previous=previous, follow=follow)

    def log_part(
        self,
        namespace: str,
        pod: str,
        start: int,
        length: int,
        *,
        uid: str = "",
        container: str = "",
        previous: bool = False,
    ) -> LogPart:
        """See `SeekableLogs`."""
        ref = Ref("v1", "Pod", namespace, pod)
        current = self.objects.peek(ref)
        uid = uid or (current["metadata"]["uid"] if current else "")
        name, run, folder = self._run(ref, uid, container, previous=previous)
        over = previous or not self._exists(namespace, pod, uid) or self._is_over(ref)
        how = folder.container(name, run).ended()
        ended = over or (how is not None and not self._comes_again(ref, how, name))
        return logs.part(folder.log(name, run), start, length, ended=ended)

    async def end_pods(self, jobs: Collection[str]) -> None:
        """See `EndsPods`."""
        await self._kubelet.end(jobs)

    # ---- inside ------------------------------------------------------------------------------------------

    def _prepare(self, new: Manifest) -> None:
        self._kubelet.prepare(new)

    async def _before(self, verb: str, ref: Ref) -> None:
        if not self._open:
            raise ClusterUnavailable("the local cluster is closed")

    async def _after(self, verb: str, ref: Ref) -> None:
        if verb in _AT_ONCE:
            await self._storage.flush()

    async def _durable(self) -> None:
        """Waits until all objects are durable, for as long as the store cannot be written."""
        while True:
            try:
                return await self._storage.flush()
            except ClusterUnavailable:
                await asyncio.sleep(1.0)

    async def _logs(
        self, ref: Ref, uid: str, container: str, *, previous: bool, follow: bool
    ) -> AsyncIterator[bytes]:
        current = self.objects.peek(ref)
        uid = uid or (current["metadata"]["uid"] if current else "")
        name, run, folder = self._run(ref, uid, container, previous=previous)

        def is_over() -> bool:
            return not self._exists(ref.namespace, ref.name, uid) or self._is_over(ref)

        def has_ended() -> bool:
            return folder.container(name, run).ended() is not None or is_over()

        while True:
            async for piece in logs.read(folder.log(name, run), has_ended, follow=follow and not previous):
                yield piece
            if previous or not follow:
                return
            while folder.restarts(name) == run:
                if is_over() or not self._comes_again(ref, folder.container(name, run).ended(), name):
                    return
                await asyncio.sleep(logs.LOOK)
            run += 1

    def _comes_again(self, ref: Ref, ended: Ended | None, container: str) -> bool:
        """The pod's container, which has `ended`, will be started again."""
        pod = self.objects.peek(ref)
        if pod is None or ended is None:
            return False
        init = any(
            container_spec["name"] == container for container_spec in pod["spec"].get("initContainers") or ()
        )
        return again(pod, ended, init=init)

    def _run(self, ref: Ref, uid: str, container: str, *, previous: bool) -> tuple[str, int, PodFolder]:
        """The name of the container, the number of its last run or the one before, and the pod's folder.

        Raises Missing.
        """
        names, folder = self._containers(ref, uid)
        name = container or next(iter(names), "")
        if name not in names:
            raise Missing(f'container "{name}" is not one of pod "{ref.name}"')
        run = folder.restarts(name) - (1 if previous else 0)
        if run < 0:
            raise Missing(f'container "{name}" of pod "{ref.name}" has not been restarted')
        return name, run, folder

    def _containers(self, ref: Ref, uid: str) -> tuple[tuple[str, ...], PodFolder]:
        """The pod's containers, main ones first, and its folder. Raises Missing."""
        pod, folder = self.objects.peek(ref), self._data.existing(uid)
        if pod is not None and pod["metadata"]["uid"] == uid:
            spec = pod.get("spec") or {}
            everyone = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
            return tuple(container_spec["name"] for container_spec in everyone), self._data.pod(uid)
        about = folder.about() if folder else None
        if folder is None or about is None or (about.namespace, about.name) != (ref.namespace, ref.name):
            raise Missing(f'pod "{ref.name}" not found')
        return about.containers, folder

    def _exists(self, namespace: str, name: str, uid: str) -> bool:
        pod = self.objects.peek(Ref("v1", "Pod", namespace, name))
        return pod is not None and pod["metadata"]["uid"] == uid

    def _is_over(self, ref: Ref) -> bool:
        pod = self.objects.peek(ref) or {}
        return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


class _OnceKept(AsyncIterator[Change | Synced]):
    """A watch, open from now on, that shows a new object after `durable`."""

    def __init__(self, items: Watcher, durable: Callable[[], Awaitable[None]]) -> None:
        self._items, self._durable = items, durable

    async def __anext__(self) -> Change | Synced:
        item = await anext(self._items)
        if isinstance(item, Change) and item.verb is Verb.ADDED:
            await self._durable()
        return item

    async def aclose(self) -> None:
        """See Watcher."""
        await self._items.aclose()
