"""What two watches have reported of the load's pods and jobs, and when a fact about them came true."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, Self

from tests.bench.cluster.api import Api
from tests.bench.cluster.shapes import PODS_PATH, Manifest, Shape

Fact = Callable[[], bool]
Take = Callable[[str, Manifest], None]


class Pod(NamedTuple):
    """A pod as it was last seen."""

    name: str
    uid: str
    phase: str


class View:
    """The load's pods and jobs. `now` is when the last event was read (time.perf_counter)."""

    def __init__(self, api: Api, shape: Shape) -> None:
        self._api, self._shape = api, shape
        self._waits: list[tuple[Fact, asyncio.Future[float]]] = []
        self._known: dict[str, dict[str, Manifest]] = {}  # path: names of what is there, for a new list
        self.now = 0.0
        self.pods: dict[str, dict[str, Pod]] = defaultdict(dict)  # job: replica: pod
        self.phases: Counter[str] = Counter()  # of pods, as they are now
        self.pods_ever = 0
        self.reached: Counter[str] = Counter()  # phase: jobs that were ever in it
        self.changes = 0  # of jobs' phases
        self.watches_ended = 0
        self._uids: set[str] = set()
        self._job_phases: dict[str, list[str]] = defaultdict(list)

    @classmethod
    @asynccontextmanager
    async def following(cls, api: Api, shape: Shape) -> AsyncIterator[Self]:
        """A view that is kept up to date while the block lasts; if that fails, the block is cancelled."""
        view = cls(api, shape)
        async with asyncio.TaskGroup() as tasks:
            follows = [
                tasks.create_task(view._follow(PODS_PATH, view._take_pod)),
                tasks.create_task(view._follow(shape.path, view._take_job)),
            ]
            yield view
            for follow in follows:
                follow.cancel()

    async def until(self, fact: Fact, seconds: float) -> float | None:
        """When the event was read that made `fact` true; None if none did in so many seconds."""
        if fact():
            return self.now
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waits.append((fact, future))
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            return None
        finally:
            self._waits.remove((fact, future))

    def uid(self, job: str, replica: str) -> str:
        """Of the pod of that replica; empty if there is none."""
        pod = self.pods[job].get(replica)
        return pod.uid if pod else ""

    def has_been(self, job: str, phase: str) -> bool:
        """The job was ever in that phase."""
        return phase in self._job_phases[job]

    async def _follow(self, path: str, take: Take) -> None:
        """Watch for good: when a watch ends, go on from where it was, or list again if that is too old."""
        version = ""
        while True:
            if not version:
                version = await self._list(path, take)
            async for event in self._api.watch(path, version):
                if event["type"] == "ERROR":
                    version = ""
                    break
                version = event["object"]["metadata"]["resourceVersion"]
                self._tell(path, take, event["type"], event["object"])
            self.watches_ended += 1

    async def _list(self, path: str, take: Take) -> str:
        listed = await self._api.call("GET", path)
        there = {manifest["metadata"]["name"] for manifest in listed["items"]}
        for name, gone in list(self._known.setdefault(path, {}).items()):
            if name not in there:
                self._tell(path, take, "DELETED", gone)
        for item in listed["items"]:
            self._tell(path, take, "ADDED", item)
        return str(listed["metadata"]["resourceVersion"])

    def _tell(self, path: str, take: Take, verb: str, thing: Manifest) -> None:
        self.now = time.perf_counter()
        known, name = self._known[path], thing["metadata"]["name"]
        if verb == "DELETED":
            known.pop(name, None)
        else:
            known[name] = {"metadata": thing["metadata"], "status": thing.get("status", {})}
        take(verb, thing)
        for fact, future in self._waits:
            if not future.done() and fact():
                future.set_result(self.now)

    def _take_pod(self, verb: str, pod: Manifest) -> None:
        meta = pod["metadata"]
        pods, replica = self.pods[meta["ownerReferences"][0]["name"]], self._shape.replica(pod)
        old = pods.pop(replica, None)
        if old is not None:
            self.phases[old.phase] -= 1
        if verb != "DELETED":
            pods[replica] = Pod(meta["name"], meta["uid"], pod["status"]["phase"])
            self.phases[pod["status"]["phase"]] += 1
        if meta["uid"] not in self._uids:
            self._uids.add(meta["uid"])
            self.pods_ever += 1

    def _take_job(self, verb: str, job: Manifest) -> None:
        been = self._job_phases[job["metadata"]["name"]]
        phase = self._shape.phase(job.get("status") or {})
        if verb == "DELETED" or not phase or been[-1:] == [phase]:
            return
        self.changes += 1
        if phase not in been:
            self.reached[phase] += 1
        been.append(phase)
