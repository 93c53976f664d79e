"""Watch → observations: the bridge lists, follows, resumes after failures, and reports what vanished meanwhile.

Raw changes come in from `Cluster.watch`; observations go out to an async `sink` (the engine). The bridge keeps only a
fingerprint per object: enough to pass on changes that a decision can depend on, and to know at `Synced` which objects
are gone. A change counts as reported when `sink` has returned.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from k8s_bridge.actors import digest, named
from k8s_bridge.attended import EVERYTHING, Attended
from k8s_bridge.context import LogContext, NoLog, NoSignals, Signals
from k8s_bridge.looking import Incoming, LookResult, Looks
from k8s_bridge.observe import (
    Sort,
    has_status,
    is_controlled,
    is_held,
    is_in_sight,
    observe,
    owner_of,
    pod_name_of,
    recorded,
    sort_of,
    tells_no_more,
)
from k8s_bridge.port import Change, Cluster, Manifest, Ref, ShowsLife, Synced, Verb
from k8s_bridge.tracks import Track, as_known, fingerprint, gone, gone_of
from statemachine.backoff import backoff
from statemachine.errors import ClusterUnavailable, Expired
from statemachine.ids import JobUid
from statemachine.kinds import UnknownKind, kind_of
from statemachine.observations import (
    JobGone,
    JobObserved,
    Observation,
    PodGone,
    PodObserved,
    PodUnreadable,
    WorkloadObserved,
)

_log = logging.getLogger(__name__)

Sink = Callable[[Observation], Awaitable[None]]


def _as_it_is(job: JobObserved) -> JobObserved:
    return job


def unguarded(_api_version: str, _kind: str) -> datetime | None:
    """The policy check of a cluster without policies."""
    return None


@dataclass(slots=True)
class BridgeProgress:
    """The progress of the watch, for health."""

    synced: bool = False
    starts: int = 0
    failures: int = 0
    """In a row, since the last `Synced`."""
    changes: int = 0
    """Changes taken from the watch."""
    skipped: int = 0
    error: str = ""


@dataclass(slots=True)
class Bridge:
    """Follows a cluster for ever. `chance` gives numbers in [0, 1).

    With `silence` it opens a watch again that made no progress for so many seconds: no item came, and no other sign
    of life, if the cluster shows such (design rule 12).
    """

    cluster: Cluster
    sink: Sink
    log: LogContext = field(default_factory=NoLog)
    signals: Signals = field(default_factory=NoSignals)
    silence: float | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    attended: Attended = EVERYTHING
    """The bridge reports no jobs besides these: other controllers may manage them."""
    concealed: Callable[[JobObserved], JobObserved] = _as_it_is
    """Takes out of the report of a job object what must not get into the log, before any other part gets it."""
    guarded: Callable[[str, str], datetime | None] = unguarded
    """Since when a policy guards the names on objects of an apiVersion and kind; None without one."""
    progress: BridgeProgress = field(default_factory=BridgeProgress)
    _looks: Looks = field(init=False)
    _tracks: dict[str, Track] = field(default_factory=dict)
    _early: dict[JobUid, WorkloadObserved] = field(default_factory=dict)
    """Reports of Workloads whose jobs were not reported yet: Kueue may be quicker than the watch of jobs."""
    _listed: set[str] | None = None
    _withheld: frozenset[str] = frozenset()
    _alive: ShowsLife | None = None

    def __post_init__(self) -> None:
        self._alive = self.cluster if isinstance(self.cluster, ShowsLife) else None
        self._looks = Looks(self.cluster, self.chance)
        self._tracks |= {uid: Track(gone) for uid, gone in gone_of(self.log.known()).items()}

    def missing(self) -> dict[str, Observation]:
        """The reports, by uid, of objects that the log knows and no watch has shown, in case they are gone.

        It is empty until the list is complete. The observations have no time yet.
        """
        if not self.progress.synced:
            return {}
        return {
            uid: gone
            for uid, gone in gone_of(self.log.known(), self._tracks).items()
            if not self._may_live(gone)
        }

    def look_for(self, pod: PodGone) -> None:
        """The pod exists, the log knows it, and by its labels it was nobody's here: it is that replica's from now on.

        Somebody edited its labels after it was first reported, and before the log had that (spec R3). A watch without
        `silence`, whose cluster lets nobody edit them, takes the answer with its next change.
        """
        place = self.log.place_of(pod)
        if place is not None and pod.uid not in self._tracks:
            self._tracks[pod.uid] = Track(pod)
            self._looks.add(pod.uid, place)

    async def run(self) -> None:
        """Watches, and opens a new watch whenever one ends, until it is cancelled or `sink` raises."""
        try:
            while True:
                wait = await self._follow()
                self.progress.synced = False
                self.progress.failures += 1
                await self.sleep(max(wait, backoff(self.progress.failures, chance=self.chance)))
        finally:
            await self._looks.close()

    async def _follow(self) -> float:
        """Follows one watch to its end. Returns the least number of seconds to wait before the next."""
        self.progress.starts += 1
        self._listed = set()
        items = self.cluster.watch()
        async with _closing(
            items, Incoming(items, self._looks, self.silence, self._signs_of_life)
        ) as incoming:
            while True:
                try:
                    item = await incoming.next()
                except ClusterUnavailable as error:
                    self._note(str(error))
                    return error.retry_after or 0.0
                except (Expired, StopAsyncIteration, TimeoutError) as error:
                    self._note(str(error) or "the watch ended")
                    return 0.0
                if isinstance(item, LookResult):
                    await self._looked(item)
                else:
                    await self._take(item)

    def _signs_of_life(self) -> object:
        return self._alive.signs_of_life() if self._alive is not None else None

    def _note(self, error: str) -> None:
        self.progress.error = error
        _log.info("watch ended", extra={"action": "watch-ended", "error": error})

    async def _take(self, item: Change | Synced) -> None:
        if isinstance(item, Synced):
            await self._report_vanished(item)
            self.progress.synced, self.progress.failures, self.progress.error = True, 0, ""
            self.signals.listed()
            return
        self.progress.changes += 1
        sort = sort_of(item.object)
        # pods need no check: without the job they are not reported
        if sort is Sort.JOB and not self._is_attended(item.object):
            return
        uid = _uid(item)
        if self._listed is not None:
            self._listed.add(uid)
        self._hint(item, uid, sort)
        if item.verb is Verb.DELETED and self._is_doubtful(item, uid):
            self._looks.add(uid, Ref.of(item.object))
            return
        await self._report(item, uid)
        if item.verb is Verb.DELETED:
            self._looks.drop(uid)
            self._tracks.pop(uid, None)
            if self._listed is not None:
                self._listed.discard(uid)

    async def _report(self, item: Change, uid: str) -> None:
        known = self._known_pod(uid)
        if known is not None and not self._tracks[uid].is_placed:
            if self._is_mislabelled(known, item.object):
                del self._tracks[uid]  # when it was first reported the log did not have the job
                known = None
            else:
                self._tracks[uid].is_placed = bool(self.log.kind_of(known.job))
        observations = observe(item, known)
        if known is None and any(
            self._is_mislabelled(observation, item.object) for observation in observations
        ):
            self.signals.touched(owner_of(item.object))  # the controller puts the labels back
            return
        is_gone_pod = item.verb is Verb.DELETED and sort_of(item.object) is Sort.POD
        if is_gone_pod and not observations and (owner := owner_of(item.object)):
            self.signals.touched(owner)  # it may have had the name of a child
        for observation in observations:
            await self._pass_on(uid, self._with_record(observation, item.object), item.object)
        track = self._tracks.get(uid)
        if not observations and track and not isinstance(track.gone, JobGone):
            # the pod is not its job's any more
            await self._send(track.gone.changed(at=item.at))
            del self._tracks[uid]
        elif known is not None and item.verb is not Verb.DELETED and not is_controlled(item.object):
            self.signals.touched(known.job)  # the controller may take it back (spec R3)

    def _is_mislabelled(self, observation: Observation, raw: Manifest) -> bool:
        """By its labels the pod is another replica's than by its name: somebody edited them before the first report.

        The replica of that is kept (`tracks.as_known`), so it has to be the right one. While the log, which may be
        behind, does not have the job, the owner reference says how its pods are named.
        """
        if not isinstance(observation, PodObserved | PodGone | PodUnreadable):
            return False
        replica = observation.replica
        name = self.log.pod_name(observation.job, replica) or pod_name_of(raw, replica)
        return bool(name) and name != raw["metadata"].get("name")

    def _known_pod(self, uid: str) -> PodGone | None:
        track = self._tracks.get(uid)
        return track.gone if track is not None and isinstance(track.gone, PodGone) else None

    def _is_doubtful(self, item: Change, uid: str) -> bool:
        """The pod may still exist, without the labels that the watch selects by, and end later.

        A pod that went with its job need not be looked at.
        """
        known = self._known_pod(uid)
        return known is not None and known.job in self._tracks and not tells_no_more(item.object)

    async def _looked(self, answer: LookResult) -> None:
        """Takes the result of a look: a pod that no watch shows exists, or is gone."""
        known, sight = self._known_pod(answer.uid), answer.sight
        if known is None or sight.object is None:
            self._looks.drop(answer.uid)
            await self._report_gone(answer.uid, sight.at)
            return
        self.signals.touched(known.job)
        await self._report(Change(Verb.MODIFIED, sight.object, sight.at), answer.uid)
        if answer.uid not in self._tracks or is_in_sight(sight.object):
            self._looks.drop(answer.uid)
        elif answer.before and self.log.place_of(known) is None:  # the log does not count it any more
            self._looks.drop(answer.uid)
            del self._tracks[answer.uid]
        else:
            self._looks.again(answer.uid)

    async def _report_gone(self, uid: str, at: datetime) -> None:
        track = self._tracks.pop(uid, None)
        if track is not None and track.sent != fingerprint(track.gone):
            await self._send(track.gone.changed(at=at))

    def _is_attended(self, raw: Manifest) -> bool:
        """The controller manages the job."""
        kind, meta = raw.get("kind"), raw.get("metadata")
        namespace = meta.get("namespace") if isinstance(meta, dict) else None
        return self.attended.covers(str(raw.get("apiVersion")), str(kind), str(namespace or "default"))

    def _with_record(self, observation: Observation, raw: Manifest) -> Observation:
        """Adds the recorded life in the status of a job that the log does not know, or may have lost.

        During a list it adds the end of every ended job: a restored log may be older than the end.
        """
        if not isinstance(observation, JobObserved):
            return observation
        is_known = bool(self.log.kind_of(observation.job))
        if is_known and self._listed is None:
            return observation
        record = recorded(raw)
        if record is None or (is_known and not record.phase):
            return observation
        return observation.changed(recorded=record)

    def _with_settings(self, observation: JobObserved) -> JobObserved:
        """Adds the settings for jobs of the kind, which the job keeps."""
        try:
            settings = self.attended.settings(kind_of(observation.api_version, observation.kind))
        except UnknownKind:
            return observation
        return observation.changed(settings=dict(settings)) if settings else observation

    def _hint(self, change: Change, uid: str, sort: Sort) -> None:
        """Signals to projectors what no decision depends on."""
        raw = change.object
        if sort is Sort.JOB:
            if change.verb is Verb.DELETED:
                self.signals.touched(JobUid(uid))
            else:
                self.signals.shown(JobUid(uid), raw.get("status") or {})
        elif (owner := owner_of(raw)) and (self._is_waited_for(change, sort) or self.log.is_forgotten(owner)):
            self.signals.touched(owner)

    @staticmethod
    def _is_waited_for(change: Change, sort: Sort) -> bool:
        """A visit has something to do about the child now: a held pod goes, another object is made anew or set right.

        That a pod is gone is reported. It takes a visit with the decision that follows, and none before it. An object
        without a status changes when somebody changes what it says; where that was a visit, the next finds it right.
        """
        is_gone = change.verb is Verb.DELETED
        if sort is Sort.POD:
            return is_held(change.object) and not is_gone
        return is_gone or (change.verb is Verb.MODIFIED and not has_status(change.object))

    async def _pass_on(self, uid: str, observation: Observation, raw: Manifest) -> None:
        if isinstance(observation, JobObserved):
            observation = self.concealed(self._with_settings(observation))
        elif isinstance(observation, WorkloadObserved) and self._is_early(observation):
            return
        track = self._tracks.get(uid)
        if track is not None:
            observation = as_known(observation, track.gone)
        mark = fingerprint(observation)
        if track is not None and track.sent == mark:
            self.progress.skipped += 1
            return
        if isinstance(observation, JobObserved | JobGone):
            since = self.guarded(str(raw.get("apiVersion")), str(raw.get("kind")))
            observation = named(observation, raw, track.fields if track is not None else None, since)
        await self._send(observation)
        if track is not None and track.is_later_than(observation):
            track.sent = b""  # a clock may be wrong: the next report is passed on, whatever it says
            return
        written_at: datetime | None = getattr(observation, "written_at", None)
        if track is not None and isinstance(observation, PodUnreadable):
            # the pod may have lost its attempt, which the track still has
            track.sent, track.written_at, track.at = mark, written_at, observation.at
        else:
            fields = digest(raw) if isinstance(observation, JobObserved) else None
            is_placed = track is not None and track.is_placed and track.gone.job == observation.job
            place = Ref.of(raw) if isinstance(observation, PodObserved | PodUnreadable) else None
            self._tracks[uid] = Track(
                gone(observation), mark, fields, written_at, observation.at, is_placed, place
            )
        if isinstance(observation, JobObserved) and (early := self._early.pop(observation.job, None)):
            await self._pass_on(early.uid, early, {})

    def _is_early(self, observation: WorkloadObserved) -> bool:
        """Nothing would be decided about the Workload, as its job comes later: it is kept until then."""
        if observation.job in self._tracks:
            return False
        self._early.pop(observation.job, None)
        if observation.uid:
            self._early[observation.job] = observation
        return True

    async def _send(self, observation: Observation) -> None:
        self.signals.observed(observation)
        await self.sink(observation)

    async def _report_vanished(self, synced: Synced) -> None:
        """Reports known objects that were not listed: jobs first, as a pod that went with its job is not lost."""
        listed, self._withheld = self._listed or set(), synced.withheld
        if not synced.withheld:
            self._listed = None
        vanished = [
            uid for uid, track in self._tracks.items() if uid not in listed and not self._may_live(track.gone)
        ]
        vanished.sort(key=lambda uid: not isinstance(self._tracks[uid].gone, JobGone))
        for uid in vanished:
            known = self._known_pod(uid)
            place = None
            if known is not None and known.job in self._tracks:
                place = self.log.place_of(known) or self._tracks[uid].place
            if place is None:
                await self._report_gone(uid, synced.at)
            elif uid not in self._looks:
                self._looks.add(uid, place)

    def _may_live(self, gone: Observation) -> bool:
        """The object is, or may be, a job of a kind that the cluster cannot list at the moment."""
        if not self._withheld or not isinstance(gone, JobGone):
            return False
        return self.log.kind_of(gone.job) in ("", *self._withheld)


def _uid(change: Change) -> str:
    metadata = change.object.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return uid if isinstance(uid, str) else ""


@asynccontextmanager
async def _closing(items: AsyncIterator[Change | Synced], incoming: Incoming) -> AsyncIterator[Incoming]:
    """`incoming`; closes `items` at the end if possible: an open watch keeps collecting changes."""
    try:
        yield incoming
    finally:
        await incoming.close()
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()
