"""Asking servers of jobs: a real HTTP server answers as Flink's REST API does, or badly."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import create_server
from threading import Thread
from typing import Any, ClassVar

import pytest

from projectors.asking import LIMITS, Asking, ask
from statemachine import events as e
from statemachine.ids import CLUSTER_DOMAIN, JobUid, Seq
from statemachine.observations import ChildObserved, Observation
from statemachine.state import JobState, changed
from tests.support.scenario import UID
from tests.unit.kinds.beam import CLEAN_UP, NAME, BeamStory, launched, running, spec, submitted

ID = "c9f62e4d61d089f351ab1f8b29e1df32"
LATER = "0123456789abcdef0123456789abcdef"
OVERVIEW: dict[str, Any] = {
    "jobs": [
        {"jid": ID, "name": "words", "state": "RUNNING", "start-time": 1700000000000, "end-time": -1},
        {"jid": "not an id", "start-time": 1900000000000},
    ]
}


class Flink(BaseHTTPRequestHandler):
    """Answers as the test wants it to."""

    status, body, location = 200, b"", ""
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        Flink.asked.append(self.path)
        self.send_response(Flink.status)
        if Flink.location:
            self.send_header("Location", Flink.location)
        self.send_header("Content-Length", str(len(Flink.body)))
        self.end_headers()
        self.wfile.write(Flink.body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def flink(answer: object = OVERVIEW, status: int = 200, location: str = "") -> Iterator[str]:
    """The address of a server with this answer."""
    Flink.status, Flink.location, Flink.asked = status, location, []
    Flink.body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    with ThreadingHTTPServer(("127.0.0.1", 0), Flink) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class One:
    """The states of a log with one job, in a cluster whose Services have names."""

    def __init__(self, story: BeamStory) -> None:
        self.story = story

    def state(self, _: JobUid) -> JobState | None:
        return changed(self.story.state, settings={CLUSTER_DOMAIN: "cluster.local"})

    def seq(self, _: JobUid) -> Seq:
        return Seq(1)

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> None:
        return None

    async def fresh(self, _: JobUid) -> None:
        raise AssertionError


class Asker:
    """The projector, over a server at `address` instead of the Service's; what it observes, the story sees."""

    def __init__(self, story: BeamStory, address: str) -> None:
        self.story, self.address, self.urls = story, address, list[str]()
        self.projector = Asking(One(story), self.observe, self, self.reach)

    def now(self) -> datetime:
        return self.story.now

    async def observe(self, observation: Observation) -> None:
        assert isinstance(observation, ChildObserved)
        self.story.see(observation)

    async def reach(self, url: str) -> bytes:
        self.urls.append(url)
        return await ask(self.address + url.partition(":8081")[2])

    def visit(self) -> float | None:
        return asyncio.run(self.projector.visit(JobUid(UID)))


def test_the_id_of_the_program_becomes_its_address() -> None:
    with flink() as address:
        asker = Asker(running(), address)
        assert asker.story.status["jobURL"] == ""
        assert asker.visit() == 5.0
    assert asker.urls == [
        f"http://{NAME}-flinkcluster-jobmanager.{asker.story.state.namespace}.svc.cluster.local:8081/jobs/overview"
    ]
    assert asker.story.status["jobURL"] == (
        f"/t9k/flink-cluster/{NAME}-flinkcluster/namespace/{asker.story.state.namespace}/#/job/{ID}/overview/"
    )


def test_the_program_that_was_submitted_last_counts() -> None:
    later = {"jobs": [*OVERVIEW["jobs"], {"jid": LATER, "start-time": 1700000000001}]}
    with flink(later) as address:
        asker = Asker(running(), address)
        asker.visit()
    assert LATER in asker.story.status["jobURL"]


def test_what_is_known_already_is_not_observed_again() -> None:
    with flink() as address:
        asker = Asker(running(), address)
        asker.visit()
        entries = len(asker.story.entries)
        assert [asker.visit() for _ in range(5)] == [10.0, 20.0, 40.0, 60.0, 60.0]
    assert len(asker.story.entries) == entries


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"", 200),
        (b"<html>", 200),
        (b"\xff\xfe", 200),
        (b"null", 200),
        (b'{"jobs": 3}', 200),
        (b'{"jobs": [{"jid": 7}]}', 200),
        ({"jobs": []}, 200),
        (b"[" * 100_000, 200),
        (json.dumps(OVERVIEW).encode() + b" " * LIMITS.most_bytes, 200),
        (OVERVIEW, 404),
        (OVERVIEW, 503),
    ],
    ids=["empty", "no JSON", "no text", "null", "no list", "no id", "no job", "deep", "huge", "404", "503"],
)
def test_a_bad_answer_is_none_and_it_is_asked_later(answer: object, status: int) -> None:
    with flink(answer, status) as address:
        asker = Asker(running(), address)
        assert [asker.visit() for _ in range(6)] == [10.0, 20.0, 40.0, 60.0, 60.0, 60.0]
    assert asker.story.status["jobURL"] == ""


def test_a_redirect_is_not_followed() -> None:
    with flink(status=302, location="/elsewhere") as address:
        asker = Asker(running(), address)
        assert asker.visit() == 10.0
        assert Flink.asked == ["/jobs/overview"]


def test_a_server_that_is_down_is_asked_later() -> None:
    with flink() as address:
        pass
    asker = Asker(running(), address)
    assert asker.visit() == 10.0
    asker = Asker(running(), "http://no such host")
    assert asker.visit() == 10.0


def test_a_server_that_says_nothing_is_waited_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projectors.asking.LIMITS", LIMITS._replace(seconds=0.05))

    with create_server(("127.0.0.1", 0)) as server:
        assert Asker(running(), f"http://127.0.0.1:{server.getsockname()[1]}").visit() == 10.0


def test_nobody_is_asked_before_the_program_may_be_submitted() -> None:
    asker = Asker(submitted(), "")
    assert asker.visit() is None
    assert asker.urls == []


def test_after_the_end_it_is_asked_some_times_more_unless_the_cluster_goes() -> None:
    with flink({"jobs": []}) as address:
        asker = Asker(launched().job(ended="Complete"), address)
        waits = [asker.visit() for _ in range(6)]
    assert waits == [10.0, 20.0, 40.0, 60.0, 60.0, None]
    gone = Asker(launched(spec(**CLEAN_UP)).job(ended="Complete"), "")
    assert gone.visit() is None


def test_one_that_is_known_is_not_asked_for_after_the_end() -> None:
    with flink() as address:
        asker = Asker(launched().job(ended="Complete"), address)
        assert asker.visit() == 5.0
        assert asker.visit() is None
        assert len(asker.urls) == 1


def test_only_children_concern_it_and_nothing_is_urgent() -> None:
    asker = Asker(running(), "").projector
    assert asker.concerns([e.ChildChanged(kind="Job", name="x")])
    assert not asker.concerns([e.Announced(reason="Start", message="")])
    assert not asker.is_urgent([e.ChildChanged(kind="Job", name="x")])
