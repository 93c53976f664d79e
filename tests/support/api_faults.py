"""An API server in bad weather: what it answers beside refusals, and watches and lists that mislead.

`TroubledCluster` is a `FaultyCluster` that meets more: errors by status as the adapter translates them, watches that
are silent or begin with an old list, and reads that are behind. What was comes from a `Past`, which remembers every
change of the cluster.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from typing import Final

from k8s_bridge.observe import is_in_sight
from k8s_bridge.port import Change, JobEvent, Manifest, Ref, Sight, Synced, Verb
from k8s_bridge.stored import controller
from statemachine.errors import ClusterError, ClusterUnavailable, Expired, Refused
from tests.support.faults import FaultyCluster, Life, Weather
from tests.support.memory_cluster import MemoryCluster

QUIET: Final = 6.0
"""Seconds without a change after which a watch that got no bookmark may be too far behind."""

_BEHIND: Final = 4.0
"""Mean seconds that a list, or a read, is behind."""

_MOST_BEHIND: Final = 15.0


class Past:
    """Every change of a cluster, with the loop's time."""

    def __init__(self, cluster: MemoryCluster) -> None:
        self._changes: deque[tuple[float, Change]] = deque()
        cluster.objects.subscribe(self._changed)

    def _changed(self, change: Change) -> None:
        self._changes.append((asyncio.get_running_loop().time(), change))

    def at(self, moment: float) -> dict[Ref, Manifest]:
        """All objects as they were then."""
        there: dict[Ref, Manifest] = {}
        for time, change in self._changes:
            if time > moment:
                break
            ref = Ref.of(change.object)
            if change.verb is Verb.DELETED:
                there.pop(ref, None)
            else:
                there[ref] = change.object
        return there


class TroubledCluster(FaultyCluster):
    """The cluster as one life sees it through a troubled API server."""

    def __init__(self, cluster: MemoryCluster, life: Life, past: Past) -> None:
        super().__init__(cluster, life)
        self._past = past
        self._written: dict[str, Manifest | None] = {}
        """By uid, what this life itself has made of an object; None: it is gone."""
        self._looked: set[str] = set()
        """Pods that this life knows from looks at them, as watches do not show them: they lost their labels."""
        self._listed_at = 0.0
        """When (the loop's time) a watch last had reported everything: reads are not older."""
        self._is_silent = False
        """The open watch brings nothing any more, and no bookmarks."""

    def signs_of_life(self) -> object:
        """See ShowsLife: a watch that has nothing to tell gets bookmarks."""
        return None if self._is_silent else asyncio.get_running_loop().time()

    async def _meet(self, point: str = "") -> None:
        await super()._meet(point)
        if (error := _answer(self._weather)) is not None:
            raise error

    def _refusal(self, manifest: Manifest) -> ClusterError | None:
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        if manifest["metadata"]["namespace"] in self._weather.going:
            return terminating(manifest["metadata"]["namespace"], kind, name)
        if self._weather.strikes("webhook_down"):
            return ClusterUnavailable(
                'the API server answers 500: Internal error occurred: failed calling webhook "check.example.org"'
            )
        if self._weather.strikes("webhook_denies"):
            return Refused(
                403, "Forbidden", 'admission webhook "check.example.org" denied the request: no team label'
            )
        return super()._refusal(manifest)

    async def create(self, manifest: Manifest) -> Manifest:
        """See Cluster."""
        stored = await super().create(manifest)
        self._written[stored["metadata"]["uid"]] = stored
        return stored

    async def emit(self, event: JobEvent) -> None:
        """See Cluster."""
        if event.about.namespace in self._weather.going:
            await self._meet("before emit")
            self._weather.unannounced.add(event.name)
            raise terminating(event.about.namespace, "Event", event.name)
        self._weather.unannounced.discard(event.name)
        await super().emit(event)

    async def children(self, namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
        """See Cluster. Objects of this life's own making are never missing."""
        known = self._known(await super().children(namespace, owner, also))
        if not self._weather.strikes("stale_reads"):
            return known
        return self._behind(known, namespace, owner, also)

    def _behind(
        self, manifests: Sequence[Manifest], namespace: str, owner: str, also: Collection[str]
    ) -> Sequence[Manifest]:
        """What the job owned a moment ago, in the place of what it owns now; `also` as in the port."""
        moment = max(self._listed_at, asyncio.get_running_loop().time() - self._late())
        there = self._known(
            manifest
            for ref, manifest in self._past.at(moment).items()
            if namespace in ("", ref.namespace)
            and ((by := controller(manifest)) == owner or (not by and manifest["metadata"]["uid"] in also))
        )
        uids = {manifest["metadata"]["uid"] for manifest in there}
        own = [
            manifest for manifest in manifests if manifest["metadata"]["uid"] in self._written.keys() - uids
        ]
        return [*there, *own]

    async def look(self, ref: Ref, uid: str) -> Sight:
        """See Cluster."""
        sight = await super().look(ref, uid)
        if sight.object is not None:
            self._looked.add(uid)
        return sight

    async def orphans(self) -> Sequence[Manifest]:
        """See Cluster."""
        return self._known(await super().orphans())

    def _known(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """What is in an index that watches by labels fill, and looks."""
        return [
            manifest
            for manifest in manifests
            if manifest["kind"] != "Pod"
            or is_in_sight(manifest)
            or manifest["metadata"]["uid"] in self._looked
        ]

    def _late(self) -> float:
        return min(_MOST_BEHIND, self._weather.chance.expovariate(1 / _BEHIND))

    async def watch(self) -> AsyncIterator[Change | Synced]:
        """See Cluster."""
        self._is_silent = False
        items = self._old_watch() if self._weather.strikes("stale_list") else super().watch()
        selected = Selected()
        try:
            async for item in self._patient(items):
                if (shown := selected.shown(item)) is not None:
                    yield shown
        finally:
            await items.aclose()  # type: ignore[attr-defined]

    async def _patient(self, items: AsyncIterator[Change | Synced]) -> AsyncIterator[Change | Synced]:
        """The items, until the watch is silent for good, or was quiet for so long that its place is forgotten."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        async for item in items:
            if loop.time() - last > QUIET and self._weather.strikes("no_bookmarks"):
                raise Expired("too old resource version: there was no bookmark since")
            last = loop.time()
            if isinstance(item, Synced):
                self._listed_at = last
            elif self._weather.strikes("silent"):
                self._is_silent = True
                await asyncio.Event().wait()
            yield item

    async def _old_watch(self) -> AsyncIterator[Change | Synced]:
        """The list arrives long after it was made, with all that has changed since behind it.

        It is never from before the call, whatever other caches hold: the adapter asks for the latest.
        """
        await self._meet()
        items = self._cluster.watch()
        await asyncio.sleep(self._late())
        try:
            async for item in items:
                await self._life.thawed()
                yield item
        finally:
            await items.aclose()  # type: ignore[attr-defined]


class Selected:
    """A watch of pods by label: one that loses the label is said to be deleted, in its last form that had it.

    Source: Kubernetes, cacher, `cacheWatcher.convertToWatchEvent`: that form has the version of the change.
    """

    def __init__(self) -> None:
        self._shown: dict[str, Manifest] = {}

    def shown(self, item: Change | Synced) -> Change | Synced | None:
        """What the watch says of the item; None: nothing."""
        if isinstance(item, Synced) or item.object["kind"] != "Pod":
            return item
        meta = item.object["metadata"]
        last = self._shown.pop(meta["uid"], None)
        if is_in_sight(item.object):
            if item.verb is not Verb.DELETED:
                self._shown[meta["uid"]] = item.object
            return item
        if last is None:
            return None
        left = {**last, "metadata": {**last["metadata"], "resourceVersion": meta["resourceVersion"]}}
        return Change(Verb.DELETED, left, item.at)


def terminating(namespace: str, kind: str, name: str) -> Refused:
    """What an API server says to a client that creates something in a namespace that is going."""
    return Refused(
        403,
        "Forbidden",
        f'{kind.lower()}s "{name}" is forbidden: unable to create new content in namespace {namespace} '
        "because it is being terminated",
    )


def _answer(weather: Weather) -> ClusterError | None:
    """What every call may be answered."""
    if weather.strikes("unauthorized"):
        return ClusterUnavailable("the API server answers 401: Unauthorized")
    if weather.strikes("throttled"):
        wait = float(weather.chance.randint(1, 8))
        return ClusterUnavailable("too many requests, please try again later", wait)
    if weather.strikes("server_error"):
        return ClusterUnavailable("the API server answers 500: etcdserver: leader changed")
    return None
