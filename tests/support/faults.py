"""What may go wrong between a controller and the world, by chance, from one seeded `random.Random`.

A `Life` is one process: from its start until it is killed. It sees the log and the cluster only through
`FaultyLog` and `FaultyCluster`, each of whose calls takes time, may fail, may fail although it was done, and
may be the last thing the process ever did. What is dead does nothing any more: every call of a killed life
ends in `CancelledError`, so that whatever its tasks still do in `finally` reaches nobody.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from k8s_bridge.memory import MemoryCluster
from k8s_bridge.port import Change, Happening, JobEvent, Manifest, Ref, Synced
from statemachine.engine.clock import LoopClock
from statemachine.errors import ClusterError, ClusterUnavailable, Conflict, Expired, LogUnavailable, Refused
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.memory import MemoryLog
from statemachine.log.polling import polled
from statemachine.log.port import DeadLetter, Draft, Followed, Record, Saved, Snapshot


@dataclass
class Odds:
    """How likely each fault is, for each call that could meet it; 0 is never.

    `crash`: the process dies, before or after the call took effect. `unavailable`: nothing was done, the
    cluster does not answer. `lost_reply`: it was done, and the caller does not learn it. `done_late`: a
    create that the caller has given up takes effect seconds later. `invalid`, `quota`, `conflict`: creates
    that are refused (422, 403, 409 although the name is free). `expired`: a watch ends. `late`, `twice`: a
    change reaches a watch late (and so out of order), or a second time. `log_fails`, `log_lost_reply`: the
    same for the log. `slow`: mean seconds that a call takes, each way.
    """

    crash: float = 0.0
    unavailable: float = 0.0
    lost_reply: float = 0.0
    done_late: float = 0.0
    invalid: float = 0.0
    quota: float = 0.0
    conflict: float = 0.0
    expired: float = 0.0
    late: float = 0.0
    twice: float = 0.0
    log_fails: float = 0.0
    log_lost_reply: float = 0.0
    slow: float = 0.01

    def calm(self) -> None:
        """From now on calls take time, and nothing else happens to them."""
        for each in fields(self):
            if each.name != "slow":
                setattr(self, each.name, 0.0)


_WATCHES_LAG: Final = 3.0
"""Mean seconds that a late change is late."""

LATEST: Final = 8.0
"""Most seconds after which a create that was given up may still take effect."""


class JumpingClock(LoopClock):
    """The loop's time, and what somebody has put the clock forward or back."""

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self.jumped = timedelta(0)
        self._furthest = timedelta(0)

    def jump(self, to: timedelta) -> None:
        """The clock shows the true time and `to`."""
        self.jumped = to
        self._furthest = max(self._furthest, to)

    def mend(self) -> None:
        """From now on it shows no time that it has shown before."""
        self.jumped = self._furthest

    def true(self) -> datetime:
        """The time elsewhere."""
        return super().now()

    def now(self) -> datetime:
        """The time as the machine believes it to be."""
        return super().now() + self.jumped


class Weather:
    """What all lives share: the odds, and for how long log and cluster are out of reach (the loop's time)."""

    def __init__(self, chance: Random, odds: Odds) -> None:
        self.chance, self.odds = chance, odds
        self.log_down_until = 0.0
        self.cluster_down_until = 0.0
        self.denied_until: dict[str, float] = {}
        """By verb: a policy denies it for pods."""
        self.late_creates = 0
        """Number of creates that took effect when nobody expected it any more."""
        self.late_unseen = False
        """One of them made something that no controller watches."""
        self.deleted: set[str] = set()
        """uids of the objects that a controller has deleted; but for one that another was started in place of.

        A log in memory does not keep such a one out, and nothing tells it what was asked for since.
        """
        self.unexpected = False
        """A create takes effect right now that was given up, or is that of a controller believed dead."""

    def denies(self, verb: str, kind: str) -> bool:
        """A policy that somebody has made denies such a write."""
        return kind == "Pod" and asyncio.get_running_loop().time() < self.denied_until.get(verb, 0.0)

    def happens(self, odds: float) -> bool:
        """True once in 1/`odds` calls. Draws nothing for what never happens."""
        return odds > 0 and self.chance.random() < odds

    def delays(self, _: Change) -> tuple[float, ...]:
        """When a change reaches a watch, and how often: a `Disturbance` of the memory cluster."""
        late = self.chance.expovariate(1 / _WATCHES_LAG) if self.happens(self.odds.late) else 0.0
        if self.happens(self.odds.twice):
            return late, self.chance.expovariate(1 / _WATCHES_LAG)
        return (late,)


class Life:
    """One process. `ended` is called when it kills itself in the middle of a call."""

    def __init__(self, weather: Weather, ended: Callable[[], None]) -> None:
        self.weather = weather
        self.alive = True
        self.superseded = False
        """Another process was started in its place."""
        self._ended = ended

    def kill(self) -> None:
        """Nothing that this process still tries to do has any effect."""
        self.alive = False

    async def travel(self) -> None:
        """A call is on its way, there or back. The process may die meanwhile, or now."""
        self.check()
        await asyncio.sleep(self.weather.chance.expovariate(1 / self.weather.odds.slow))
        self.check()
        if self.weather.happens(self.weather.odds.crash / 2):
            self.kill()
            self._ended()
            self.check()

    def check(self) -> None:
        """Whoever calls belongs to a process that lives; else this is the end of the caller."""
        if not self.alive:
            raise asyncio.CancelledError("killed")


class FaultyLog:
    """The log as one life sees it."""

    def __init__(self, log: MemoryLog, life: Life) -> None:
        self._log, self._life, self._weather = log, life, life.weather

    async def _meet(self) -> None:
        await self._life.travel()
        down = asyncio.get_running_loop().time() < self._weather.log_down_until
        if down or self._weather.happens(self._weather.odds.log_fails):
            raise LogUnavailable("the log does not answer")

    @property
    def finds_jobs(self) -> bool:
        """See ReadableLog."""
        return self._log.finds_jobs

    @property
    def is_exclusive(self) -> bool:
        """See EventLog."""
        return self._log.is_exclusive

    @property
    def entry_limit(self) -> int:
        """See EventLog."""
        return self._log.entry_limit

    @property
    def refused_snapshots(self) -> int:
        """See EventLog."""
        return self._log.refused_snapshots

    async def append(self, drafts: Sequence[Draft]) -> Sequence[Record]:
        """See EventLog."""
        await self._meet()
        records = await self._log.append(drafts)
        await self._life.travel()
        if self._weather.happens(self._weather.odds.log_lost_reply):
            raise LogUnavailable("connection reset; the outcome is unknown")
        return records

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See EventLog."""
        await self._meet()
        async for batch in self._log.scan(after, job=job, after_seq=after_seq):
            yield batch
            self._life.check()

    async def follow(self, after: Position = 0) -> AsyncIterator[Followed]:
        """See EventLog."""
        async for followed in polled(self, after):
            yield followed

    async def end(self) -> Position:
        """See EventLog."""
        await self._meet()
        return await self._log.end()

    async def snapshots(self) -> tuple[Position, Sequence[Snapshot]]:
        """See EventLog."""
        await self._meet()
        return await self._log.snapshots()

    async def saved(self) -> Saved:
        """See EventLog."""
        await self._meet()
        return await self._log.saved()

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        """See EventLog."""
        await self._meet()
        await self._log.save_snapshots(position, snapshots, source)

    async def drop_snapshots(self) -> None:
        """See EventLog."""
        await self._meet()
        await self._log.drop_snapshots()

    async def checkpoint(self, reader: str) -> Position:
        """See EventLog."""
        await self._meet()
        return await self._log.checkpoint(reader)

    async def save_checkpoint(self, reader: str, position: Position) -> None:
        """See EventLog."""
        await self._meet()
        await self._log.save_checkpoint(reader, position)

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        """See EventLog."""
        await self._meet()
        await self._log.add_dead_letter(letter)

    async def note_retry(self, letter: DeadLetter, at: datetime) -> None:
        """See EventLog."""
        await self._meet()
        await self._log.note_retry(letter, at)

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """See EventLog."""
        await self._meet()
        return await self._log.dead_letters()

    async def dead_letter_count(self) -> int:
        """See EventLog."""
        await self._meet()
        return await self._log.dead_letter_count()

    async def close(self) -> None:
        """See EventLog."""


class FaultyCluster:
    """The cluster as one life sees it."""

    def __init__(self, cluster: MemoryCluster, life: Life) -> None:
        self._cluster, self._life, self._weather = cluster, life, life.weather

    async def _meet(self) -> None:
        await self._life.travel()
        down = asyncio.get_running_loop().time() < self._weather.cluster_down_until
        if down or self._weather.happens(self._weather.odds.unavailable):
            raise ClusterUnavailable("the server is currently unable to handle the request")

    async def _done(self) -> None:
        await self._life.travel()
        if self._weather.happens(self._weather.odds.lost_reply):
            raise ClusterUnavailable("connection reset; the outcome is unknown")

    async def watch(self) -> AsyncIterator[Change | Synced]:
        """See Cluster. The list takes time; then changes come as the cluster tells them."""
        await self._meet()
        items = self._cluster.watch()
        try:
            async for item in items:
                self._life.check()
                yield item
                self._life.check()
                if self._weather.happens(self._weather.odds.expired):
                    raise Expired("the watch is too far behind; list again")
        finally:
            await items.aclose()  # type: ignore[attr-defined]

    async def get(self, ref: Ref) -> Manifest:
        """See Cluster."""
        await self._meet()
        found = await self._cluster.get(ref)
        await self._life.travel()
        return found

    async def list(self, api_version: str, kind: str, namespace: str | None = None) -> Sequence[Manifest]:
        """See Cluster."""
        await self._meet()
        return await self._cluster.list(api_version, kind, namespace)

    async def children(self, namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
        """See Cluster. What is answered was true a moment ago."""
        await self._meet()
        found = await self._cluster.children(namespace, owner, also)
        await self._life.travel()
        return found

    def owners(self) -> Collection[str]:
        """See Cluster."""
        return self._cluster.owners()

    async def create(self, manifest: Manifest) -> Manifest:
        """See Cluster."""
        await self._meet()
        if (error := self._refusal(manifest)) is not None:
            raise error
        if self._weather.happens(self._weather.odds.done_late):
            after = self._weather.chance.uniform(0, LATEST)
            asyncio.get_running_loop().call_later(after, self._create_late, manifest)
            raise ClusterUnavailable("time-out; the outcome is unknown")
        self._weather.unexpected = self._life.superseded
        try:
            stored = await self._cluster.create(manifest)
        finally:
            self._weather.unexpected = False
        await self._done()
        return stored

    def _create_late(self, manifest: Manifest) -> None:
        self._weather.unexpected = True
        try:
            self._cluster.objects.create(manifest)
        except (Conflict, Refused):
            return
        finally:
            self._weather.unexpected = False
        self._weather.late_creates += 1
        self._weather.late_unseen |= manifest["kind"] not in ("Pod", "TensorBoard")

    def _refusal(self, manifest: Manifest) -> ClusterError | None:
        odds, name = self._weather.odds, manifest["metadata"]["name"]
        if self._weather.happens(odds.invalid):
            return Refused(422, "Invalid", f'{manifest["kind"]} "{name}" is invalid: spec: Invalid value')
        if self._weather.denies("create", manifest["kind"]) or self._weather.happens(odds.quota):
            return Refused(403, "Forbidden", "exceeded quota: pods=10, used: pods=10, limited: pods=10")
        if self._weather.happens(odds.conflict):
            return Conflict(f'{manifest["kind"]} "{name}" already exists')
        return None

    async def patch(self, ref: Ref, merge: Mapping[str, Any], *, uid: str = "") -> Manifest:
        """See Cluster."""
        await self._meet()
        if self._weather.happens(self._weather.odds.invalid):
            raise Refused(422, "Invalid", f'{ref.kind} "{ref.name}" is invalid: spec: Invalid value')
        stored = await self._cluster.patch(ref, merge, uid=uid)
        await self._done()
        return stored

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        """See Cluster."""
        await self._meet()
        await self._cluster.patch_status(ref, uid, status, seq)
        await self._done()

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        """See Cluster."""
        await self._meet()
        denied = self._weather.denies("delete", ref.kind)
        if denied or self._weather.happens(self._weather.odds.quota):
            raise Refused(
                403, "Forbidden", f'admission webhook denied the deletion of {ref.kind} "{ref.name}"'
            )
        found = self._cluster.objects.peek(ref)
        await self._cluster.delete(ref, uid=uid, version=version, grace=grace)
        if found is not None and not self._life.superseded:
            self._weather.deleted.add(found["metadata"]["uid"])
        await self._done()

    async def orphans(self) -> Sequence[Manifest]:
        """See Cluster."""
        await self._meet()
        return await self._cluster.orphans()

    async def release(self, ref: Ref, uid: str) -> None:
        """See Cluster."""
        await self._meet()
        await self._cluster.release(ref, uid)
        await self._done()

    async def emit(self, event: JobEvent) -> None:
        """See Cluster."""
        await self._meet()
        await self._cluster.emit(event)
        await self._done()

    async def events(self, namespace: str, job_uid: str) -> Sequence[JobEvent]:
        """See Cluster."""
        await self._meet()
        return await self._cluster.events(namespace, job_uid)

    async def events_about(
        self, namespace: str, uids: Collection[str], names: Collection[tuple[str, str]] = ()
    ) -> Sequence[Happening]:
        """See Cluster."""
        await self._meet()
        return await self._cluster.events_about(namespace, uids, names)

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
        """See Cluster."""
        return self._cluster.logs(
            namespace, pod, uid=uid, container=container, previous=previous, follow=follow
        )

    async def close(self) -> None:
        """See Cluster."""
