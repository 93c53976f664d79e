"""A web hook signs what it sends, waits for its receiver, keeps the order of a job, and loses nothing silently."""

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks import Webhook

from projectors.contract.page import PublicEvent
from projectors.contract.stream import Publisher
from projectors.sinks.feeding import Feeder
from projectors.sinks.port import Batch
from projectors.sinks.schedule import asked_wait, away_wait
from projectors.sinks.signing import Keys, key
from projectors.sinks.webhook import Moments, Receiver, SinkDisabled, WebHook
from statemachine.errors import ConfigError
from statemachine.log.port import EntryDraft, Record
from statemachine.log.positions import SinkFailure, SinkPosition
from tests.contract.lives import PUBLICATION
from tests.support.memory_log import MemoryLog
from tests.support.repetition import sized
from tests.support.scenario import Story, workers
from tests.support.seeds import chance
from tests.support.simulated import on_simulated_time

URL = "https://hooks.example/path-secret"
NOW = datetime(2026, 1, 1, tzinfo=UTC)

Answers = Callable[[httpx.Request], httpx.Response]


def secret(fill: bytes) -> str:
    return "whsec_" + base64.b64encode(fill * 32).decode()


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, ...]:
    (tmp_path / "k1").write_text(secret(b"a") + "\n")
    return (tmp_path / "k1",)


def events(*uids: str) -> list[PublicEvent]:
    """Of jobs that run, one job's among the other's."""
    stories = [Story(workers(1), uid=uid).submit().all_pods("Running") for uid in uids]
    records = sorted(
        (Record(seq, story.uid, seq, body) for story in stories for seq, body in enumerate(story.bodies, 1)),
        key=lambda record: record.seq,
    )
    return list(Publisher(PUBLICATION).all(iter(records)))


def batch(published: Sequence[PublicEvent]) -> Batch:
    return Batch(0, published, SinkPosition(1, {}, "1.0", ""))


def ids(published: Sequence[PublicEvent]) -> list[str]:
    return [str(event.attributes["id"]) for event in published]


async def ignored(_: SinkFailure) -> None:
    """No failure is expected."""


class Slow(httpx.AsyncByteStream):
    """A body of which a byte comes every few seconds, without an end."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"."
            await asyncio.sleep(3)


class Simulated:
    """A clock that sleeps move, and the requests that came."""

    def __init__(self) -> None:
        self.at = NOW
        self.waits: list[float] = []
        self.requests: list[httpx.Request] = []
        self.delivered: list[str] = []
        self.failures: list[SinkFailure] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.at += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def hook(self, answers: Answers, receiver: Receiver) -> WebHook:
        def respond(request: httpx.Request) -> httpx.Response:
            self.requests.append(request)
            response = answers(request)
            if response.is_success and request.method == "POST":
                self.delivered.append(request.headers["webhook-id"])
            if isinstance(response.stream, Slow):
                return response
            return httpx.Response(
                response.status_code, headers=response.headers, stream=httpx.ByteStream(response.content)
            )

        async def failed(failure: SinkFailure) -> None:
            self.failures.append(failure)

        moments = Moments(lambda: self.at, self.sleep, lambda: 0.5)
        return WebHook(receiver, failed, moments=moments, transport=httpx.MockTransport(respond))


# ---- signatures --------------------------------------------------------------------------------------------------


def test_a_secret_signs_as_the_reference_library_does() -> None:
    signer = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    content = b'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}'
    assert signer.sign(content) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_every_key_signs_and_a_replaced_file_is_used_at_once(tmp_path: Path) -> None:
    private = Ed25519PrivateKey.from_private_bytes(b"s" * 32)
    (tmp_path / "old").write_text(secret(b"a"))
    (tmp_path / "new").write_text("whsk_" + base64.b64encode(b"s" * 32).decode())
    used = Keys([tmp_path / "old", tmp_path / "new"])
    shared, own = used.signature("u/1/0", 7, b"{}").split()
    assert shared == "v1," + base64.b64encode(hmac.digest(b"a" * 32, b"u/1/0.7.{}", hashlib.sha256)).decode()
    private.public_key().verify(base64.b64decode(own.removeprefix("v1a,")), b"u/1/0.7.{}")
    (tmp_path / "old").write_text(secret(b"b"))
    renewed = used.signature("u/1/0", 7, b"{}")
    assert renewed.split()[0] != shared
    (tmp_path / "old").unlink()
    assert used.signature("u/1/0", 7, b"{}") == renewed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hunter2-hunter2", "must begin with whsec_"),
        ("whsec_hunter2!", "must hold base64"),
        ("whsec_" + base64.b64encode(b"a" * 23).decode(), "24 to 64 bytes"),
        ("whsec_" + base64.b64encode(b"a" * 65).decode(), "24 to 64 bytes"),
        ("whsk_" + base64.b64encode(b"a" * 31).decode(), "32 or 64 bytes"),
    ],
)
def test_a_wrong_key_is_refused_without_a_quotation(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "k").write_text(text)
    with pytest.raises(ConfigError, match=words) as refusal:
        Keys([tmp_path / "k"])
    assert text.removeprefix("whsec_")[:6] not in str(refusal.value).replace(str(tmp_path), "")


# ---- addresses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://hooks.example/x", "without TLS"),
        ("ftp://hooks.example", "begins with https://"),
        ("hooks.example", "begins with https://"),
        ("https://me:pw@hooks.example/x", "user or password"),
        *(
            (f"https://hooks.example:{port}/x", "ports are numbers from 1 to 65535")
            for port in (-1, 0, 65536)
        ),
        ("https://[::1]:65536", "ports are numbers from 1 to 65535"),
    ],
)
def test_a_wrong_address_is_refused(keys: tuple[Path, ...], url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        WebHook(Receiver("pager", url, keys), ignored)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://[::1]/x", "http://localhost/x"])
async def test_this_machine_needs_no_tls(keys: tuple[Path, ...], url: str) -> None:
    await WebHook(Receiver("pager", url, keys), ignored).close()


async def test_insecure_allows_another_machine_without_tls(keys: tuple[Path, ...]) -> None:
    await WebHook(Receiver("pager", "http://hooks.example", keys, insecure=True), ignored).close()


# ---- waits -------------------------------------------------------------------------------------------------------


def test_waits_grow_to_ten_minutes_give_or_take_a_fifth() -> None:
    assert [away_wait(attempts, 0.5) for attempts in range(1, 8)] == [5, 15, 60, 300, 600, 600, 600]
    assert [away_wait(5, chance) for chance in (0.0, 1.0)] == pytest.approx([480, 720])


@pytest.mark.parametrize(
    ("status", "text", "wait"),
    [
        (429, "30", 30),
        (503, "999999999999", 3600),
        (503, "Thu, 01 Jan 2026 00:02:00 GMT", 120),
        (503, "Wed, 31 Dec 2025 00:00:00 GMT", 0),
        (429, "soon", None),
        (429, "", None),
        (500, "30", None),
    ],
)
def test_a_receiver_may_ask_for_a_wait(status: int, text: str, wait: float | None) -> None:
    assert asked_wait(status, text, NOW) == wait


# ---- delivery ----------------------------------------------------------------------------------------------------


async def test_events_go_out_whole_signed_and_in_order(keys: tuple[Path, ...]) -> None:
    simulated, published = Simulated(), events("a", "b", "c")
    hook = simulated.hook(lambda _: httpx.Response(204), Receiver("pager", URL, keys, concurrency=2))
    await hook.deliver(batch(published))
    assert simulated.failures == []
    assert sorted(simulated.delivered) == sorted(ids(published))
    for uid in "abc":
        assert [id_ for id_ in simulated.delivered if id_[0] == uid] == [
            id_ for id_ in ids(published) if id_[0] == uid
        ]
    request = simulated.requests[0]
    content = b"%b.%b.%b" % (
        request.headers["webhook-id"].encode(),
        request.headers["webhook-timestamp"].encode(),
        request.content,
    )
    assert request.headers["webhook-signature"] == key(keys[0].read_text()).sign(content)
    assert request.headers["content-type"] == "application/cloudevents+json"
    assert json.loads(request.content)["id"] == request.headers["webhook-id"]


async def test_three_days_without_a_receiver_lose_nothing(keys: tuple[Path, ...]) -> None:
    simulated, published = Simulated(), events("a", "b")

    def answers(_: httpx.Request) -> httpx.Response:
        if simulated.at < NOW + timedelta(days=3):
            raise httpx.ConnectError("path-secret")
        return httpx.Response(200)

    hook = simulated.hook(answers, Receiver("pager", URL, keys, concurrency=1))
    await hook.deliver(batch(published))
    assert simulated.failures == []
    assert simulated.delivered == sorted(ids(published), key=lambda id_: id_[0])
    assert simulated.waits[:5] == [5, 15, 60, 300, 600]
    assert max(simulated.waits) == 600


@pytest.mark.parametrize("status", [302, 404, 500, 503])
async def test_any_other_answer_means_later(keys: tuple[Path, ...], status: int) -> None:
    simulated, published = Simulated(), events("a")
    said = iter([status])
    hook = simulated.hook(
        lambda _: httpx.Response(next(said, 200), headers={"location": "https://elsewhere.example"}),
        Receiver("pager", URL, keys),
    )
    await hook.deliver(batch(published))
    assert simulated.failures == []
    assert (simulated.waits, simulated.delivered) == ([5], ids(published))
    assert {request.url.host for request in simulated.requests} == {"hooks.example"}


async def test_a_receiver_that_asks_for_a_wait_gets_it(keys: tuple[Path, ...]) -> None:
    simulated, said = Simulated(), iter([429])
    hook = simulated.hook(
        lambda _: httpx.Response(next(said, 200), headers={"retry-after": "42"}),
        Receiver("pager", URL, keys),
    )
    await hook.deliver(batch(events("a")))
    assert simulated.waits == [42]


@pytest.mark.parametrize("status", [400, 413, 415, 422])
async def test_a_refused_event_is_a_failure_and_the_next_one_goes_out(
    keys: tuple[Path, ...], status: int
) -> None:
    simulated, published = Simulated(), events("a")
    refused = ids(published)[1]
    hook = simulated.hook(
        lambda request: httpx.Response(status if request.headers["webhook-id"] == refused else 200),
        Receiver("pager", URL, keys),
    )
    await hook.deliver(batch(published))
    (failure,) = simulated.failures
    assert (failure.event, failure.attempts, failure.error) == (refused, 3, f"the receiver answered {status}")
    assert (failure.first, failure.last) == ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:01:05.000000Z")
    assert simulated.delivered == [id_ for id_ in ids(published) if id_ != refused]


async def test_an_event_is_given_up_after_the_time_that_is_set(keys: tuple[Path, ...]) -> None:
    simulated, published = Simulated(), events("a")
    receiver = Receiver("pager", URL, keys, give_up_after=timedelta(minutes=1))
    await simulated.hook(lambda _: httpx.Response(500), receiver).deliver(batch(published))
    assert [failure.event for failure in simulated.failures] == ids(published)
    assert {failure.attempts for failure in simulated.failures} == {4}


@on_simulated_time
async def test_an_answer_whose_body_has_no_end_counts_by_its_status(tmp_path: Path) -> None:
    (tmp_path / "k1").write_text(secret(b"a"))
    simulated, published, said = Simulated(), events("a"), iter([500])
    hook = simulated.hook(
        lambda _: httpx.Response(next(said, 200), stream=Slow()),
        Receiver("pager", URL, (tmp_path / "k1",)),
    )
    await hook.deliver(batch(published))
    assert (simulated.waits, simulated.delivered) == ([5], ids(published))
    assert len(simulated.requests) == len(published) + 1


async def test_410_disables_the_sink(keys: tuple[Path, ...]) -> None:
    simulated = Simulated()
    hook = simulated.hook(lambda _: httpx.Response(410), Receiver("pager", URL, keys, concurrency=1))
    with pytest.raises(SinkDisabled, match="410"):
        await hook.deliver(batch(events("a", "b")))
    assert len(simulated.requests) == 1


async def test_log_lines_hold_neither_keys_nor_address(
    keys: tuple[Path, ...], caplog: pytest.LogCaptureFixture
) -> None:
    simulated, said = Simulated(), iter([500, 422, 422, 422])
    hook = simulated.hook(
        lambda _: httpx.Response(next(said, 200), text="answer-secret"), Receiver("pager", URL, keys)
    )
    with caplog.at_level(logging.DEBUG, logger="projectors"):
        await hook.deliver(batch(events("a")))
    lines = [str(vars(record)) for record in caplog.records]
    assert len(lines) == 3
    for word in ("path-secret", "answer-secret", keys[0].read_text().strip()[6:]):
        assert not any(word in line for line in lines)


# ---- leave to deliver --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allowed", ["*", "prod-1.example"])
async def test_a_receiver_that_is_asked_gets_events_once_it_allows_them(
    keys: tuple[Path, ...], allowed: str
) -> None:
    answers = iter(
        [
            httpx.Response(405),
            httpx.Response(200),
            httpx.Response(200, headers={"WebHook-Allowed-Origin": "other.example"}),
            httpx.Response(503, headers={"Retry-After": "7"}),
            httpx.Response(204, headers={"WebHook-Allowed-Origin": allowed}),
        ]
    )
    simulated, published = Simulated(), events("a", "b")
    receiver = Receiver("pager", URL, keys, origin="prod-1.example")
    hook = simulated.hook(
        lambda request: next(answers) if request.method == "OPTIONS" else httpx.Response(200), receiver
    )
    await hook.deliver(batch(published))
    await hook.deliver(batch(published))
    asked = [request for request in simulated.requests if request.method == "OPTIONS"]
    assert simulated.requests[:5] == asked
    assert {request.headers["WebHook-Request-Origin"] for request in asked} == {"prod-1.example"}
    assert not any(request.content for request in asked)
    assert len(simulated.requests) == 5 + 2 * len(published)
    assert simulated.waits == [5.0, 15.0, 60.0, 7.0]
    assert sorted(simulated.delivered) == sorted(ids(published) * 2)


async def test_a_receiver_that_is_not_asked_gets_no_question(keys: tuple[Path, ...]) -> None:
    simulated = Simulated()
    await simulated.hook(lambda _: httpx.Response(200), Receiver("pager", URL, keys)).deliver(
        batch(events("a"))
    )
    assert {request.method for request in simulated.requests} == {"POST"}


async def test_a_receiver_that_is_asked_may_want_nothing_ever(keys: tuple[Path, ...]) -> None:
    simulated = Simulated()
    hook = simulated.hook(lambda _: httpx.Response(410), Receiver("pager", URL, keys, origin="x"))
    with pytest.raises(SinkDisabled, match="410"):
        await hook.deliver(batch(events("a")))
    assert [request.method for request in simulated.requests] == ["OPTIONS"]


async def test_a_single_attempt_asks_and_says_why_not(keys: tuple[Path, ...]) -> None:
    simulated = Simulated()
    hook = simulated.hook(lambda _: httpx.Response(200), Receiver("pager", URL, keys, origin="x"))
    assert await hook.attempt(events("a")[0]) == "the receiver does not allow events of x"
    assert [request.method for request in simulated.requests] == ["OPTIONS"]


# ---- a hostile receiver, and one that is away for days -----------------------------------------------------------

HOSTILE = sized(60, 1_500)
"""Jobs with seven events each whose receiver is hostile; at full size 10,500 events."""


async def _lives(count: int) -> MemoryLog:
    """A log of so many jobs, whose entries stand among each other's."""
    log = MemoryLog()
    stories = [Story(workers(1), uid=f"job-{number}").submit().all_pods("Running") for number in range(count)]
    for seq in range(1, max(len(story.bodies) for story in stories) + 1):
        for story in stories:
            if seq <= len(story.bodies):
                await log.append([EntryDraft(story.uid, seq, story.bodies[seq - 1])])
    return log


async def _all_ids(log: MemoryLog) -> list[str]:
    records = [record async for page in log.scan() for record in page]
    return ids(list(Publisher(PUBLICATION).all(iter(records))))


def _by_job(delivered: Sequence[str]) -> dict[str, list[str]]:
    """The first delivery of every event, job by job."""
    jobs: dict[str, list[str]] = {}
    for id_ in dict.fromkeys(delivered):
        jobs.setdefault(id_.partition("/")[0], []).append(id_)
    return jobs


@on_simulated_time
async def test_a_hostile_receiver_loses_nothing_silently_and_can_verify_everything(tmp_path: Path) -> None:
    """Every event is delivered or a failure, in the order of its job, signed by the keys of its time (E12)."""
    old, new = secret(b"o"), secret(b"n")
    (tmp_path / "k1").write_text(old)
    log, random, simulated = await _lives(HOSTILE), chance(12), Simulated()
    expected = await _all_ids(log)
    used: list[str] = []

    def answers(request: httpx.Request) -> httpx.Response:
        id_, stamp = request.headers["webhook-id"], int(request.headers["webhook-timestamp"])
        at = datetime.fromtimestamp(stamp, UTC)
        fitting = [
            key_
            for key_ in (old, new)
            if Webhook(key_).sign(id_, at, request.content.decode())
            in request.headers["webhook-signature"].split()
        ]
        assert len(fitting) == 1
        used.extend(fitting)
        if len(used) == 400:
            (tmp_path / "k1").write_text(new)
        if json.loads(request.content)["type"] == "dev.jobledger.replica.pending.v1":
            return httpx.Response(422)
        match random.randrange(12):
            case 0:
                raise httpx.ReadTimeout("no answer")
            case 1:
                raise httpx.ConnectError("the certificate is another's")
            case 2:
                return httpx.Response(500)
            case 3:
                return httpx.Response(302, headers={"location": "https://elsewhere.example"})
            case 4:
                return httpx.Response(429, headers={"retry-after": str(random.randrange(100))})
            case 5:
                return httpx.Response(random.choice((200, 500)), stream=Slow())
            case _:
                return httpx.Response(200)

    hook = simulated.hook(answers, Receiver("pager", URL, (tmp_path / "k1",)))
    await Feeder(log, 0, hook, PUBLICATION).advance()
    failed = [failure.event for failure in simulated.failures]
    assert sorted({*simulated.delivered, *failed}) == sorted(expected)
    assert {*simulated.delivered}.isdisjoint(failed)
    assert len(failed) == HOSTILE
    order = _by_job(expected)
    for job, own in _by_job(simulated.delivered).items():
        assert own == [id_ for id_ in order[job] if id_ not in failed]
    assert {*used} == {old, new}
    assert used == sorted(used, key=[old, new].index)


async def test_a_receiver_that_is_away_for_three_days_gets_everything_and_memory_stays(
    keys: tuple[Path, ...],
) -> None:
    """The log is the queue: what waits is there and nowhere else (E13)."""
    log, simulated = await _lives(sized(120, 3_000)), Simulated()
    expected = await _all_ids(log)
    hook = simulated.hook(
        lambda _: httpx.Response(503 if simulated.at < NOW + timedelta(days=3) else 200),
        Receiver("pager", URL, keys),
    )
    tracemalloc.start()
    try:
        await Feeder(log, 0, hook, PUBLICATION).advance()
        simulated.requests.clear()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert simulated.at >= NOW + timedelta(days=3)
    assert sorted(simulated.delivered) == sorted(expected)
    assert simulated.failures == []
    assert size < 20 * 2**20
