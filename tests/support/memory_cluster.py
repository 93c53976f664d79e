"""A cluster in a dict, for simulation, tests and measurements: scripts move its pods, tests put faults into it.

It is deterministic on a simulated loop: it waits only through `loop.call_later` and `asyncio.sleep`; uids count up
and times come from the given clock. Nothing runs before the first call that finds a loop running.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from k8s_bridge.base import StoredCluster
from k8s_bridge.kept_events import KeptEvents
from k8s_bridge.objects import Admit, ObjectStore
from k8s_bridge.port import Change, Manifest, Ref, Synced, Verb
from k8s_bridge.watching import is_watched
from tests.support import sim_pods
from tests.support.cluster_faults import Disturbance, Faults
from tests.support.sim_logs import SimLogs
from tests.support.sim_pods import PREFIX, Script, SimStep, Status, annotated, ending, moved, seconds

_ENDED = ("Succeeded", "Failed")


def counted_uids(prefix: str = "u-") -> Callable[[], str]:
    """Gives `u-1`, `u-2` and so on."""
    numbers = count(1)
    return lambda: f"{prefix}{next(numbers)}"


def wall_clock() -> datetime:
    """The time of this machine, in UTC."""
    return datetime.now(UTC)


@dataclass(slots=True)
class _Simulated:
    """A pod that exists: its last `run-seconds`, and the timer of its next step."""

    run_seconds: object
    timer: asyncio.TimerHandle | None = None
    stopping: bool = False


class MemoryCluster(StoredCluster):
    """The Cluster port over a dict. `latency` is awaited before every call (seconds). `written`: see ObjectStore."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = wall_clock,
        new_uid: Callable[[], str] | None = None,
        script: Script = annotated,
        admit: Admit | None = None,
        latency: Callable[[], float] | None = None,
        nodes: int = 4,
        watch_limit: int = 100_000,
        written: Callable[[], datetime] | None = None,
    ) -> None:
        kept: dict[str, Any] = {} if admit is None else {"admit": admit}
        self.objects = ObjectStore(
            clock=clock,
            new_uid=new_uid or counted_uids(),
            prepare=self._schedule,
            watch_limit=watch_limit,
            written=written,
            **kept,
        )
        self.objects.subscribe(self._react)
        self.kept_events = KeptEvents()
        self.sim_logs = SimLogs()
        self.faults = Faults()
        self.script = script
        self.disturbance: Disturbance | None = None
        """Set to delay, duplicate or reorder what watchers get from now on."""
        self._clock, self._latency, self._nodes = clock, latency, nodes
        self._pods: dict[str, _Simulated] = {}
        self._scheduled = count()

    # ---- the port ----------------------------------------------------------------------------------------

    async def _before(self, verb: str, ref: Ref) -> None:
        if self._latency is not None:
            await asyncio.sleep(self._latency())
        self.faults.meet(verb, ref.kind, after=False)

    async def _after(self, verb: str, ref: Ref) -> None:
        self.faults.meet(verb, ref.kind, after=True)

    def watch(self) -> AsyncIterator[Change | Synced]:
        """Jobs, pods and observed children: all that exist, `Synced`, then every change, as disturbed."""
        return self.objects.watch(is_watched, self._deliver)

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
        """What was written with `write_log`, in pieces, for all runs together. Raises Missing."""
        return self.sim_logs.read(
            namespace, pod, uid=uid, container=container, follow=follow and not previous
        )

    async def close(self) -> None:
        """Stops all pods; idempotent."""
        for pod in self._pods.values():
            if pod.timer is not None:
                pod.timer.cancel()

    def _deliver(self, change: Change, put: Callable[[Change], None]) -> None:
        delays = (0.0,) if self.disturbance is None else self.disturbance(change)
        for delay in delays:
            if delay > 0:
                asyncio.get_running_loop().call_later(delay, put, change)
            else:
                put(change)

    # ---- breaking things ---------------------------------------------------------------------------------

    def pod(self, namespace: str, name: str) -> Ref:
        """The reference to a pod."""
        return Ref("v1", "Pod", namespace, name)

    def delete_pod(self, namespace: str, name: str, *, force: bool = False) -> None:
        """Deletes the pod as a user does; with `force` it is gone at once, in spite of finalizers.

        Raises Missing.
        """
        ref = self.pod(namespace, name)
        uid = self.objects.get(ref)["metadata"]["uid"]
        if force:
            self.objects.patch(ref, {"metadata": {"finalizers": None}})
            self.objects.terminated(ref, uid)
        if self.objects.peek(ref) is not None:  # a pod in deletion is gone without its finalizer
            self.objects.delete(ref)

    def evict(self, namespace: str, name: str, reason: str = "Evicted") -> None:
        """The kubelet ends the pod for want of a resource: Failed, with a reason and no exit code."""
        ref = self.pod(namespace, name)
        self._move(ref, self.objects.get(ref)["metadata"]["uid"], [SimStep(0.0, "Failed", (), reason)])

    def end_pod(self, namespace: str, name: str, exit_code: int = 0) -> None:
        """The pod's containers end now, each with `exit_code`."""
        ref = self.pod(namespace, name)
        pod = self.objects.get(ref)
        codes = tuple(exit_code for _ in sim_pods.names(pod, "containers"))
        self._move(ref, pod["metadata"]["uid"], [SimStep(0.0, "Failed" if exit_code else "Succeeded", codes)])

    def set_pod_status(self, namespace: str, name: str, status: Status) -> None:
        """Sets the pod's status, without any check."""
        ref = self.pod(namespace, name)
        self.objects.set_status(ref, self.objects.get(ref)["metadata"]["uid"], status)

    def drop_watches(self) -> None:
        """Ends every open watch with Expired."""
        self.objects.drop_watches()

    def write_log(self, namespace: str, name: str, data: bytes, container: str = "") -> None:
        """A container of the pod writes `data`."""
        self.sim_logs.write(namespace, name, data, container)

    # ---- pods --------------------------------------------------------------------------------------------

    def _schedule(self, manifest: Manifest) -> None:
        """A new pod gets a node at once."""
        if manifest["kind"] == "Pod":
            spec = manifest["spec"] = dict(manifest.get("spec") or {})
            spec.setdefault("nodeName", f"node-{next(self._scheduled) % self._nodes}")

    def _react(self, change: Change) -> None:
        """Does what the kubelet of the changed pod would do."""
        pod = change.object
        if pod["kind"] != "Pod":
            return
        ref, uid = Ref.of(pod), pod["metadata"]["uid"]
        if change.verb is Verb.ADDED:
            self._pods[uid] = _Simulated(_run_seconds(pod))
            self.sim_logs.open(ref, uid, sim_pods.names(pod, "containers"))
            self._play(ref, uid, self.script(pod))
        elif change.verb is Verb.DELETED:
            self._forget(uid)
            self.sim_logs.end(uid)
        elif "deletionTimestamp" in pod["metadata"]:
            self._stop(ref, pod)
        elif self._pods[uid].run_seconds != _run_seconds(pod):
            self._hurry(ref, pod)

    def _play(self, ref: Ref, uid: str, steps: Sequence[SimStep]) -> None:
        """Plans `steps`, one after the other, in place of what was planned."""
        if steps:
            self._later(uid, steps[0].after, self._move, ref, uid, steps)

    def _move(self, ref: Ref, uid: str, steps: Sequence[SimStep]) -> None:
        pod = self.objects.peek(ref)
        if pod is None or pod["metadata"]["uid"] != uid or _has_ended(pod):
            return
        self.objects.set_status(ref, uid, moved(pod, steps[0], self._clock()))
        if steps[0].phase in _ENDED:
            self.sim_logs.end(uid)
        else:
            self._play(ref, uid, steps[1:])

    def _hurry(self, ref: Ref, pod: Manifest) -> None:
        """A `run-seconds` that was written on a running pod counts from now."""
        uid, run = pod["metadata"]["uid"], seconds(pod, "run-seconds", None)
        self._pods[uid].run_seconds = _run_seconds(pod)
        if run is not None and pod["status"].get("phase") == "Running":
            self._play(ref, uid, [ending(pod, run)])

    def _stop(self, ref: Ref, pod: Manifest) -> None:
        """Ends the pod's processes after a while; at once if the pod has ended."""
        uid = pod["metadata"]["uid"]
        if self._pods[uid].stopping:
            return
        self._pods[uid].stopping = True
        wait = min(seconds(pod, "stop-seconds", 0.05) or 0.0, pod["metadata"]["deletionGracePeriodSeconds"])
        self._later(uid, 0.0 if _has_ended(pod) else wait, self._stopped, ref, uid)

    def _stopped(self, ref: Ref, uid: str) -> None:
        """Gives the pod its final status, then removes it."""
        pod = self.objects.peek(ref)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        if not _has_ended(pod):
            ran = pod["status"].get("phase") == "Running"
            codes = (143,) * len(sim_pods.names(pod, "containers")) if ran else ()
            status = moved(pod, SimStep(0.0, "Failed", codes, "" if ran else "Killed"), self._clock())
            self.objects.set_status(ref, uid, status)
        self.sim_logs.end(uid)
        self.objects.terminated(ref, uid)

    def _later(self, uid: str, after: float, act: Callable[..., None], *args: Any) -> None:
        pod = self._pods[uid]
        if pod.timer is not None:
            pod.timer.cancel()
        pod.timer = asyncio.get_running_loop().call_later(after, act, *args)

    def _forget(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        if pod is not None and pod.timer is not None:
            pod.timer.cancel()


def _has_ended(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def _run_seconds(pod: Manifest) -> object:
    return (pod["metadata"].get("annotations") or {}).get(PREFIX + "run-seconds")
