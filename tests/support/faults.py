"""What may go wrong between a controller and the world, by chance, from one seeded `random.Random`.

A `Life` is one process: from its start until it is killed. It sees the log and the cluster only through
`FaultyLog` and `FaultyCluster`, each of whose calls takes time, may fail, may fail although it was done, and
may be the last thing the process ever did. What is dead does nothing any more: every call of a killed life
ends in `CancelledError`, so that whatever its tasks still do in `finally` reaches nobody.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from k8s_bridge.port import Change, Happening, JobEvent, Manifest, Ref, Sight, Synced
from statemachine.errors import ClusterError, ClusterUnavailable, Conflict, Expired, LogUnavailable, Refused
from statemachine.ids import JobUid, Position, Seq
from statemachine.kinds import KINDS
from statemachine.log.polling import polled
from statemachine.log.port import DeadLetter, EntryDraft, NewRecords, Record, Saved, Snapshot
from tests.support.fate import Fate, Passages
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.simulated import LoopClock, passing


@dataclass
class Odds:
    """How likely each fault is, for each call that could meet it; 0 is never.

    `crash`: the process dies, before or after the call took effect. `unavailable`: nothing was done, the
    cluster does not answer. `lost_reply`: it was done, and the caller does not learn it. `done_late`: a
    create that the caller has given up takes effect seconds later. `invalid`, `quota`, `conflict`: creates
    that are refused (422, 403, 409 although the name is free). `expired`: a watch ends. `late`, `twice`: a
    change reaches a watch late (and so out of order), or a second time. `log_fails`, `log_lost_reply`: the
    same for the log. `slow`: mean seconds that a call takes, each way.

    Of the API server alone (`tests.support.api_faults`): `unauthorized` (401), `throttled` (429 with Retry-After),
    `server_error` (500), `webhook_down`, `webhook_denies`: a call is answered so. `silent`: a watch brings nothing
    any more, and stays open. `no_bookmarks`: a watch that was quiet for a while begins too far behind. `stale_list`:
    the list that a watch begins with is old when it arrives. `stale_reads`: what a job owns is
    read as it was a moment ago, but for the caller's own writes.

    `died_at_request`: the process dies when a request of it is on the way to the brokers, or was done.

    `inbox_lost_reply`: observations were put into the inbox, and their sender does not learn it.

    Of the database of the history (`tests.support.faulty_store`): `database_fails`, `database_lost_reply`.
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
    unauthorized: float = 0.0
    throttled: float = 0.0
    server_error: float = 0.0
    webhook_down: float = 0.0
    webhook_denies: float = 0.0
    silent: float = 0.0
    no_bookmarks: float = 0.0
    stale_list: float = 0.0
    stale_reads: float = 0.0
    died_at_request: float = 0.0
    inbox_lost_reply: float = 0.0
    database_fails: float = 0.0
    database_lost_reply: float = 0.0
    slow: float = 0.01

    def calm(self) -> None:
        """From now on calls take time, and nothing else happens to them."""
        for field in fields(self):
            if field.name != "slow":
                setattr(self, field.name, 0.0)


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
        self.happened: Counter[str] = Counter()
        """How often each fault happened, by its name in the list of faults."""
        self.until: dict[str, float] = {}
        """By name of a fault that lasts: until when (the loop's time) every call meets it."""
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
        self.going: set[str] = set()
        """Namespaces that are being terminated."""
        self.unannounced: set[str] = set()
        """Names of the Events that such a namespace did not take: nobody announces them again."""
        self.unexpected = False
        """A create takes effect right now that was given up, or is that of a controller believed dead."""
        self.disowned: set[str] = set()
        """uids of the pods that a controller released or deleted that was believed dead."""
        self.fate = Fate(chance)
        self.passages = Passages()
        self._seed = chance.random()
        self._ways: dict[str, Random] = {}

    def denies(self, verb: str, kind: str) -> bool:
        """A policy that somebody has made denies such a write."""
        return kind == "Pod" and asyncio.get_running_loop().time() < self.denied_until.get(verb, 0.0)

    def strikes(self, fault: str) -> bool:
        """The fault of this name happens now, by its odds or because it lasts; then it is counted."""
        until = self.until.get(fault)
        lasts = until is not None and asyncio.get_running_loop().time() < until
        if not lasts and not self.fate.strikes(fault, getattr(self.odds, fault)):
            return False
        self.happened[fault] += 1
        return True

    def way(self, point: str) -> float:
        """Seconds that a call takes which passes the point: drawn for each point by itself.

        So that one call more or less does not change how long all others take.
        """
        ways = self._ways.get(point)
        if ways is None:
            ways = self._ways[point] = Random(f"{self._seed} {point}")
        return ways.expovariate(1 / self.odds.slow)

    def delays(self, _: Change) -> tuple[float, ...]:
        """When a change reaches a watch, and how often: a `Disturbance` of the memory cluster."""
        late = self.chance.expovariate(1 / _WATCHES_LAG) if self.strikes("late") else 0.0
        if self.strikes("twice"):
            return late, self.chance.expovariate(1 / _WATCHES_LAG)
        return (late,)


class Life:
    """One process. `ended` is called when it kills itself in the middle of a call."""

    def __init__(self, weather: Weather, ended: Callable[[], None]) -> None:
        self.weather = weather
        self.alive = True
        self.superseded = False
        """Another process was started in its place."""
        self.frozen_until = 0.0
        """It is stopped (SIGSTOP) until then, the loop's time."""
        self._ended = ended

    def kill(self) -> None:
        """Nothing that this process still tries to do has any effect."""
        self.alive = False

    async def travel(self, point: str = "") -> None:
        """A call is on its way, there or back. The process may die meanwhile, or now, if the point has a name."""
        self.check()
        if self.frozen_until:
            await self.thawed()
        await passing(self.weather.way(point))
        self.check()
        if point:
            self.pass_by(point)

    def pass_by(self, point: str) -> None:
        """The process is at this point (one of `tests.simulation.crash_points`), and may die there."""
        weather = self.weather
        weather.passages.passed[point] += 1
        if weather.fate.dies(point, weather.odds.crash / 2):
            weather.passages.died[point] += 1
            weather.happened["crash"] += 1
            self.kill()
            self._ended()
            self.check()

    async def thawed(self) -> None:
        """The process is not stopped (any more): until then nothing goes in or out."""
        self.check()
        while (left := self.frozen_until - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(left)
            self.check()

    def check(self) -> None:
        """The caller belongs to a process that lives; else this is the end of the caller."""
        if not self.alive:
            raise asyncio.CancelledError("killed")


class FaultyLog:
    """The log as one life sees it."""

    def __init__(self, log: MemoryLog, life: Life) -> None:
        self._log, self._life, self._weather = log, life, life.weather

    async def _meet(self, point: str = "") -> None:
        await self._life.travel(point)
        down = asyncio.get_running_loop().time() < self._weather.log_down_until
        if down or self._weather.strikes("log_fails"):
            self._life.pass_by("after the log did not answer")
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

    async def confirm_writer(self) -> None:
        """See EventLog."""
        await self._log.confirm_writer()

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        """See EventLog."""
        await self._meet("before append")
        records = await self._log.append(drafts)
        self._weather.passages.stepped()
        await self._life.travel("after append")
        if self._weather.strikes("log_lost_reply"):
            self._life.pass_by("after a lost reply of the log")
            raise LogUnavailable("connection reset; the outcome is unknown")
        return records

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        """See EventLog."""
        await self._meet("before scan")
        async for batch in self._log.scan(after, job=job, after_seq=after_seq):
            yield batch
            self._life.check()
            self._life.pass_by("after a batch of scan")

    async def first_records(self, text: str) -> Sequence[Record] | None:
        """See ReadableLog."""
        await self._meet("before scan")
        return await self._log.first_records(text)

    async def follow(self, after: Position = 0) -> AsyncIterator[NewRecords]:
        """See EventLog."""
        async for followed in polled(self, after):
            yield followed

    async def end(self) -> Position:
        """See EventLog."""
        await self._meet("before end")
        end = await self._log.end()
        await self._life.travel("after end")
        return end

    async def snapshots(self) -> tuple[Position, Sequence[Snapshot]]:
        """See EventLog."""
        await self._meet()
        return await self._log.snapshots()

    async def saved(self) -> Saved:
        """See EventLog."""
        await self._meet("before saved")
        saved = await self._log.saved()
        await self._life.travel("after saved")
        return saved

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        """See EventLog."""
        await self._meet("before save_snapshots")
        await self._log.save_snapshots(position, snapshots, source)
        await self._life.travel("after save_snapshots")

    async def checkpoint(self, reader: str) -> Position:
        """See EventLog."""
        await self._meet("before checkpoint")
        checkpoint = await self._log.checkpoint(reader)
        await self._life.travel("after checkpoint")
        return checkpoint

    async def save_checkpoint(self, reader: str, position: Position) -> None:
        """See EventLog."""
        await self._meet("before save_checkpoint")
        await self._log.save_checkpoint(reader, position)
        await self._life.travel("after save_checkpoint")

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        """See EventLog."""
        await self._meet("before add_dead_letter")
        await self._log.add_dead_letter(letter)
        await self._life.travel("after add_dead_letter")

    async def note_retry(self, letter: DeadLetter, at: datetime) -> None:
        """See EventLog."""
        await self._meet("before note_retry")
        await self._log.note_retry(letter, at)
        await self._life.travel("after note_retry")

    async def dead_letters(self) -> Sequence[DeadLetter]:
        """See EventLog."""
        await self._meet("before dead_letters")
        letters = await self._log.dead_letters()
        await self._life.travel("after dead_letters")
        return letters

    async def dead_letter_count(self) -> int:
        """See EventLog."""
        await self._meet("before dead_letter_count")
        count = await self._log.dead_letter_count()
        await self._life.travel("after dead_letter_count")
        return count

    async def close(self) -> None:
        """See EventLog."""


class FaultyCluster:
    """The cluster as one life sees it."""

    def __init__(self, cluster: MemoryCluster, life: Life) -> None:
        self._cluster, self._life, self._weather = cluster, life, life.weather

    async def _meet(self, point: str = "") -> None:
        await self._life.travel(point)
        down = asyncio.get_running_loop().time() < self._weather.cluster_down_until
        if down or self._weather.strikes("unavailable"):
            self._life.pass_by("after the cluster did not answer")
            raise ClusterUnavailable("the server is currently unable to handle the request")

    async def _done(self, point: str = "") -> None:
        await self._life.travel(point)
        if self._weather.strikes("lost_reply"):
            self._life.pass_by("after a lost reply of the cluster")
            raise ClusterUnavailable("connection reset; the outcome is unknown")

    async def watch(self) -> AsyncIterator[Change | Synced]:
        """See Cluster. The list takes time; then changes come as the cluster tells them."""
        await self._meet("before watch")
        items = self._cluster.watch()
        try:
            async for item in items:
                await self._life.thawed()
                self._life.pass_by(_watched("before", item))
                yield item
                self._life.check()
                self._life.pass_by(_watched("after", item))
                if self._weather.strikes("expired"):
                    self._life.pass_by("after a watch expired")
                    raise Expired("the watch is too far behind; list again")
        finally:
            await items.aclose()  # type: ignore[attr-defined]

    async def get(self, ref: Ref) -> Manifest:
        """See Cluster."""
        await self._meet(f"before get {thing(ref.kind, _READ)}")
        manifest = await self._cluster.get(ref)
        await self._life.travel(f"after get {thing(ref.kind, _READ)}")
        return manifest

    async def look(self, ref: Ref, uid: str) -> Sight:
        """See Cluster."""
        await self._meet("before look")
        sight = await self._cluster.look(ref, uid)
        await self._life.travel("after look")
        return sight

    async def list(self, api_version: str, kind: str, namespace: str | None = None) -> Sequence[Manifest]:
        """See Cluster."""
        await self._meet("before list")
        return await self._cluster.list(api_version, kind, namespace)

    async def children(self, namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
        """See Cluster. What is answered was true a moment ago."""
        await self._meet("before children")
        children = await self._cluster.children(namespace, owner, also)
        await self._life.travel("after children")
        return children

    def owners(self) -> Collection[str]:
        """See Cluster."""
        return self._cluster.owners()

    async def create(self, manifest: Manifest) -> Manifest:
        """See Cluster."""
        await self._meet(f"before create {thing(manifest['kind'])}")
        if (error := self._refusal(manifest)) is not None:
            self._life.pass_by("after a refused create")
            raise error
        if self._weather.strikes("done_late"):
            after = self._weather.chance.uniform(0, LATEST)
            asyncio.get_running_loop().call_later(after, self._create_late, manifest, context=Context())
            self._life.pass_by("after a create that was given up")
            raise ClusterUnavailable("time-out; the outcome is unknown")
        self._weather.unexpected = self._life.superseded
        try:
            stored = await self._cluster.create(manifest)
        finally:
            self._weather.unexpected = False
        await self._done(f"after create {thing(manifest['kind'])}")
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
        name = manifest["metadata"]["name"]
        if self._weather.strikes("invalid"):
            return Refused(422, "Invalid", f'{manifest["kind"]} "{name}" is invalid: spec: Invalid value')
        if self._weather.denies("create", manifest["kind"]) or self._weather.strikes("quota"):
            return Refused(403, "Forbidden", "exceeded quota: pods=10, used: pods=10, limited: pods=10")
        if self._weather.strikes("conflict"):
            return Conflict(f'{manifest["kind"]} "{name}" already exists')
        return None

    async def patch(self, ref: Ref, merge: Mapping[str, Any], *, uid: str = "") -> Manifest:
        """See Cluster."""
        await self._meet(f"before patch {thing(ref.kind, ())}")
        if self._weather.strikes("invalid"):
            self._life.pass_by("after a refused patch")
            raise Refused(422, "Invalid", f'{ref.kind} "{ref.name}" is invalid: spec: Invalid value')
        stored = await self._cluster.patch(ref, merge, uid=uid)
        await self._done(f"after patch {thing(ref.kind, ())}")
        return stored

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        """See Cluster."""
        await self._meet("before patch_status")
        await self._cluster.patch_status(ref, uid, status, seq)
        await self._done("after patch_status")

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        """See Cluster."""
        await self._meet(f"before delete {thing(ref.kind)}")
        denied = self._weather.denies("delete", ref.kind)
        if denied or self._weather.strikes("quota"):
            self._life.pass_by("after a refused delete")
            raise Refused(
                403, "Forbidden", f'admission webhook denied the deletion of {ref.kind} "{ref.name}"'
            )
        manifest = self._cluster.objects.peek(ref)
        await self._cluster.delete(ref, uid=uid, version=version, grace=grace)
        if manifest is not None:
            known = self._weather.disowned if self._life.superseded else self._weather.deleted
            known.add(manifest["metadata"]["uid"])
        await self._done(f"after delete {thing(ref.kind)}")

    async def orphans(self) -> Sequence[Manifest]:
        """See Cluster."""
        await self._meet("before orphans")
        orphans = await self._cluster.orphans()
        self._life.pass_by("after orphans")
        return orphans

    async def release(self, ref: Ref, uid: str) -> None:
        """See Cluster."""
        await self._meet("before release")
        if self._life.superseded:
            self._weather.disowned.add(uid)
        await self._cluster.release(ref, uid)
        await self._done("after release")

    async def emit(self, event: JobEvent) -> None:
        """See Cluster."""
        await self._meet("before emit")
        await self._cluster.emit(event)
        await self._done("after emit")

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


CHILDREN: Final = frozenset(
    {"Pod", "Service", "Secret", *(owned.kind for kind in KINDS for owned in kind.owns)}
)
_READ: Final = ("Pod", "Service", "Secret")


def thing(kind: str, named: Collection[str] = CHILDREN) -> str:
    """What points of death call an object: kinds of jobs are one, and so are children that are not `named`."""
    if kind in named:
        return kind
    return "another child" if kind in CHILDREN else "job"


def _watched(when: str, item: Change | Synced) -> str:
    """The point before or after a process has taken in what a watch brings."""
    if isinstance(item, Synced):
        return f"{when} the end of the list"
    return f"{when} news of a {thing(item.object['kind'])}"
