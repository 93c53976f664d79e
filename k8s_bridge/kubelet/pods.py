"""One local pod, from its creation or adoption to its end: what a kubelet does for a pod."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from k8s_bridge.kubelet import containers, restarts
from k8s_bridge.kubelet.containers import NEVER, ContainerLaunch, Ended
from k8s_bridge.kubelet.folders import About, NotMountable, PodFolder
from k8s_bridge.kubelet.podspec import PodPlan
from k8s_bridge.kubelet.status import PastRuns, PodOutcome, Running, State, Waiting, pod_status, verdict
from k8s_bridge.kubelet.values import NotYet
from k8s_bridge.port import Manifest, Ref
from k8s_bridge.stored import controller
from k8s_bridge.timestamps import stamp
from statemachine.errors import Refused
from statemachine.observations import CANNOT_START

_log = logging.getLogger(__name__)


_GRACE = 30.0
"""The grace period in seconds of a pod that sets none, as in Kubernetes."""

_ON_ITS_WAY = 0.1
"""Seconds after which a started program has done its first step."""


class Node(Protocol):
    """The machine of a pod."""

    async def durable(self) -> None:
        """Waits until the pod's object is durable, so that the next process knows it."""

    def plan(self, pod: Manifest, folder: PodFolder) -> PodPlan:
        """The programs to run. Raises NotYet, Refused."""

    def report(self, ref: Ref, uid: str, status: Mapping[str, Any]) -> None:
        """Writes the pod's status."""

    def finished(self, ref: Ref, uid: str) -> None:
        """Notes that all processes of the pod are gone, and none will start."""


class PodRunner:
    """Runs one pod. Cancelling `run` does not stop its processes: the next jobledger adopts them."""

    def __init__(
        self, pod: Manifest, folder: PodFolder, node: Node, *, same_boot: bool, restart_wait: float
    ) -> None:
        meta, spec = pod["metadata"], pod.get("spec") or {}
        self.ref, self.uid, self.done = Ref.of(pod), str(meta["uid"]), False
        self.pod, self._folder, self._node, self._same_boot = pod, folder, node, same_boot
        self._init = [str(container["name"]) for container in spec.get("initContainers") or ()]
        self._main = [str(container["name"]) for container in spec.get("containers") or ()]
        self._states: dict[str, State] = {}
        self._past: dict[str, PastRuns] = {}
        self._restart_wait = restart_wait
        self._has_volumes = False
        self._began = str((pod.get("status") or {}).get("startTime") or stamp(datetime.now(UTC)))
        self.grace: float | None = None
        """The grace period of the present deletion; None without one."""
        self._stopping = asyncio.Event()
        self._stop: asyncio.Task[None] | None = None
        self._more = asyncio.Event()

    async def run(self) -> None:
        """Runs the pod to its end, and writes the end to its status."""
        try:
            outcome = await self._live()
        except (Refused, NotMountable, OSError) as error:
            outcome = _trouble(error)
        except Exception as error:  # noqa: BLE001 - a fault of one pod must not stop the others
            _log.exception("a local pod broke", extra={"action": "pod-broke", "pod": str(self.ref)})
            outcome = PodOutcome("Failed", "LocalError", f"{type(error).__name__}: {error}")
        if outcome.reason:
            await self._leave_nothing()
        self._report(outcome)
        self.done = True
        self._node.finished(self.ref, self.uid)

    def stop(self, grace: float) -> None:
        """Stops the pod's processes within `grace` seconds. Another call may shorten the time."""
        self._stopping.set()
        if self._stop is not None:
            self._stop.cancel()
        self._stop = asyncio.create_task(self._stop_all(grace), name=f"stop-{self.uid}")

    async def end(self) -> None:
        """Ends all processes of the pod, within their grace period; `run` has been cancelled before.

        The next jobledger that adopts the pod may start what was not started.
        """
        grace = float((self.pod.get("spec") or {}).get("terminationGracePeriodSeconds", _GRACE))
        for _ in range(2):  # a shim that was starting has made its claim by the second time
            await self._stop_all(grace, claimed=True)
            await asyncio.sleep(_ON_ITS_WAY)

    def look_again(self) -> None:
        """Notes that an object that the pod waits for, or that is in its volumes, may have changed."""
        self._more.set()
        if self._has_volumes and not self._stopping.is_set() and not self.done:
            self._renew()

    async def close(self) -> None:
        """Ends the task that stops the pod."""
        if self._stop is not None:
            self._stop.cancel()
            await asyncio.gather(self._stop, return_exceptions=True)

    # ---- inside ------------------------------------------------------------------------------------------

    async def _live(self) -> PodOutcome:
        await self._node.durable()
        job = controller(self.pod)
        names = (*self._main, *self._init)
        self._folder.make(About(self.ref.namespace, self.ref.name, job, names))
        if not self._same_boot and not restarts.restarts(self.pod):
            self._nothing_lives()
        launches = await self._launches()
        self._has_volumes = _is_renewed(self.pod)
        if not launches:
            self.look_again()  # another process started the pod, and its objects may have changed since
        for name in self._init:
            ended = await self._container(name, launches.get(name))
            if not ended.well:
                return verdict({name: ended})
        ends = await asyncio.gather(*(self._container(name, launches.get(name)) for name in self._main))
        return verdict(dict(zip(self._main, ends, strict=True)))

    async def _launches(self, *names: str) -> dict[str, ContainerLaunch]:
        """The programs of the containers `names` (default: all), once their volumes are made.

        Empty if all were started before, or none may be.
        """
        wanted = names or (*self._init, *self._main)
        while not self._stopping.is_set():
            starting = {name for name in wanted if not self._folder.container(name).claimed}
            if not starting:
                break
            self._more.clear()
            try:
                plan = self._node.plan(self.pod, self._folder)
            except NotYet as missing:
                self._states |= dict.fromkeys(starting, Waiting(missing.reason, missing.message))
                self._report(PodOutcome(self._phase))
                await self._woken()
            else:
                self._folder.make_volumes(plan.volumes, plan.mounts, starting)
                return {launch.name: launch for launch in (*plan.init, *plan.main)}
        return {}

    async def _woken(self) -> None:
        """Waits for a change, or for the stop of the pod."""
        waits = [asyncio.create_task(event.wait()) for event in (self._more, self._stopping)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _container(self, name: str, launch: ContainerLaunch | None) -> Ended:
        """Runs the container, as often as the pod's restartPolicy says. Returns its last end."""
        self._look_back(name)
        ended = await self._one_run(name, launch)
        while restarts.again(self.pod, ended, init=name in self._init):
            if not await self._waited(name, ended):
                break
            self._folder.begin_again(name)
            self._look_back(name)
            launches = await self._launches(name)
            ended = await self._one_run(name, launches.get(name))
        last = self._past[name].last
        if ended.reason == NEVER and last is not None:
            ended = self._states[name] = last  # stopped between two runs
        return ended

    async def _waited(self, name: str, ended: Ended) -> bool:
        """Waits for the back-off; False if the pod is to stop."""
        seconds = restarts.wait(self._runs(name), self._restart_wait)
        remaining = (ended.at - datetime.now(UTC)).total_seconds() + seconds
        if remaining > 0 and not self._stopping.is_set():
            self._past[name] = PastRuns(self._folder.restarts(name), ended)
            message = f"back-off {seconds:g}s restarting failed container={name} pod={self.ref.name}"
            self._states[name] = Waiting("CrashLoopBackOff", message)
            self._report(PodOutcome(self._phase))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(remaining):
                    await self._stopping.wait()
        if self._stopping.is_set():
            self._look_back(name)
            self._states[name] = ended
        return not self._stopping.is_set()

    async def _one_run(self, name: str, launch: ContainerLaunch | None) -> Ended:
        folder = self._folder.container(name)
        if not folder.claimed and (launch is None or self._stopping.is_set()):
            folder.forbid()

        def started() -> None:
            self._states[name] = Running(folder.started_at())
            self._report(PodOutcome(self._phase))

        ended = await containers.run(folder, launch, started)
        self._states[name] = ended
        if any(isinstance(self._states.get(main), Running) for main in self._main):
            self._report(PodOutcome("Running"))
        return ended

    def _look_back(self, name: str) -> None:
        """Reads the past of the container's last run."""
        number = self._folder.restarts(name)
        self._past[name] = PastRuns(
            number, self._folder.container(name, number - 1).ended() if number else None
        )

    def _runs(self, name: str) -> Iterator[restarts.ContainerRun]:
        """The ended runs of a container, the last one first."""
        for number in range(self._folder.restarts(name), -1, -1):
            folder = self._folder.container(name, number)
            if (ended := folder.ended()) is not None:
                yield restarts.ContainerRun(folder.started_at(), ended)

    @property
    def _phase(self) -> str:
        """The phase of a pod that has not ended: Running once a main container has been a process."""
        begun = any(
            isinstance(self._states.get(name), Running | Ended) or self._past.get(name, PastRuns()).restarts
            for name in self._main
        )
        return "Running" if begun else "Pending"

    def _nothing_lives(self) -> None:
        """Settles containers without an end as lost: the machine was restarted since the pod began."""
        for name in (*self._init, *self._main):
            folder = self._folder.container(name)
            if folder.ended() is None:
                folder.settle(containers.LOST, "the machine was restarted")
                folder.forbid()

    async def _stop_all(self, grace: float, *, claimed: bool = False) -> None:
        folders = [self._folder.container(name) for name in (*self._init, *self._main)]
        existing = [
            folder for folder in folders if folder.folder.exists() and (folder.claimed or not claimed)
        ]
        await asyncio.gather(*(containers.stop(folder, grace) for folder in existing))

    async def _leave_nothing(self) -> None:
        """After a failure: stops what was started, and forbids what was not."""
        try:
            await self._stop_all(0.0)
        except OSError as error:
            _log.warning(
                "stop failed", extra={"action": "stop-failed", "pod": str(self.ref), "error": str(error)}
            )

    def _renew(self) -> None:
        """Renews the files of ConfigMaps and Secrets, apart from mounts with subPath.

        Source: Kubernetes, mounted ConfigMaps are updated automatically.
        """
        try:
            plan = self._node.plan(self.pod, self._folder)
            self._folder.make_volumes(plan.volumes, plan.mounts, ())
        except NotYet:
            return  # the present files stay
        except (Refused, NotMountable, OSError) as error:
            fields = {"action": "volumes-not-renewed", "pod": str(self.ref), "error": str(error)}
            _log.warning("volumes of a pod could not be renewed", extra=fields)

    def _report(self, outcome: PodOutcome) -> None:
        self._node.report(
            self.ref, self.uid, pod_status(self.pod, self._states, self._past, outcome, self._began)
        )


def _is_renewed(pod: Manifest) -> bool:
    """The pod has volumes with files of objects that may change."""
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return any(kind in volume for volume in volumes for kind in ("configMap", "secret", "projected"))


def _trouble(error: Refused | NotMountable | OSError) -> PodOutcome:
    if isinstance(error, OSError):
        text = f"the pod's files cannot be written: {error.strerror or error}"
        return PodOutcome("Failed", "LocalDiskError", text)
    return PodOutcome("Failed", CANNOT_START, str(error))
