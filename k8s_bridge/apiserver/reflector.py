"""One collection, listed and then watched for ever, as client-go's reflectors do.

Resumes where a watch ended; lists anew only when the server has forgotten that place (410), and then also says what
has vanished since. A socket that stays silent although the server promised bookmarks is given up.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json, to_json

from k8s_bridge.apiserver.api import JSON, Api, failure, lines
from k8s_bridge.backoff import backoff
from k8s_bridge.port import Manifest, Verb
from statemachine.errors import ClusterError, ClusterUnavailable, Expired, Missing, Refused

_log = logging.getLogger(__name__)

_PAGE: Final = "500"
"""Objects in one answer to a list: some megabytes of pods, and no more memory than that for any number of them."""

_SILENCE: Final = 100.0
"""Seconds: API servers send a bookmark about every minute on a watch that has nothing else to say."""

_WATCH_SECONDS: Final = (240, 300)
"""A watch ends by itself within that; spread, so that not all are opened again at once."""

_ABSENT_AGAIN: Final = 30.0
"""Seconds until a kind that is not installed is looked for again."""

_METADATA: Final = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True)
class Source:
    """A collection to follow. `selector` is a label selector; `bare` asks for metadata only.

    An `optional` one may not be installed, which is as good as being empty.
    """

    api_version: str
    kind: str
    path: str
    selector: str = ""
    bare: bool = False
    optional: bool = False

    def accept(self, suffix: str = "") -> str:
        """The Accept header of a list (`suffix` `List`) or a watch."""
        return _METADATA.format(suffix) if self.bare else JSON

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


@dataclass(slots=True)
class Reflector:
    """Follows `source`: every object to `tell`, the uid of every one that vanished unseen to `vanished`."""

    api: Api
    source: Source
    tell: Tell
    vanished: Vanished
    progress: WatchProgress
    chance: Callable[[], float] = random.random
    listed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when everything that existed has been told once."""
    _known: set[str] = field(default_factory=set)
    _version: str = ""

    async def run(self) -> None:
        """Lists and watches until cancelled; every failure is waited out."""
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
                wait = 0.0
            except Expired:
                self._version, wait = "", 0.0
            except Missing:
                wait = self._not_there()
            except (ClusterUnavailable, Refused) as error:
                wait = self._failed(error)
            if wait:
                await asyncio.sleep(wait)

    def _not_there(self) -> float:
        """The kind is not installed, or not served yet: what was known of it may well be there."""
        self._version = ""
        if not self.source.optional:
            return self._failed(Missing(f"{self.source.kind} {self.source.api_version} is not installed"))
        self.progress.absent, self.progress.error = True, ""
        self._all_told()
        return _ABSENT_AGAIN

    def _failed(self, error: ClusterError) -> float:
        self.progress.failures += 1
        if not self.progress.error:
            fields = {"action": "watch-failed", "kind": self.source.kind, "error": str(error)}
            _log.warning("a watch cannot go on now, it will be tried again", extra=fields)
        self.progress.error = str(error)
        after = error.retry_after if isinstance(error, ClusterUnavailable) else None
        return max(after or 0.0, backoff(self.progress.failures, chance=self.chance))

    def _well(self) -> None:
        progress = self.progress
        progress.failures, progress.error, progress.absent = 0, "", False
        progress.heard = asyncio.get_running_loop().time()

    def _all_told(self) -> None:
        self.progress.synced = True
        self.listed.set()

    async def _list(self) -> None:
        """Everything is told; what was known and is not listed has vanished."""
        self.progress.lists += 1
        listed: set[str] = set()
        version, place = "", ""
        while True:
            query = self.source.query(limit=_PAGE, **({"continue": place} if place else {}))
            page = await self.api.call(
                "GET", self.source.path, query=query, accept=self.source.accept("List")
            )
            self._well()
            for raw in page["items"] or ():
                listed.add(raw["metadata"]["uid"])
                await self.tell(Verb.ADDED, self.source.named(raw))
            version, place = page["metadata"]["resourceVersion"], page["metadata"].get("continue", "")
            if not place:
                break
        for uid in sorted(self._known - listed):
            await self.vanished(uid)
        self._known, self._version = listed, version
        self._all_told()

    async def _watch(self) -> None:
        """Follow one watch to its end. Raises Expired when the place to go on from is forgotten."""
        self.progress.watches += 1
        first, last = _WATCH_SECONDS
        query = self.source.query(
            watch="1",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=str(first + int(self.chance() * (last - first))),
        )
        began = asyncio.get_running_loop().time()
        accept = self.source.accept()
        async with self.api.stream(self.source.path, query, silence=_SILENCE, accept=accept) as pieces:
            await self._follow(pieces)
        if asyncio.get_running_loop().time() - began < 1.0:
            await asyncio.sleep(backoff(1, chance=self.chance))  # a server that ends watches at once

    async def _follow(self, pieces: AsyncIterator[bytes]) -> None:
        async for line in lines(pieces):
            event = _parsed(line)
            kind, raw = event["type"], event["object"]
            if kind == "ERROR":
                raise failure(raw.get("code", 500), to_json(raw))
            self._well()
            if kind != "BOOKMARK":
                await self._changed(Verb(kind), raw)
            # only now: a change that could not be told is told again by the next watch
            self._version = raw["metadata"]["resourceVersion"]

    async def _changed(self, verb: Verb, raw: Manifest) -> None:
        uid = raw["metadata"]["uid"]
        if verb is Verb.DELETED:
            self._known.discard(uid)
        else:
            self._known.add(uid)
        await self.tell(verb, self.source.named(raw))


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        event = from_json(line, cache_strings="keys")
    except ValueError as error:
        raise ClusterUnavailable(f"a watch sends what is no JSON: {error}") from error
    if not isinstance(event, dict):
        raise ClusterUnavailable("a watch sends what is no event")
    return event
