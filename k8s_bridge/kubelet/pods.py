"""One local pod, from its creation (or from finding it again) to its end: what a kubelet does for a pod."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from k8s_bridge.kubelet import containers, restarts
from k8s_bridge.kubelet.containers import NEVER, Ended, Launch
from k8s_bridge.kubelet.folders import About, NotMountable, PodFolder
from k8s_bridge.kubelet.podspec import PodPlan
from k8s_bridge.kubelet.status import Past, Running, State, Verdict, Waiting, pod_status, verdict
from k8s_bridge.kubelet.values import NotYet
from k8s_bridge.port import Manifest, Ref
from k8s_bridge.stored import controller
from k8s_bridge.timestamps import stamp
from statemachine.errors import Refused
from statemachine.observations import CANNOT_START

_log = logging.getLogger(__name__)


_GRACE = 30.0
"""Seconds that Kubernetes gives a pod which says nothing about it."""

_ON_ITS_WAY = 0.1
"""Seconds after which a program that was started has done its first step."""


class Node(Protocol):
    """What a pod needs of the machine that it runs on."""

    async def durable(self) -> None:
        """The pod's object is kept, so that it will be found again."""

    def plan(self, pod: Manifest, folder: PodFolder) -> PodPlan:
        """What to run. Raises NotYet, Refused."""

    def report(self, ref: Ref, uid: str, status: Mapping[str, Any]) -> None:
        """The pod's status is `status`."""

    def finished(self, ref: Ref, uid: str) -> None:
        """No process of the pod is left, and none will be."""


class PodRunner:
    """Runs one pod. Cancelling `run` leaves its processes alone: somebody else will find them."""

    def __init__(
        self, pod: Manifest, folder: PodFolder, node: Node, *, same_boot: bool, restart_wait: float
    ) -> None:
        meta, spec = pod["metadata"], pod.get("spec") or {}
        self.ref, self.uid, self.done = Ref.of(pod), str(meta["uid"]), False
        self.pod, self._folder, self._node, self._same_boot = pod, folder, node, same_boot
        self._init = [str(each["name"]) for each in spec.get("initContainers") or ()]
        self._main = [str(each["name"]) for each in spec.get("containers") or ()]
        self._states: dict[str, State] = {}
        self._past: dict[str, Past] = {}
        self._restart_wait = restart_wait
        self._has_volumes = False
        self._began = str((pod.get("status") or {}).get("startTime") or stamp(datetime.now(UTC)))
        self.grace: float | None = None
        """Seconds given by the deletion that is being obeyed; None if there is none."""
        self._stopping = asyncio.Event()
        self._stop: asyncio.Task[None] | None = None
        self._more = asyncio.Event()

    async def run(self) -> None:
        """The pod has ended and its status says how."""
        try:
            outcome = await self._live()
        except (Refused, NotMountable, OSError) as error:
            outcome = _trouble(error)
        except Exception as error:  # noqa: BLE001 - what breaks one pod must not reach the others
            _log.exception("a local pod broke", extra={"action": "pod-broke", "pod": str(self.ref)})
            outcome = Verdict("Failed", "LocalError", f"{type(error).__name__}: {error}")
        if outcome.reason:
            await self._leave_nothing()
        self._report(outcome)
        self.done = True
        self._node.finished(self.ref, self.uid)

    def stop(self, grace: float) -> None:
        """The pod's processes are asked to end, and have `grace` seconds for it. Again: with less time."""
        self._stopping.set()
        if self._stop is not None:
            self._stop.cancel()
        self._stop = asyncio.create_task(self._stop_all(grace), name=f"stop-{self.uid}")

    async def end(self) -> None:
        """No process of the pod runs, each having had its grace period; `run` has been cancelled before.

        What was not started may be, by whoever finds the pod again.
        """
        grace = float((self.pod.get("spec") or {}).get("terminationGracePeriodSeconds", _GRACE))
        for _ in range(2):  # a shim that was on its way has made its claim by the second time
            await self._stop_all(grace, claimed=True)
            await asyncio.sleep(_ON_ITS_WAY)

    def look_again(self) -> None:
        """Something that the pod waits for, or that is in its volumes, may have changed."""
        self._more.set()
        if self._has_volumes and not self._stopping.is_set() and not self.done:
            self._renew()

    async def close(self) -> None:
        """Nobody works on the stop any more."""
        if self._stop is not None:
            self._stop.cancel()
            await asyncio.gather(self._stop, return_exceptions=True)

    # ---- inside ------------------------------------------------------------------------------------------

    async def _live(self) -> Verdict:
        await self._node.durable()
        job = controller(self.pod)
        names = (*self._main, *self._init)
        self._folder.make(About(self.ref.namespace, self.ref.name, job, names))
        if not self._same_boot and not restarts.restarts(self.pod):
            self._nothing_lives()
        launches = await self._launches()
        self._has_volumes = _is_renewed(self.pod)
        if not launches:
            self.look_again()  # somebody else started it, and something may have changed since
        for name in self._init:
            ended = await self._container(name, launches.get(name))
            if not ended.well:
                return verdict({name: ended})
        ends = await asyncio.gather(*(self._container(name, launches.get(name)) for name in self._main))
        return verdict(dict(zip(self._main, ends, strict=True)))

    async def _launches(self, *names: str) -> dict[str, Launch]:
        """What to run for the containers `names` (default: all), whose volumes are there.

        Nothing if everything was started before or nothing may be.
        """
        asked = names or (*self._init, *self._main)
        while not self._stopping.is_set():
            starting = {name for name in asked if not self._folder.container(name).claimed}
            if not starting:
                break
            self._more.clear()
            try:
                plan = self._node.plan(self.pod, self._folder)
            except NotYet as missing:
                self._states |= dict.fromkeys(starting, Waiting(missing.reason, missing.message))
                self._report(Verdict(self._phase))
                await self._woken()
            else:
                self._folder.make_volumes(plan.volumes, plan.mounts, starting)
                return {each.name: each for each in (*plan.init, *plan.main)}
        return {}

    async def _woken(self) -> None:
        """Something changed, or the pod is to stop."""
        waits = [asyncio.create_task(each.wait()) for each in (self._more, self._stopping)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _container(self, name: str, launch: Launch | None) -> Ended:
        """How the container ended for good, after as many runs as the pod's restartPolicy gives it."""
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
        """The back-off is over; False if the pod is to stop."""
        seconds = restarts.wait(self._runs(name), self._restart_wait)
        left = (ended.at - datetime.now(UTC)).total_seconds() + seconds
        if left > 0 and not self._stopping.is_set():
            self._past[name] = Past(self._folder.restarts(name), ended)
            message = f"back-off {seconds:g}s restarting failed container={name} pod={self.ref.name}"
            self._states[name] = Waiting("CrashLoopBackOff", message)
            self._report(Verdict(self._phase))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._stopping.wait()
        if self._stopping.is_set():
            self._look_back(name)
            self._states[name] = ended
        return not self._stopping.is_set()

    async def _one_run(self, name: str, launch: Launch | None) -> Ended:
        folder = self._folder.container(name)
        if not folder.claimed and (launch is None or self._stopping.is_set()):
            folder.forbid()

        def started() -> None:
            self._states[name] = Running(folder.started_at())
            self._report(Verdict(self._phase))

        ended = await containers.run(folder, launch, started)
        self._states[name] = ended
        if any(isinstance(self._states.get(each), Running) for each in self._main):
            self._report(Verdict("Running"))
        return ended

    def _look_back(self, name: str) -> None:
        """The past of the container's last run is known."""
        number = self._folder.restarts(name)
        self._past[name] = Past(number, self._folder.container(name, number - 1).ended() if number else None)

    def _runs(self, name: str) -> Iterator[restarts.Run]:
        """The runs of a container that have ended, the last one first."""
        for number in range(self._folder.restarts(name), -1, -1):
            folder = self._folder.container(name, number)
            if (ended := folder.ended()) is not None:
                yield restarts.Run(folder.started_at(), ended)

    @property
    def _phase(self) -> str:
        """Of a pod that has not ended: Running once a main container has been a process."""
        begun = any(
            isinstance(self._states.get(name), Running | Ended) or self._past.get(name, Past()).restarts
            for name in self._main
        )
        return "Running" if begun else "Pending"

    def _nothing_lives(self) -> None:
        """The machine was started anew since the pod began: whatever had not ended is lost."""
        for name in (*self._init, *self._main):
            folder = self._folder.container(name)
            if folder.ended() is None:
                folder.settle(containers.LOST, "the machine was restarted")
                folder.forbid()

    async def _stop_all(self, grace: float, *, claimed: bool = False) -> None:
        found = [self._folder.container(name) for name in (*self._init, *self._main)]
        there = [each for each in found if each.folder.exists() and (each.claimed or not claimed)]
        await asyncio.gather(*(containers.stop(each, grace) for each in there))

    async def _leave_nothing(self) -> None:
        """After trouble: what was started is stopped, what was not never will be."""
        try:
            await self._stop_all(0.0)
        except OSError as error:
            _log.warning(
                "stop failed", extra={"action": "stop-failed", "pod": str(self.ref), "error": str(error)}
            )

    def _renew(self) -> None:
        """The files of ConfigMaps and Secrets are as those are now, but for what is mounted with subPath.

        Source: Kubernetes, mounted ConfigMaps are updated automatically.
        """
        try:
            plan = self._node.plan(self.pod, self._folder)
            self._folder.make_volumes(plan.volumes, plan.mounts, ())
        except NotYet:
            return  # what was there stays
        except (Refused, NotMountable, OSError) as error:
            fields = {"action": "volumes-not-renewed", "pod": str(self.ref), "error": str(error)}
            _log.warning("volumes of a pod could not be renewed", extra=fields)

    def _report(self, outcome: Verdict) -> None:
        self._node.report(
            self.ref, self.uid, pod_status(self.pod, self._states, self._past, outcome, self._began)
        )


def _is_renewed(pod: Manifest) -> bool:
    """The pod has volumes whose files come from objects that may change."""
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return any(kind in each for each in volumes for kind in ("configMap", "secret", "projected"))


def _trouble(error: Refused | NotMountable | OSError) -> Verdict:
    if isinstance(error, OSError):
        text = f"the pod's files cannot be written: {error.strerror or error}"
        return Verdict("Failed", "LocalDiskError", text)
    return Verdict("Failed", CANNOT_START, str(error))
