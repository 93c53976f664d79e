"""`/v1/events`: pages, cursors, filters, rights, and the stream of server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from jobledger.api import create
from jobledger.api.public_events import AT_END, BATCH, CURSOR, LINES, LIVE, MOST_STREAMS
from jobledger.publishing.projected import Naming
from jobledger.service.app import App
from jobledger.web.reviews import Reviews
from jobledger.wiring import running
from projectors.contract.envelope import problem, structured
from projectors.contract.publication import Publication
from statemachine.engine.clock import WallClock
from statemachine.log.port import EntryDraft
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story, workers
from tests.unit.api.kubernetes import FakeReviews, Rule
from tests.unit.contract.made import of_story

ID = "0a1b2c3d-0000-4000-8000-000000000000"
BASE = "http://localhost"


async def named() -> Naming:
    return Naming(ID, Publication("prod-1"))


def story(name: str, uid: str, namespace: str = "demo", **labels: str) -> Story:
    made = Story(workers(2), name=name, uid=uid, namespace=namespace)
    made.labels = labels
    return made.submit().all_pods("Running")


def failed() -> Story:
    running = story("mnist", "aaaa-1111", team="a").edit(runPolicy={"backoffLimit": 0})
    return running.pod("worker-0", "Failed", exit_code=3)


STORIES = (failed(), story("digits", "bbbb-2222", "other", team="b"))


async def write(log: MemoryLog, *stories: Story) -> None:
    for job in stories:
        await log.append([EntryDraft(job.uid, seq, body) for seq, body in enumerate(job.bodies, 1)])


@asynccontextmanager
async def served(
    *stories: Story, reviews: FakeReviews | None = None
) -> AsyncIterator[tuple[httpx.AsyncClient, MemoryLog, FastAPI]]:
    """A client of a server whose log holds these jobs; the cluster has none of them."""
    log = MemoryLog()
    await write(log, *(stories or STORIES))
    controller = controller_of(log, MemoryCluster(), WallClock(), roles=frozenset())
    app = App(controller)
    async with running(controller):
        api = create(app, None, Reviews(reviews) if reviews else None, named=named)
        transport = httpx.ASGITransport(api, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            yield client, log, api
    await app.cluster.close()


def expected(*stories: Story) -> list[bytes]:
    return [structured(event) for job in stories for event in of_story(job, Publication("prod-1"))]


def ids(events: Sequence[dict[str, Any]]) -> list[str]:
    return [event["id"] for event in events]


async def test_a_page_is_a_batch_of_events_that_fit_their_schemas() -> None:
    async with served() as (client, _, _):
        answer = await client.get("/v1/events")
        assert answer.headers["content-type"] == BATCH
        assert answer.content == b"[" + b",".join(expected(*STORIES)) + b"]"
        for event in answer.json():
            assert not problem(json.dumps(event).encode())


async def test_lines_are_the_same_events() -> None:
    async with served() as (client, _, _):
        answer = await client.get("/v1/events", headers={"Accept": LINES})
        assert answer.headers["content-type"].startswith(LINES)
        assert answer.content.splitlines() == expected(*STORIES)


@pytest.mark.parametrize("limit", [1, 3, 7, 1000])
async def test_pages_one_behind_the_other_are_the_whole_without_a_gap(limit: int) -> None:
    async with served() as (client, _, _):
        lines: list[bytes] = []
        address, at_end = f"/v1/events?limit={limit}", "false"
        while at_end == "false":
            answer = await client.get(address, headers={"Accept": LINES})
            assert answer.status_code == 200, answer.text
            lines += answer.content.splitlines()
            assert len(answer.content.splitlines()) <= limit
            at_end = answer.headers[AT_END]
            link = answer.headers["Link"]
            assert link.endswith('; rel="next"')
            assert f"after={answer.headers[CURSOR]}" in link
            address = link[1 : link.index(">")]
        assert lines == expected(*STORIES)


async def test_a_cursor_of_a_server_before_is_one_of_the_next() -> None:
    async with served() as (client, _, _):
        cursor = (await client.get("/v1/events?limit=5")).headers[CURSOR]
    async with served() as (client, _, _):
        rest = await client.get(f"/v1/events?after={cursor}", headers={"Accept": LINES})
        assert rest.content.splitlines() == expected(*STORIES)[5:]


async def test_a_cursor_of_the_topic_goes_on_before_the_entry_that_it_names() -> None:
    async with served() as (client, log, _):
        whole = (await client.get("/v1/events", headers={"Accept": LINES})).content.splitlines()
        position = await log.end()
        rest = await client.get(f"/v1/events?after=2-0a1b2c3d-17.{position}", headers={"Accept": LINES})
        last = [line for line in whole if json.loads(line)["data"]["entry"]["seq"] == len(STORIES[1].bodies)]
        assert rest.content.splitlines() == [line for line in last if b"/digits" in line or b"digits" in line]
        refused = await client.get("/v1/events?after=2-0a1b2c3d-17")
        assert (refused.status_code, refused.json()["code"]) == (410, "cursor-of-a-topic")
        assert "and here the log is read" in refused.json()["detail"]
        begun = await client.get("/v1/events?after=2-0a1b2c3d-0", headers={"Accept": LINES})
        assert begun.content.splitlines() == whole


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("type=job.failed", lambda event: event["type"].endswith("job.failed.v1")),
        (
            "type=job.failed&type=replica.*",
            lambda event: event["subject"] != event["name"] or "failed" in event["type"],
        ),
        ("namespace=other", lambda event: event["namespace"] == "other"),
        ("kind=pytorchtrainingjobs", lambda event: True),
        ("kind=deepspeedjob", lambda event: False),
        ("job=digits", lambda event: event["name"] == "digits"),
        ("job=other/digits", lambda event: event["name"] == "digits"),
        ("job=demo/digits", lambda event: False),
        ("job=bbbb", lambda event: event["name"] == "digits"),
        ("labelSelector=team%3Da", lambda event: event["name"] == "mnist"),
        ("labelSelector=!team", lambda event: False),
        ("severity=warn", lambda event: event["severitynumber"] >= 13),
        ("severity=ERROR", lambda event: event["severitynumber"] == 17),
    ],
)
async def test_a_filter_leaves_what_it_says(query: str, chosen: Any) -> None:
    async with served() as (client, _, _):
        whole = [json.loads(line) for line in expected(*STORIES)]
        answer = await client.get(f"/v1/events?{query}")
        assert answer.json() == [event for event in whole if chosen(event)]


async def test_labels_are_those_that_the_job_has_now() -> None:
    relabelled = story("mnist", "aaaa-1111", team="a").label(team="b")
    async with served(relabelled) as (client, _, _):
        assert (await client.get("/v1/events?labelSelector=team%3Da")).json() == []
        assert len((await client.get("/v1/events?labelSelector=team%3Db")).json()) == len(
            expected(relabelled)
        )


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("after=yesterday", '"yesterday" is no place to begin'),
        ("after=1-0a1b2c3d-", "is no place to begin"),
        ("after=1-0a1b2c3d-1.2.3", "is no place to begin"),
        ("after=3-0a1b2c3d-1", "is no place to begin"),
        ("after=2024-99-01T00:00:00Z", "is no place to begin"),
        ("limit=0", "limit: "),
        ("limit=1001", "limit: "),
        ("wait=61", "wait: "),
        ("type=job.nothing", '"job.nothing" is no type of public event'),
        ("kind=cronjob", 'there is no kind of job called "cronjob"'),
        ("severity=loud", '"loud" is no severity: it is one of INFO, WARN, ERROR'),
        ("labelSelector=a(", "is no label selector"),
    ],
)
async def test_what_means_nothing_is_a_bad_request(query: str, sentence: str) -> None:
    async with served() as (client, _, _):
        answer = await client.get(f"/v1/events?{query}")
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
        assert sentence in answer.json()["detail"]


@pytest.mark.parametrize("cursor", ["1-ffffffff-1", "1-0a1b2c3d-1_1", "1-0a1b2c3d-99999"])
async def test_a_cursor_of_another_ledger_is_gone(cursor: str) -> None:
    async with served() as (client, _, _):
        answer = await client.get(f"/v1/events?after={cursor}")
        assert (answer.status_code, answer.json()["code"]) == (410, "cursor-of-another-ledger")


async def test_after_a_time_come_events_that_were_recorded_then_or_later() -> None:
    early, late = story("a", "aaaa-1111"), Story(workers(1), uid="bbbb-2222").at(600).submit()
    async with served(early, late) as (client, _, _):
        answer = await client.get("/v1/events?after=2024-01-09T15:10:00Z", headers={"Accept": LINES})
        assert answer.content.splitlines() == expected(late)


async def test_a_page_waits_at_the_end_for_what_comes() -> None:
    new = story("late", "cccc-3333")
    async with served() as (client, log, _):
        cursor = (await client.get("/v1/events?after=end")).headers[CURSOR]
        asked = client.get(f"/v1/events?after={cursor}&wait=60", headers={"Accept": LINES})
        waiting = asyncio.create_task(asked)
        for _ in range(300):  # more turns than an answer takes that waits for nothing
            await asyncio.sleep(0)
        assert not waiting.done()
        await write(log, new)
        lines = (await waiting).content.splitlines()
        assert lines
        assert lines == expected(new)[: len(lines)]


async def test_without_waiting_the_end_is_an_empty_page_with_the_same_cursor() -> None:
    async with served() as (client, _, _):
        end = await client.get("/v1/events?after=end")
        again = await client.get(f"/v1/events?after={end.headers[CURSOR]}")
        assert (end.json(), again.json()) == ([], [])
        assert end.headers[CURSOR] == again.headers[CURSOR]
        assert again.headers[AT_END] == "true"


# ---- rights ------------------------------------------------------------------------------------------------


def only_in(namespace: str) -> Rule:
    return lambda asked: asked["verb"] == "list" and asked["namespace"] == namespace


async def test_events_of_namespaces_without_the_right_to_list_are_passed_over() -> None:
    fake = FakeReviews({"alices": "alice", "bobs": "bob"}, alice=only_in("other"))
    async with served(reviews=fake) as (client, _, _):
        headers = {"Authorization": "Bearer alices", "Accept": LINES}
        alices = await client.get("/v1/events", headers=headers)
        assert alices.content.splitlines() == expected(STORIES[1])
        bobs = await client.get("/v1/events", headers={"Authorization": "Bearer bobs"})
        assert (bobs.status_code, bobs.json()) == (200, [])
        assert bobs.headers[AT_END] == "true"
        assert (await client.get("/v1/events")).status_code == 401


async def test_an_event_of_a_kind_without_the_right_to_list_is_passed_over() -> None:
    fake = FakeReviews({"alices": "alice"}, alice=lambda asked: asked["resource"] == "deepspeedjobs")
    async with served(reviews=fake) as (client, _, _):
        assert (await client.get("/v1/events", headers={"Authorization": "Bearer alices"})).json() == []


# ---- server-sent events ------------------------------------------------------------------------------------


class Listener:
    """Reads blocks of a stream that an ASGI application sends; `httpx.ASGITransport` would wait for its end."""

    def __init__(self, api: FastAPI, query: str = "", **headers: str) -> None:
        self._sent: asyncio.Queue[bytes] = asyncio.Queue()
        self.status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._gone = asyncio.Event()
        said = {"host": "localhost", "accept": LIVE, **headers}
        self._scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/events",
            "raw_path": b"/v1/events",
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in said.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }
        self._task = asyncio.create_task(api(self._scope, self._receive, self._send))
        self._asked = False
        self.cursor = ""

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status.set_result(message["status"])
        elif message.get("body"):
            await self._sent.put(message["body"])

    async def blocks(self) -> AsyncIterator[dict[str, str]]:
        rest = b""
        while True:
            rest += await self._sent.get()
            *whole, rest = rest.split(b"\n\n")
            for block in whole:
                fields = dict(line.split(": ", 1) for line in block.decode().split("\n"))
                self.cursor = fields.get("id", self.cursor)
                yield fields

    async def events(self, count: int) -> list[str]:
        """The data of so many events."""
        data: list[str] = []
        async with asyncio.timeout(60):
            async for block in self.blocks():
                if "data" in block:
                    assert block["event"] == json.loads(block["data"])["type"]
                    data.append(block["data"])
                if len(data) >= count:
                    return data
        raise AssertionError("the stream ended")

    async def leave(self) -> None:
        self._gone.set()
        await self._task

    async def end(self) -> None:
        await self._task


async def test_a_stream_gives_what_is_there_and_then_what_comes() -> None:
    new = story("late", "cccc-3333")
    async with served() as (_, log, api):
        listener = Listener(api)
        assert [text.encode() for text in await listener.events(len(expected(*STORIES)))] == expected(
            *STORIES
        )
        await write(log, new)
        assert [text.encode() for text in await listener.events(len(expected(new)))] == expected(new)
        await listener.leave()


async def test_a_stream_goes_on_behind_the_last_event_id() -> None:
    async with served() as (_, _, api):
        first = Listener(api)
        await first.events(4)
        everything, cursors = expected(*STORIES), []
        again = Listener(api)
        async for block in again.blocks():
            if "data" in block:
                cursors.append(block["id"])
            if len(cursors) == len(everything):
                break
        for number in (0, 3, len(everything) - 2):
            resumed = Listener(api, "after=beginning", **{"last-event-id": cursors[number]})
            assert (await resumed.events(1))[0].encode() == everything[number + 1]
            await resumed.leave()
        await first.leave()
        await again.leave()


async def test_a_caller_has_sixteen_streams_and_not_one_more() -> None:
    fake = FakeReviews({"alices": "alice", "bobs": "bob"}, alice=lambda _: True, bob=lambda _: True)
    async with served(reviews=fake) as (_, _, api):
        alices = [Listener(api, authorization="Bearer alices") for _ in range(MOST_STREAMS)]
        assert [await listener.status for listener in alices] == [200] * MOST_STREAMS
        refused = Listener(api, authorization="Bearer alices")
        assert await refused.status == 429
        await refused.end()
        bobs = Listener(api, authorization="Bearer bobs")
        assert await bobs.status == 200
        await alices.pop().leave()
        another = Listener(api, authorization="Bearer alices")
        assert await another.status == 200
        for listener in (*alices, bobs, another):
            await listener.leave()


async def test_a_stream_ends_when_the_server_does() -> None:
    async with served() as (_, _, api):
        listener = Listener(api)
        await listener.events(1)
        api.state.console.closing.close()
        async with asyncio.timeout(60):
            await listener.end()
