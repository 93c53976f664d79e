"""One collection followed through every kind of trouble, by a server that makes it on purpose."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.reflector import Reflector, WatchPatience, WatchProgress, WatchSource
from k8s_bridge.port import Manifest, Verb
from tests.unit.bridge.apiserver.scripted import (
    CUT,
    SILENT,
    Answer,
    Server,
    bookmark,
    end_of_list,
    event,
    no,
    not_served,
    page,
    status,
    watch,
)
from tests.unit.bridge.words import until

THINGS = "/apis/example.org/v1/things"
SOURCE = WatchSource("example.org/v1", "Thing", THINGS, selector="owner")
OPTIONAL = replace(SOURCE, optional=True)
PATIENT = WatchPatience()
GONE = status(410, "too old resource version", "Expired")


def thing(name: str, version: int = 1) -> Manifest:
    """An object as a list has it: without a kind."""
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}}


@dataclass
class Followed:
    """What a reflector reported."""

    progress: WatchProgress
    reported: list[tuple[str, str, int]] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    last: Manifest = field(default_factory=dict)

    async def tell(self, verb: Verb, raw: Manifest) -> None:
        meta = raw["metadata"]
        self.last = raw
        self.reported.append((verb.value, meta["name"], int(meta["resourceVersion"])))

    async def vanish(self, uid: str) -> None:
        self.vanished.append(uid)

    @property
    def names(self) -> list[str]:
        return [name for _, name, _ in self.reported]


@asynccontextmanager
async def following(
    api: Api, source: WatchSource = SOURCE, patience: WatchPatience = PATIENT, chance: float = 0.0
) -> AsyncIterator[Followed]:
    followed = Followed(WatchProgress(source.kind))
    reflector = Reflector(
        api, source, followed.tell, followed.vanish, followed.progress, patience, chance=lambda: chance
    )
    task = asyncio.create_task(reflector.run())
    try:
        yield followed
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def watched_from(server: Server) -> list[int]:
    """Where each watch began."""
    return [int(request.query["resourceVersion"]) for request in server.asked("WATCH", THINGS)]


def lists(server: Server) -> int:
    return len(server.asked("GET", THINGS))


def gaps(server: Server, verb: str) -> list[float]:
    """Seconds between the requests."""
    return [later.at - earlier.at for earlier, later in pairwise(server.asked(verb, THINGS))]


def are_at_least(gaps: list[float], wanted: list[float]) -> bool:
    return all(one > other * 0.95 for one, other in zip(gaps, wanted, strict=False))


async def test_everything_is_listed_and_then_watched_from_there(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(thing("a", 3), thing("b", 4), version=7))
    server.on(
        "WATCH", THINGS, watch(event("MODIFIED", thing("a", 8)), event("DELETED", thing("b", 9)), SILENT)
    )
    async with following(api) as followed:
        await until(lambda: len(followed.reported) == 4)
    assert followed.reported == [
        ("ADDED", "a", 3),
        ("ADDED", "b", 4),
        ("MODIFIED", "a", 8),
        ("DELETED", "b", 9),
    ]
    assert followed.vanished == []
    _, listed, opened = server.requests
    assert listed.query == {"labelSelector": "owner", "limit": "500"}
    assert opened.query == {
        "labelSelector": "owner",
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "240",
    }


async def test_objects_are_reported_with_their_kind(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(thing("a")))
    async with following(api) as followed:
        await until(lambda: bool(followed.reported))
    assert (followed.last["apiVersion"], followed.last["kind"]) == ("example.org/v1", "Thing")


async def test_an_empty_collection_may_be_null(server: Server, api: Api) -> None:
    """As Go writes a slice that was never made."""
    server.on("GET", THINGS, Answer(body={"metadata": {"resourceVersion": "7"}, "items": None}))
    async with following(api) as followed:
        await until(lambda: followed.progress.watches == 1)
    assert followed.progress.synced


async def test_metadata_alone_is_asked_for_where_that_is_enough(server: Server, api: Api) -> None:
    async with following(api, replace(SOURCE, bare=True)) as followed:
        await until(lambda: len(server.asked("WATCH", THINGS)) == 1)
        assert followed.progress.synced
    accepted = [request.headers["Accept"] for request in server.requests]
    assert accepted == [
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ]


ENDINGS: dict[str, list[object]] = {
    "it ends": [],
    "it is cut": [CUT],
    "it ends within a line": [event("MODIFIED", thing("a", 9))[:30]],
    "it is cut within a line": [event("MODIFIED", thing("a", 9))[:30], CUT],
    "a line is no JSON": [b"\x00\xff}\n"],
    "a line is no event": [b"[]\n"],
    "a line is an event of nothing": [b'{"type": "ADDED"}\n'],
    "a line is of no type": [event("EXPLODED", thing("a", 9))],
    "an object has no metadata": [b'{"type": "ADDED", "object": {}}\n'],
    "an object has no version": [event("ADDED", {"metadata": {"name": "a", "uid": "uid-a"}})],
    "an object has no uid": [event("ADDED", {"metadata": {"name": "a", "resourceVersion": "9"}})],
    "the server says 500": [event("ERROR", status(500, "etcd is tired"))],
    "the server says nothing clear": [event("ERROR", {})],
    "the server says no status": [b'{"type": "ERROR", "object": null}\n'],
}


@pytest.mark.parametrize("how", ENDINGS)
async def test_a_watch_that_ends_is_resumed_where_it_was(server: Server, api: Api, how: str) -> None:
    server.on("GET", THINGS, page(thing("a", 3), version=7))
    server.on(
        "WATCH",
        THINGS,
        watch(event("MODIFIED", thing("a", 8)), *ENDINGS[how]),
        watch(event("MODIFIED", thing("a", 9)), SILENT),
    )
    async with following(api) as followed:
        await until(lambda: len(followed.reported) == 3, how)
        assert followed.progress.error == ""
    assert followed.reported == [("ADDED", "a", 3), ("MODIFIED", "a", 8), ("MODIFIED", "a", 9)]
    assert watched_from(server) == [7, 8]
    assert lists(server) == 1
    assert followed.vanished == []


async def test_a_bookmark_moves_the_place_to_resume_from(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(version=7))
    server.on("WATCH", THINGS, watch(bookmark(100)), watch(bookmark(200), CUT), watch(SILENT))
    async with following(api):
        await until(lambda: len(server.asked("WATCH", THINGS)) == 3)
    assert watched_from(server) == [7, 100, 200]
    assert lists(server) == 1


async def test_a_line_may_come_in_many_pieces(server: Server, api: Api) -> None:
    whole = event("ADDED", thing("a", 8)) + event("ADDED", thing("b", 9))
    server.on("WATCH", THINGS, watch(*(whole[at : at + 7] for at in range(0, len(whole), 7)), SILENT))
    async with following(api) as followed:
        await until(lambda: followed.names == ["a", "b"])


@pytest.mark.parametrize(
    "answer",
    [watch(event("ERROR", GONE)), Answer(410, GONE), watch(bookmark(8), event("ERROR", GONE))],
    ids=["as an event", "as an answer", "after a bookmark"],
)
async def test_a_forgotten_place_is_a_new_list_which_says_what_vanished(
    server: Server, api: Api, answer: Answer
) -> None:
    server.on(
        "GET", THINGS, page(thing("a"), thing("b"), version=7), page(thing("b", 2), thing("c"), version=20)
    )
    server.on("WATCH", THINGS, answer, watch(SILENT))
    async with following(api) as followed:
        await until(lambda: len(watched_from(server)) == 2)
        assert followed.vanished == ["uid-a"]
        assert followed.names == ["a", "b", "b", "c"]
    assert watched_from(server) == [7, 20]
    assert lists(server) == 2


async def test_what_was_reported_to_be_gone_does_not_vanish_too(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(thing("a"), version=7), page(version=20))
    server.on("WATCH", THINGS, watch(event("DELETED", thing("a", 9)), event("ERROR", GONE)), watch(SILENT))
    async with following(api) as followed:
        await until(lambda: len(watched_from(server)) == 2)
    assert followed.vanished == []


async def test_what_appeared_in_a_watch_vanishes_like_anything_else(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(version=7), page(version=20))
    server.on("WATCH", THINGS, watch(event("ADDED", thing("a", 9)), event("ERROR", GONE)), watch(SILENT))
    async with following(api) as followed:
        await until(lambda: len(watched_from(server)) == 2)
    assert followed.vanished == ["uid-a"]


async def test_a_server_that_forgets_every_place_at_once_is_not_stormed(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(thing("a"), version=7))
    server.on("WATCH", THINGS, watch(event("ERROR", GONE)))
    async with following(api):
        await until(lambda: lists(server) == 5)
    assert are_at_least(gaps(server, "GET")[1:], [0.1, 0.2, 0.4])


async def test_a_server_that_ends_every_watch_at_once_is_not_stormed(server: Server, api: Api) -> None:
    server.on("WATCH", THINGS, watch())
    async with following(api):
        await until(lambda: len(watched_from(server)) == 5)
    assert are_at_least(gaps(server, "WATCH"), [0.1] * 4)


async def test_a_silent_socket_is_given_up(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(version=7))
    server.on("WATCH", THINGS, watch(bookmark(8), SILENT), watch(event("ADDED", thing("a", 9)), SILENT))
    async with following(api, patience=WatchPatience(silence=1.0)) as followed:
        await until(lambda: followed.names == ["a"])
        assert watched_from(server)[:2] == [7, 8]
    assert lists(server) == 1


async def test_a_socket_that_is_not_silent_is_kept(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(version=7))
    """It speaks for longer than it may be silent, and far more often than it must."""
    spoken, last = [piece for n in range(70) for piece in (0.05, bookmark(8 + n))], thing("a", 90)
    server.on("WATCH", THINGS, watch(*spoken, event("ADDED", last), SILENT))
    async with following(api, patience=WatchPatience(silence=3.0)) as followed:
        await until(lambda: followed.names == ["a"])
        assert len(watched_from(server)) == 1


async def test_an_open_watch_is_heard_of_by_its_bookmarks(server: Server, api: Api) -> None:
    server.on("WATCH", THINGS, watch(0.3, bookmark(8), SILENT))
    async with following(api) as followed:
        await until(lambda: bool(watched_from(server)))
        opened = followed.progress.heard
        await until(lambda: followed.progress.heard > opened + 0.2)


# ---- streamed lists ----------------------------------------------------------------------------------------


async def test_a_watch_may_begin_with_everything_and_goes_on(server: Server, api: Api) -> None:
    """A bookmark without the mark of the end is none, and what comes behind the end is no part of the list."""
    server.on(
        "STREAM",
        THINGS,
        watch(
            event("ADDED", thing("a", 3)),
            bookmark(5),
            event("ADDED", thing("b", 4)),
            end_of_list(7),
            event("MODIFIED", thing("a", 8)),
            SILENT,
        ),
    )
    async with following(api) as followed:
        await until(lambda: followed.names == ["a", "b", "a"])
        assert followed.progress.synced
    (opened,) = server.requests
    assert opened.query == {
        "labelSelector": "owner",
        "watch": "1",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "240",
    }
    assert (followed.progress.lists, followed.progress.watches, followed.vanished) == (1, 1, [])


async def test_a_streamed_list_is_not_complete_before_its_end(server: Server, api: Api) -> None:
    begun = event("ADDED", thing("a", 3)), bookmark(5), event("ADDED", thing("b", 6))
    server.on("STREAM", THINGS, watch(*begun, SILENT))
    async with following(api) as followed:
        await until(lambda: followed.names == ["a", "b"])
        assert not followed.progress.synced


async def test_a_streamed_watch_is_resumed_where_it_was(server: Server, api: Api) -> None:
    server.on(
        "STREAM",
        THINGS,
        watch(event("ADDED", thing("a", 3)), end_of_list(7), event("MODIFIED", thing("a", 8))),
    )
    server.on("WATCH", THINGS, watch(event("MODIFIED", thing("a", 9)), SILENT))
    async with following(api) as followed:
        await until(lambda: followed.names == ["a", "a", "a"])
    assert watched_from(server) == [8]
    assert lists(server) == 0


async def test_a_forgotten_place_is_a_new_streamed_list_which_says_what_vanished(
    server: Server, api: Api
) -> None:
    server.on(
        "STREAM",
        THINGS,
        watch(event("ADDED", thing("a")), event("ADDED", thing("b")), end_of_list(7), event("ERROR", GONE)),
        watch(event("ADDED", thing("b", 2)), end_of_list(20), SILENT),
    )
    async with following(api) as followed:
        await until(lambda: followed.progress.lists == 2 and followed.vanished == ["uid-a"])
    assert followed.names == ["a", "b", "b"]
    assert lists(server) == 0


BROKEN: dict[str, list[object]] = {
    "it ends": [],
    "it is cut": [CUT],
    "a line is no event": [b"[]\n"],
    "the server says 500": [event("ERROR", status(500, "etcd is tired"))],
    "nothing comes any more": [SILENT],
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_streamed_list_that_never_ends_is_one_of_pages_from_then_on(
    server: Server, api: Api, how: str
) -> None:
    """`a` was reported by the stream, and is gone when the list is made."""
    server.on("STREAM", THINGS, watch(event("ADDED", thing("a", 3)), *BROKEN[how]))
    server.on("GET", THINGS, page(thing("b", 4), version=7), page(thing("b", 4), version=20))
    server.on("WATCH", THINGS, watch(event("ERROR", GONE)), watch(SILENT))
    async with following(api, patience=WatchPatience(silence=1.0)) as followed:
        await until(lambda: 20 in watched_from(server))
        assert followed.vanished == ["uid-a"]
    assert (len(server.asked("STREAM", THINGS)), lists(server)) == (1, 2)


async def test_a_server_that_cannot_stream_is_asked_once(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(version=7), page(version=20))
    server.on("WATCH", THINGS, watch(event("ERROR", GONE)), watch(SILENT))
    async with following(api) as followed:
        await until(lambda: 20 in watched_from(server))
        assert followed.progress.failures == 0
    assert len(server.asked("STREAM", THINGS)) == 1


async def test_a_stream_that_could_not_be_opened_is_tried_again(server: Server, api: Api) -> None:
    server.on(
        "STREAM", THINGS, no(503), not_served(), watch(event("ADDED", thing("a", 3)), end_of_list(7), SILENT)
    )
    async with following(api) as followed:
        await until(lambda: followed.names == ["a"])
    assert lists(server) == 0


# ---- lists -------------------------------------------------------------------------------------------------


async def test_a_long_list_comes_page_by_page(server: Server, api: Api) -> None:
    server.on(
        "GET",
        THINGS,
        page(thing("a"), version=7, place="after-a"),
        page(thing("b"), version=7, place="after-b"),
        page(thing("c"), version=7),
    )
    async with following(api) as followed:
        await until(lambda: bool(watched_from(server)))
    assert followed.names == ["a", "b", "c"]
    assert [request.query.get("continue") for request in server.asked("GET", THINGS)] == [
        None,
        "after-a",
        "after-b",
    ]
    assert watched_from(server) == [7]


@pytest.mark.parametrize("trouble", [Answer(410, GONE), no(500), watch(b"{", CUT)], ids=["410", "500", "cut"])
async def test_a_list_that_breaks_off_midway_begins_again_and_forgets_nothing(
    server: Server, api: Api, trouble: Answer
) -> None:
    """`a` was reported by a list that was never finished, and is gone when the next one is made."""
    server.on(
        "GET",
        THINGS,
        page(thing("a"), thing("b"), version=7, place="after-b"),
        trouble,
        page(thing("b"), version=9, place="after-b"),
        page(thing("c"), version=9),
    )
    async with following(api) as followed:
        await until(lambda: bool(watched_from(server)))
        assert followed.vanished == ["uid-a"]
        assert followed.progress.lists == 2
    assert followed.names == ["a", "b", "b", "c"]
    assert watched_from(server) == [9]


async def test_a_429_on_a_list_is_waited_out(server: Server, api: Api) -> None:
    server.on("GET", THINGS, no(429, retry="1"), page(thing("a")))
    async with following(api) as followed:
        began = asyncio.get_running_loop().time()
        await until(lambda: bool(followed.reported))
        assert asyncio.get_running_loop().time() - began >= 1
        assert followed.progress.failures == 0


async def test_a_429_on_a_watch_is_waited_out_and_no_reason_to_list(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(version=7))
    server.on("WATCH", THINGS, no(429, retry="1"), watch(SILENT))
    async with following(api):
        began = asyncio.get_running_loop().time()
        await until(lambda: len(watched_from(server)) == 2)
        assert asyncio.get_running_loop().time() - began >= 1
    assert lists(server) == 1


ILL = {
    "500": no(500, "etcd is tired"),
    "503": Answer(503, "apiserver is starting"),
    "403": no(403, "things is forbidden", "Forbidden"),
    "no JSON": Answer(body="<html>"),
    "no list": Answer(body={}),
    "null": Answer(body="null"),
    "404": not_served(),
}


@pytest.mark.parametrize("how", ILL)
async def test_a_list_that_fails_is_tried_again_later_and_says_nothing_gone(
    server: Server, api: Api, how: str
) -> None:
    """Above all a 404, which an API server that is still starting may answer: it is no empty list."""
    server.on("GET", THINGS, page(thing("a"), version=7), ILL[how], ILL[how], page(thing("a"), version=9))
    server.on("WATCH", THINGS, watch(event("ERROR", GONE)), watch(SILENT))
    async with following(api) as followed:
        await until(lambda: followed.progress.failures == 2)
        assert followed.progress.error
        assert followed.vanished == []
        await until(lambda: len(watched_from(server)) == 2)
        assert (followed.progress.failures, followed.progress.error) == (0, "")
    assert followed.vanished == []
    assert followed.names == ["a", "a"]


async def test_a_kind_that_has_to_be_there_is_waited_for_and_said(server: Server, api: Api) -> None:
    server.on("GET", THINGS, *[not_served()] * 3, page(thing("a")))
    async with following(api) as followed:
        await until(lambda: followed.progress.failures > 0)
        assert followed.progress.error == "Thing example.org/v1 is not installed"
        assert not followed.progress.synced
        await until(lambda: followed.progress.synced)
    assert followed.names == ["a"]


async def test_a_kind_that_goes_while_it_is_watched_is_waited_for(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(thing("a"), version=7), page(thing("b"), version=9))
    server.on("WATCH", THINGS, watch(CUT), not_served(), watch(SILENT))
    async with following(api) as followed:
        await until(lambda: len(watched_from(server)) == 3)
        assert followed.vanished == ["uid-a"]


async def test_a_kind_that_may_be_absent_is_looked_for_again(server: Server, api: Api) -> None:
    server.on("GET", THINGS, not_served(), not_served(), page(thing("a"), version=7))
    async with following(api, OPTIONAL, WatchPatience(absent=0.2)) as followed:
        await until(lambda: followed.progress.synced)
        assert followed.progress.absent
        assert (followed.progress.failures, followed.progress.error) == (0, "")
        assert lists(server) == 1
        await until(lambda: followed.names == ["a"])
        assert not followed.progress.absent


async def test_a_kind_that_may_be_absent_and_is_not_served_for_a_while_loses_nothing(
    server: Server, api: Api
) -> None:
    server.on("GET", THINGS, page(thing("a"), version=7), not_served(), page(thing("a"), version=9))
    server.on("WATCH", THINGS, not_served(), watch(SILENT))
    async with following(api, OPTIONAL, WatchPatience(absent=0.1)) as followed:
        await until(lambda: len(watched_from(server)) == 2)
    assert followed.vanished == []


@pytest.mark.parametrize(("chance", "wanted"), [(0.0, [0.1, 0.2, 0.4, 0.8]), (0.999, [0.2, 0.4, 0.8])])
async def test_failures_are_further_and_further_apart_and_spread_by_chance(
    server: Server, api: Api, chance: float, wanted: list[float]
) -> None:
    server.on("GET", THINGS, no(500))
    async with following(api, chance=chance):
        await until(lambda: lists(server) == len(wanted) + 1)
    assert are_at_least(gaps(server, "GET"), wanted)


async def test_a_server_that_comes_back_on_its_port_is_reached_again(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(thing("a"), version=7))
    async with following(api) as followed:
        await until(lambda: bool(watched_from(server)))
        await server.stop()
        await until(lambda: followed.progress.failures >= 2)
        assert "cannot be reached" in followed.progress.error
        await server.start()
        await until(lambda: len(watched_from(server)) == 2)
        await until(lambda: followed.progress.error == "")
    assert watched_from(server) == [7, 7]
    assert lists(server) == 1


async def test_events_after_a_garbled_line_are_reported_by_the_next_watch(server: Server, api: Api) -> None:
    server.on("GET", THINGS, page(version=7))
    server.on(
        "WATCH",
        THINGS,
        watch(event("ADDED", thing("a", 8)), b"garbage\n", event("ADDED", thing("b", 9))),
        watch(event("ADDED", thing("b", 9)), SILENT),
    )
    async with following(api) as followed:
        await until(lambda: followed.names == ["a", "b"])
    assert watched_from(server) == [7, 8]


async def test_a_change_that_could_not_be_reported_is_reported_again(server: Server, api: Api) -> None:
    """Cancelled while telling, as when the process ends: the place must not have moved."""
    server.on("GET", THINGS, page(version=7))
    server.on("WATCH", THINGS, watch(event("ADDED", thing("a", 8)), SILENT))
    blocked = asyncio.Event()

    async def tell(_: Verb, __: Manifest) -> None:
        blocked.set()
        await asyncio.Event().wait()

    async def vanished(_: str) -> None: ...

    reflector = Reflector(api, SOURCE, tell, vanished, WatchProgress("Thing"))
    task: asyncio.Task[Any] = asyncio.create_task(reflector.run())
    await blocked.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert reflector._version == "7"
