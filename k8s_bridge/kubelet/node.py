"""Runs the pods of a local cluster: follows changes of objects, and keeps a runner for every living pod."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from k8s_bridge.kept_events import KeptEvents
from k8s_bridge.kubelet import notices, podspec, processes, restarts
from k8s_bridge.kubelet.folders import DataFolder, PodFolder
from k8s_bridge.kubelet.pods import PodRunner
from k8s_bridge.kubelet.podspec import Host, PodPlan
from k8s_bridge.kubelet.ports import PortPool, ports_of, services
from k8s_bridge.objects import ObjectStore
from k8s_bridge.port import Change, Manifest, Ref, Verb
from k8s_bridge.stored import controller, deletion_asked_at

BOOT = "local.jobledger.dev/boot"
"""Annotation on pods: the boot of the machine in which the pod was created."""

WORKDIR = "jobledger.dev/workdir"
"""Annotation on jobs and pods: the folder in which processes start that name none."""

PYTHON = "jobledger.dev/python"
"""Annotation on jobs and pods: the Python for `python`, `python3` and modules that are programs."""

_ENDED = ("Succeeded", "Failed")


class Kubelet:
    """The one node of a local cluster."""

    def __init__(
        self,
        objects: ObjectStore,
        events: KeptEvents,
        data: DataFolder,
        host: Host,
        *,
        durable: Callable[[], Awaitable[None]],
        name: str,
        restart_wait: float = restarts.FIRST,
    ) -> None:
        self._objects, self._events, self._data, self._host = objects, events, data, host
        self._durable, self._name, self._restart_wait = durable, name, restart_wait
        self._boot = processes.boot_id()
        self._pool = PortPool(str(data.root))
        self._runners: dict[str, PodRunner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Takes over all pods that were kept, and follows every change from now on."""
        self._objects.subscribe(self._react)
        for service in self._objects.peek_all("Service"):
            self._pool.take(service["metadata"]["uid"], ports_of(service).values())
        for pod in self._objects.peek_all("Pod"):
            ref, meta = Ref.of(pod), pod["metadata"]
            if pod["status"].get("phase") in _ENDED:
                self._objects.terminated(ref, meta["uid"])
                continue
            self._run(pod)
            if "deletionTimestamp" in meta:
                self._stop(pod)

    async def end(self, jobs: Collection[str]) -> None:
        """Ends all processes of these jobs' pods, and stops running these pods."""
        ours = [runner for runner in self._runners.values() if controller(runner.pod) in jobs]
        tasks = [self._tasks[runner.uid] for runner in ours if runner.uid in self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(runner.end() for runner in ours))

    async def close(self) -> None:
        """Ends all tasks; the pods live on."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for runner in self._runners.values():
            await runner.close()
        self._runners.clear()

    # ---- what a new object needs -------------------------------------------------------------------------

    def prepare(self, new: Manifest) -> None:
        """Does what scheduler and API server do with a new object. Raises Refused."""
        kind = new["kind"]
        if kind == "Pod":
            podspec.check(new)
            new["spec"] = {"nodeName": self._name, **new["spec"]}
            meta = new["metadata"]
            meta["annotations"] = {**(meta.get("annotations") or {}), BOOT: self._boot}
        elif kind == "Service":
            self._pool.assign(new)
        elif kind == "Secret":
            podspec.encode_secret(new)

    # ---- what runners need -------------------------------------------------------------------------------

    async def durable(self) -> None:
        """Waits until all objects are durable."""
        await self._durable()

    def plan(self, pod: Manifest, folder: PodFolder) -> PodPlan:
        """What to run for `pod`. Raises NotYet, Refused."""
        namespace = pod["metadata"]["namespace"]
        siblings = self._objects.peek_children(namespace, controller(pod))
        roots = folder.roots(self._data.claims(namespace))

        def find(kind: str, name: str) -> Manifest | None:
            return self._objects.peek(Ref("v1", kind, namespace, name))

        result = podspec.plan(pod, self._host_for(pod), roots, dict(services(siblings)), find)
        self._notice(pod, "mounts", notices.moved(result.mounts))
        self._notice(pod, "ssh", notices.ssh(result.ssh))
        return result

    def report(self, ref: Ref, uid: str, status: Mapping[str, Any]) -> None:
        """Writes the pod's status."""
        self._objects.set_status(ref, uid, status)

    def finished(self, ref: Ref, uid: str) -> None:
        """Notes that all processes of the pod are gone."""
        self._objects.terminated(ref, uid)

    # ---- inside ------------------------------------------------------------------------------------------

    def _react(self, change: Change) -> None:
        changed, kind, uid = change.object, change.object["kind"], change.object["metadata"]["uid"]
        if kind == "Pod":
            self._react_to_pod(change)
        elif kind == "Service":
            if change.verb is Verb.DELETED:
                self._pool.give_back(uid)
            else:
                self._pool.take(uid, ports_of(changed).values())
            self._look_again(change, controller(changed))
        elif kind in ("ConfigMap", "Secret"):
            self._look_again(change)
        elif change.verb is Verb.ADDED:
            self._notice(changed, f"not-run-{kind}", notices.not_run(changed))

    def _look_again(self, change: Change, job: str | None = None) -> None:
        """Notes a change of an object that pods of the namespace, or of a job in it, depend on."""
        for runner in self._runners.values():
            same_job = job is None or job == controller(runner.pod)
            if same_job and runner.ref.namespace == Ref.of(change.object).namespace:
                runner.look_again()

    def _react_to_pod(self, change: Change) -> None:
        pod, uid = change.object, change.object["metadata"]["uid"]
        if change.verb is Verb.ADDED:
            self._run(pod)
            self._notice(pod, "ignored", notices.ignored(pod))
        elif change.verb is Verb.DELETED:
            self._runners.pop(uid, None)
            self._data.pod(uid).drop_volumes()
        elif "deletionTimestamp" in pod["metadata"]:
            self._stop(pod)

    def _run(self, pod: Manifest) -> None:
        uid = pod["metadata"]["uid"]
        same = (pod["metadata"].get("annotations") or {}).get(BOOT) == self._boot
        runner = self._runners[uid] = PodRunner(
            pod, self._data.pod(uid), self, same_boot=same, restart_wait=self._restart_wait
        )
        task = self._tasks[uid] = asyncio.create_task(runner.run(), name=f"pod-{uid}")
        task.add_done_callback(lambda _: self._tasks.pop(uid, None))

    def _stop(self, pod: Manifest) -> None:
        """Stops the pod, within the rest of its grace period; again only if that became shorter."""
        meta = pod["metadata"]
        runner = self._runners.get(meta["uid"])
        if runner is None or runner.done:
            return
        grace = float(meta["deletionGracePeriodSeconds"])
        if runner.grace is None or grace < runner.grace:
            runner.grace = grace
            since = datetime.now(UTC) - deletion_asked_at(meta)
            runner.stop(min(grace, max(0.0, grace - since.total_seconds())))

    def _host_for(self, pod: Manifest) -> Host:
        """The machine, with the settings in annotations of the pod or its job."""
        annotations: dict[str, str] = {}
        for owner in pod["metadata"].get("ownerReferences") or ():
            if owner.get("controller"):
                namespace = pod["metadata"]["namespace"]
                job = self._objects.peek(Ref(owner["apiVersion"], owner["kind"], namespace, owner["name"]))
                annotations |= ((job or {}).get("metadata") or {}).get("annotations") or {}
        annotations |= pod["metadata"].get("annotations") or {}
        folder, python = annotations.get(WORKDIR), annotations.get(PYTHON)
        return replace(self._host, folder=folder or self._host.folder, python=python or self._host.python)

    def _notice(self, child: Manifest, topic: str, message: str) -> None:
        event = notices.notice(child, topic, message, datetime.now(UTC))
        if event is not None:
            self._events.add(event)
