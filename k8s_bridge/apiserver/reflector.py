"""One collection, listed and then watched for ever, as client-go's reflectors do.

Resumes where a watch ended; lists anew only when the server has forgotten that place (410), and then also says what
has vanished since. A socket that stays silent although the server promised bookmarks is given up.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from pydantic_core import from_json, to_json

from k8s_bridge.apiserver.api import JSON, Api, failure, lines
from k8s_bridge.apiserver.index import number
from k8s_bridge.port import Manifest, Verb
from k8s_bridge.selectors import Selector
from statemachine.engine.backoff import backoff
from statemachine.errors import ClusterError, ClusterUnavailable, Expired, Missing, Refused

_log = logging.getLogger(__name__)

_PAGE: Final = "500"
"""Objects in one answer to a list: some megabytes of pods, and no more memory than that for any number of them."""

_METADATA: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"

METADATA_ONLY: Final = _METADATA.format("")
"""Accept header: one object, its metadata alone."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a watch is waited for, in seconds."""

    silence: float = 100.0
    """An open watch without a word: API servers send a bookmark about every minute if there is nothing else."""
    watch: tuple[int, int] = (240, 300)
    """A watch ends by itself within that; spread, so that not all are opened again at once."""
    absent: float = 30.0
    """Until a kind that is not installed is looked for again."""


@dataclass(frozen=True, slots=True)
class Source:
    """A collection to follow, in `namespace` or in all. `selector` is by label; `bare` asks for metadata only.

    An `optional` one may not be installed, which is as good as being empty. While a `separate` one cannot be listed,
    because it is not installed or jobledger has no right to it, the others go on.
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
        """Names what is followed: two sources may differ in their selector alone."""
        return f"{self.path}?{self.selector}"

    def covers(self, raw: Manifest) -> bool:
        """The object is of this collection: the watch of it tells of the object."""
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
        """`raw` with its kind: items of lists do not say it, and bare objects say another."""
        raw["apiVersion"], raw["kind"] = self.api_version, self.kind
        return raw


@dataclass(slots=True)
class WatchProgress:
    """How the watch of one kind is doing, for health and metrics; `heard` is the loop's time of the last word."""

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
    """Nothing is known but what the watch tells."""
    return ()


@dataclass(slots=True)
class Reflector:
    """Follows `source`: every object to `tell`, the uid of every one that vanished unseen to `vanished`.

    `noted` says what of the collection is known otherwise, from our own writes, and not newer than a version.
    """

    api: Api
    source: Source
    tell: Tell
    vanished: Vanished
    progress: WatchProgress
    patience: Patience = Patience()
    noted: Noted = nothing
    chance: Callable[[], float] = random.random
    listed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when everything that existed has been told once."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is listed, or nobody is to wait for that."""
    _known: set[str] = field(default_factory=set)
    """uids of what was told and is not known to have gone."""
    _version: str = ""
    """Where the next watch begins; empty when everything is to be listed first."""
    _expirations: int = 0
    """In a row, without a word of a watch in between."""

    @property
    def position(self) -> int:
        """The version up to which everything has been told; 0 while that is not known."""
        return number(self._version)

    @property
    def is_withheld(self) -> bool:
        """Nobody waits for it, and nothing is known of it."""
        return self.settled.is_set() and not self.listed.is_set()

    async def run(self) -> None:
        """Lists and watches until cancelled; every failure is waited out."""
        while True:
            try:
                if not self._version:
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
        """The place to go on from is forgotten: everything is listed, at once unless that was no help before."""
        self._version = ""
        self._expirations += 1
        return backoff(self._expirations - 1, chance=self.chance) if self._expirations > 1 else 0.0

    def _not_there(self) -> float:
        """The kind is not installed, or not served yet: what was known of it may well be there."""
        self._version = ""
        if not self.source.optional:
            self._go_on_without()
            wait = self._failed(Missing(f"{self.source.kind} {self.source.api_version} is not installed"))
            self.progress.absent = self.source.separate
            return wait
        self.progress.absent, self.progress.error = True, ""
        self._all_told()
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
        """The server has said something of use, which is more than taking a connection."""
        self._answered()
        self.progress.failures = 0

    def _all_told(self) -> None:
        self.progress.synced = True
        self.listed.set()
        self.settled.set()

    async def _list(self) -> None:
        """Everything is told; what was known and is not listed has vanished."""
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
        known = self._known.union(self.noted(number(version)))
        for uid in sorted(known - listed):
            await self.vanished(uid)
        self._known, self._version = listed, version
        self._all_told()

    async def _page(self, query: dict[str, str]) -> "_Page":
        page = await self.api.call("GET", self.source.path, query=query, accept=self.source.accept("List"))
        try:
            meta = page["metadata"]
            return _Page(page["items"] or [], meta["resourceVersion"], meta.get("continue", ""))
        except (TypeError, KeyError) as error:
            raise ClusterUnavailable(f"{self.source.path} answers what is no list") from error

    async def _watch(self) -> None:
        """Follow one watch to its end. Raises Expired when the place to go on from is forgotten."""
        self.progress.watches += 1
        first, last = self.patience.watch
        query = self.source.query(
            watch="1",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(first + int(self.chance() * (last - first))),
        )
        began = asyncio.get_running_loop().time()
        accept = self.source.accept()
        async with self.api.stream(
            self.source.path, query, silence=self.patience.silence, accept=accept
        ) as pieces:
            self._answered()
            await self._follow(pieces)
        self._well()
        if asyncio.get_running_loop().time() - began < 1.0:
            await asyncio.sleep(backoff(1, chance=self.chance))  # a server that ends watches at once

    async def _follow(self, pieces: AsyncIterator[bytes]) -> None:
        async for line in lines(pieces):
            event = _parsed(line)
            self._well()
            self._expirations = 0
            if event.verb is not None:
                await self._changed(event.verb, event.object)
            # only now: a change that could not be told is told again by the next watch
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
    """What a line of a watch says; without a verb it is a bookmark."""

    verb: Verb | None
    object: Manifest


def _parsed(line: bytes) -> _Event:
    """Raises what the server says went wrong, and ClusterUnavailable for what no server says."""
    try:
        event = from_json(line, cache_strings="keys")
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
