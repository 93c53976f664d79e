"""A reflector lists one collection, and then watches it for ever, as in client-go.

Where the server can, the watch itself begins with everything that exists: then the reflector has one object at a
time in memory. Else it lists page by page.

It resumes where a watch ended, and lists anew only when the server has forgotten that place (410): then it also
reports what has vanished since. It gives up a socket that stays silent although the server promised bookmarks.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from pydantic_core import to_json

from k8s_bridge.apiserver import lean
from k8s_bridge.apiserver.api import JSON, Api, failure, lines
from k8s_bridge.port import Manifest, Verb
from k8s_bridge.raw import number
from k8s_bridge.selectors import Selector
from statemachine.backoff import backoff
from statemachine.errors import ClusterError, ClusterUnavailable, Expired, Missing, Refused

_log = logging.getLogger(__name__)

_PAGE: Final = "500"
"""Objects in one page of a list: some megabytes of pods, whose memory does not grow with their number."""

_FROM_THE_BEGINNING: Final = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
"""A watch that begins with everything that exists, and says with a bookmark where that ends.

Source: Kubernetes API concepts, "Streaming lists" (WatchList; on by default from 1.34 on).
"""

_END_OF_LIST: Final = "k8s.io/initial-events-end"
"""The annotation of that bookmark."""

_NOT_STREAMED: Final = frozenset({400, 422})
"""How servers without streaming lists refuse one."""

_METADATA: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"

METADATA_ONLY: Final = _METADATA.format("")
"""Accept header: one object, its metadata alone."""


@dataclass(frozen=True, slots=True)
class WatchPatience:
    """The waits of a watch, in seconds."""

    silence: float = 100.0
    """For an open watch without data: API servers send a bookmark about every minute if there is nothing else."""
    watch: tuple[int, int] = (240, 300)
    """A watch ends by itself within that time; spread, so that not all are opened again at once."""
    absent: float = 30.0
    """Until a kind that is not installed is listed again."""


@dataclass(frozen=True, slots=True)
class WatchSource:
    """A collection to follow, in `namespace` or in all. `selector` is by label; `bare` asks for metadata only.

    An `optional` one need not be installed, and is empty then. While a `separate` one cannot be listed, because it is
    not installed or jobledger has no right to it, the others go on.
    """

    api_version: str
    kind: str
    path: str
    selector: str = ""
    bare: bool = False
    optional: bool = False
    namespace: str = ""
    separate: bool = False

    def accept(self, suffix: str = "") -> str:
        """The Accept header of a list (`suffix` `List`) or a watch."""
        return _METADATA.format(suffix) if self.bare else JSON

    @property
    def collection(self) -> str:
        """The name of the collection: two sources may differ in their selector alone."""
        return f"{self.path}?{self.selector}"

    def covers(self, raw: Manifest) -> bool:
        """The object is in this collection, so its watch shows the object."""
        meta = raw["metadata"]
        if (raw["apiVersion"], raw["kind"]) != (self.api_version, self.kind):
            return False
        if self.namespace and meta.get("namespace") != self.namespace:
            return False
        return _selector(self.selector).selects(meta)

    def query(self, **more: str) -> dict[str, str]:
        """The query of a request, selector included."""
        return {**({"labelSelector": self.selector} if self.selector else {}), **more}

    def named(self, raw: Manifest) -> Manifest:
        """`raw` with its kind: items of lists have none, and bare objects have another."""
        raw["apiVersion"], raw["kind"] = self.api_version, self.kind
        return raw


@dataclass(slots=True)
class WatchProgress:
    """The progress of the watch of one kind, for health and metrics; `heard` is the loop's time of its last data."""

    kind: str
    synced: bool = False
    absent: bool = False
    heard: float = 0.0
    lists: int = 0
    watches: int = 0
    failures: int = 0
    """In a row."""
    error: str = ""


Tell = Callable[[Verb, Manifest], Awaitable[None]]
Vanished = Callable[[str], Awaitable[None]]
Noted = Callable[[int], Iterable[str]]

_selector = cache(Selector.of)


def nothing(_: int) -> Iterable[str]:
    """Knows no objects besides those of the watch."""
    return ()


@dataclass(slots=True)
class Reflector:
    """Follows `source`: passes every object to `tell`, and the uid of every one that vanished unseen to `vanished`.

    `noted` gives the uids of objects that are known from our own writes, and not newer than a version.
    """

    api: Api
    source: WatchSource
    tell: Tell
    vanished: Vanished
    progress: WatchProgress
    patience: WatchPatience = WatchPatience()
    noted: Noted = nothing
    chance: Callable[[], float] = random.random
    listed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when everything that existed was passed on once."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the collection is listed, or others need not wait for that."""
    _known: set[str] = field(default_factory=set)
    """The uids of objects that were passed on and are not known to be gone."""
    _version: str = ""
    """Where the next watch begins; empty if it has to list first."""
    _streams: bool = True
    """The server may stream a list: it has not refused to, and has brought every one that it began to its end."""
    _expirations: int = 0
    """In a row, without data of a watch in between."""

    @property
    def position(self) -> int:
        """The version up to which everything was passed on; 0 while unknown."""
        return number(self._version)

    @property
    def is_withheld(self) -> bool:
        """The collection is not listed, and others do not wait for it."""
        return self.settled.is_set() and not self.listed.is_set()

    async def run(self) -> None:
        """Lists and watches until it is cancelled; retries after every failure."""
        while True:
            try:
                if not self._version and not await self._streamed():
                    await self._list()
                await self._watch()
                wait = 0.0
            except Expired:
                wait = self._expired()
            except Missing:
                wait = self._not_there()
            except Refused as error:
                wait = self._refused(error)
            except ClusterUnavailable as error:
                wait = self._failed(error)
            if wait:
                await asyncio.sleep(wait)

    def _expired(self) -> float:
        """The server has forgotten the place: lists again, at once unless that did not help before."""
        self._version = ""
        self._expirations += 1
        return backoff(self._expirations - 1, chance=self.chance) if self._expirations > 1 else 0.0

    def _not_there(self) -> float:
        """The kind is not installed, or not served yet: its known objects may still exist."""
        self._version = ""
        if not self.source.optional:
            self._go_on_without()
            wait = self._failed(Missing(f"{self.source.kind} {self.source.api_version} is not installed"))
            self.progress.absent = self.source.separate
            return wait
        self.progress.absent, self.progress.error = True, ""
        self._all_passed()
        return self.patience.absent

    def _refused(self, error: Refused) -> float:
        if error.status != 403:
            return self._failed(error)
        self._go_on_without()
        kind = f"{self.source.kind} {self.source.api_version}"
        return self._failed(
            Refused(403, error.reason, f"jobledger may not list and watch {kind}: {error.message}")
        )

    def _go_on_without(self) -> None:
        if self.source.separate:
            self.settled.set()

    def _failed(self, error: ClusterError) -> float:
        self.progress.failures += 1
        if self.progress.failures == 1:
            fields = {"action": "watch-failed", "kind": self.source.kind, "error": str(error)}
            _log.warning("a watch cannot go on now, it will be tried again", extra=fields)
        self.progress.error = str(error)
        after = error.retry_after if isinstance(error, ClusterUnavailable) else None
        return max(after or 0.0, backoff(self.progress.failures, chance=self.chance))

    def _answered(self) -> None:
        self.progress.error, self.progress.absent = "", False
        self.progress.heard = asyncio.get_running_loop().time()

    def _well(self) -> None:
        """The server has sent data, which is more than accepting a connection."""
        self._answered()
        self.progress.failures = 0

    def _all_passed(self) -> None:
        self.progress.synced = True
        self.listed.set()
        self.settled.set()

    async def _list(self) -> None:
        """Passes everything on, page by page."""
        self.progress.lists += 1
        listed: set[str] = set()
        version, place = "", ""
        while True:
            query = self.source.query(limit=_PAGE, **({"continue": place} if place else {}))
            page = await self._page(query)
            self._well()
            for raw in page.items:
                listed.add(raw["metadata"]["uid"])
                await self._changed(Verb.ADDED, raw)
            version, place = page.version, page.place
            if not place:
                break
        await self._all_listed(listed, version)

    async def _all_listed(self, listed: set[str], version: str) -> None:
        """`listed` are the uids of all that existed at `version`: other known objects have vanished."""
        known = self._known.union(self.noted(number(version)))
        for uid in sorted(known - listed):
            await self.vanished(uid)
        self._known, self._version = listed, version
        self._all_passed()

    async def _page(self, query: dict[str, str]) -> "_Page":
        page = await self.api.call("GET", self.source.path, query=query, accept=self.source.accept("List"))
        try:
            meta = page["metadata"]
            return _Page(page["items"] or [], meta["resourceVersion"], meta.get("continue", ""))
        except (TypeError, KeyError) as error:
            raise ClusterUnavailable(f"{self.source.path} answers what is no list") from error

    async def _streamed(self) -> bool:
        """Follows a watch that begins with everything to its end. False: the collection has to be listed."""
        if self._streams:
            try:
                await self._open(_FROM_THE_BEGINNING)
            except Refused as error:
                if error.status not in _NOT_STREAMED:
                    raise
                self._streams = False
        return bool(self._version)

    async def _watch(self) -> None:
        """Follows one watch to its end. Raises Expired when the server has forgotten its place."""
        self.progress.watches += 1
        await self._open({"resourceVersion": self._version})

    async def _open(self, begin: Mapping[str, str]) -> None:
        """Follows a watch that begins as its query says in `begin`."""
        first, last = self.patience.watch
        query = self.source.query(
            watch="1",
            allowWatchBookmarks="true",
            **begin,
            timeoutSeconds=str(first + int(self.chance() * (last - first))),
        )
        began = asyncio.get_running_loop().time()
        accept = self.source.accept()
        async with self.api.stream(
            self.source.path, query, silence=self.patience.silence, accept=accept
        ) as pieces:
            self._answered()
            events = lines(pieces)
            if not self._version:
                self._streams = False  # until it has brought the list to its end
                self.progress.lists += 1
                self.progress.watches += 1
                await self._follow_list(events)
            if self._version:
                await self._follow(events)
        self._well()
        if asyncio.get_running_loop().time() - began < 1.0:
            await asyncio.sleep(backoff(1, chance=self.chance))  # a server that ends watches at once

    async def _follow_list(self, events: AsyncIterator[bytes]) -> None:
        """Passes everything on that a watch begins with, up to the bookmark behind it."""
        listed: set[str] = set()
        async for line in events:
            event = _parsed(line, self.source.kind)
            self._well()
            meta = event.object["metadata"]
            if event.verb is not None:
                listed.add(meta["uid"])
                await self._changed(event.verb, event.object)
            elif (meta.get("annotations") or {}).get(_END_OF_LIST) == "true":
                self._streams = True
                await self._all_listed(listed, meta["resourceVersion"])
                return

    async def _follow(self, events: AsyncIterator[bytes]) -> None:
        async for line in events:
            event = _parsed(line, self.source.kind)
            self._well()
            self._expirations = 0
            if event.verb is not None:
                await self._changed(event.verb, event.object)
            # only now: the next watch brings a change again that could not be passed on
            self._version = event.object["metadata"]["resourceVersion"]

    async def _changed(self, verb: Verb, raw: Manifest) -> None:
        uid = raw["metadata"]["uid"]
        if verb is Verb.DELETED:
            self._known.discard(uid)
        else:
            self._known.add(uid)
        await self.tell(verb, self.source.named(raw))


class _Page(NamedTuple):
    """A part of a list, and where the next one begins."""

    items: list[Manifest]
    version: str
    place: str


class _Event(NamedTuple):
    """The event in a line of a watch; without a verb it is a bookmark."""

    verb: Verb | None
    object: Manifest


def _parsed(line: bytes, watched: str) -> _Event:
    """The event in `line` of a watch of the kind `watched`.

    Raises the error that the server reports, and ClusterUnavailable for invalid data.
    """
    try:
        event = lean.data(line, watched)
        kind, raw = event["type"], event["object"]
        if kind == "ERROR":
            error = failure(int(raw.get("code") or 500), to_json(raw))
        elif kind == "BOOKMARK":
            return _Event(None, _saying(raw, "resourceVersion"))
        else:
            return _Event(Verb(kind), _saying(raw, "resourceVersion", "uid"))
    except (ValueError, TypeError, KeyError, AttributeError) as wrong:
        raise ClusterUnavailable(f"a watch says what is no event: {line[:100]!r}") from wrong
    raise error


def _saying(raw: Manifest, *keys: str) -> Manifest:
    """`raw`, whose metadata have `keys`. Raises KeyError, TypeError."""
    for key in keys:
        raw["metadata"][key]
    return raw
