"""RunEvents reach a lineage system over HTTP: whole, packed, with the key of the API, by the rules of web hooks."""

import asyncio
import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from projectors.contract.lineage.runs import run_events
from projectors.contract.page import PublicEvent
from projectors.contract.stream import Publisher
from projectors.sinks.lineage import lineage_sink
from projectors.sinks.port import Batch
from projectors.sinks.webhook import Moments, Receiver, WebHook
from statemachine.errors import ConfigError
from statemachine.log.port import Record
from statemachine.log.positions import SinkFailure, SinkPosition
from tests.contract.lives import PUBLICATION
from tests.support.scenario import Story, workers

URL = "https://marquez.example/base/"
NOW = datetime(2026, 1, 1, tzinfo=UTC)

Answers = Callable[[httpx.Request], httpx.Response]


def events(*uids: str) -> list[PublicEvent]:
    publisher = Publisher(PUBLICATION)
    stories = [Story(workers(1), uid=uid).submit().all_pods("Running") for uid in uids]
    records = (
        Record(seq, story.uid, seq, body) for story in stories for seq, body in enumerate(story.bodies, 1)
    )
    taken = [published for record in records if (published := publisher.take(record)) is not None]
    return [event for published in taken for event in run_events(published)]


def batch(*uids: str) -> Batch:
    return Batch(0, events(*uids), SinkPosition(1, {}, "1.0", ""))


class System:
    """A lineage system: a clock that sleeps move, requests, RunEvents that were taken, events that failed."""

    def __init__(self, answers: Answers) -> None:
        self.at, self._answers = NOW, answers
        self.requests: list[httpx.Request] = []
        self.taken: list[dict[str, object]] = []
        self.failures: list[SinkFailure] = []

    async def _failed(self, failure: SinkFailure) -> None:
        self.failures.append(failure)

    async def _sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        response = self._answers(request)
        if response.is_success:
            self.taken.append(json.loads(gzip.decompress(request.content)))
        return httpx.Response(response.status_code, stream=httpx.ByteStream(b""))

    def sink(self, *keys: Path, url: str = URL) -> WebHook:
        return lineage_sink(
            Receiver("lineage", url, keys),
            self._failed,
            moments=Moments(lambda: self.at, self._sleep, lambda: 0.5),
            transport=httpx.MockTransport(self._respond),
        )


async def test_run_events_go_out_packed_with_the_key_of_the_api(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a-key-1\n")
    system = System(lambda _: httpx.Response(201))
    sent = batch("a", "b")
    await system.sink(tmp_path / "key").deliver(sent)
    assert sorted(map(str, system.taken)) == sorted(str(json.loads(event.data)) for event in sent.events)
    assert {str(request.url) for request in system.requests} == {
        "https://marquez.example/base/api/v1/lineage"
    }
    assert {request.headers["authorization"] for request in system.requests} == {"Bearer a-key-1"}
    assert {request.headers["content-encoding"] for request in system.requests} == {"gzip"}
    assert {request.headers["content-type"] for request in system.requests} == {"application/json"}


async def test_a_system_without_a_key_gets_none() -> None:
    system = System(lambda _: httpx.Response(201))
    await system.sink().deliver(batch("a"))
    assert [request.headers.get("authorization") for request in system.requests] == [None, None]


async def test_a_key_that_is_replaced_is_used_at_once_and_one_that_is_gone_stays_in_use(
    tmp_path: Path,
) -> None:
    file = tmp_path / "key"
    file.write_text("one")
    said = iter([401, 401])

    def answers(_: httpx.Request) -> httpx.Response:
        status = next(said, 201)
        if status == 401:
            file.write_text("two") if file.read_text() == "one" else file.unlink()
        return httpx.Response(status)

    system = System(answers)
    await system.sink(file).deliver(batch("a"))
    keys = [request.headers["authorization"].removeprefix("Bearer ") for request in system.requests]
    assert keys == ["one", "two", "two", "two"]
    assert len(system.taken) == 2


async def test_a_system_that_is_away_for_days_gets_all_of_a_run_in_order() -> None:
    system = System(lambda _: httpx.Response(201 if system.at > NOW + timedelta(days=3) else 500))
    await system.sink().deliver(batch("a"))
    assert [event["eventType"] for event in system.taken] == ["OTHER", "START"]
    assert system.failures == []


async def test_a_run_event_that_is_refused_is_a_failure_and_the_next_one_goes_out() -> None:
    system = System(
        lambda request: httpx.Response(422 if b"OTHER" in gzip.decompress(request.content) else 201)
    )
    sent = batch("a")
    await system.sink().deliver(sent)
    assert [failure.event for failure in system.failures] == [sent.events[0].attributes["id"]]
    assert [event["eventType"] for event in system.taken] == ["START"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://marquez.example", "without TLS"),
        ("https://me:pw@marquez.example", "user or password"),
        ("https://marquez.example:x", "no URL"),
    ],
)
def test_a_wrong_address_is_refused(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refusal:
        System(lambda _: httpx.Response(201)).sink(url=url)
    assert "pw" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "two words", "a\x00b", "clé"])
def test_a_wrong_key_is_refused_without_a_quotation(tmp_path: Path, text: str) -> None:
    (tmp_path / "k").write_text(text)
    with pytest.raises(ConfigError, match="key file") as refusal:
        System(lambda _: httpx.Response(201)).sink(tmp_path / "k")
    assert not text or text not in str(refusal.value)


def test_there_is_one_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="one file with a key"):
        System(lambda _: httpx.Response(201)).sink(tmp_path / "a", tmp_path / "b")
