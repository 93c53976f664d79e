"""Receivers with wrong certificates, over real TLS: a sentence each, and all events arrive with a right one (E12)."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final

import pytest

from projectors.sinks.feeding import Feeder
from projectors.sinks.webhook import Moments, Receiver, WebHook
from statemachine.errors import ConfigError
from statemachine.log.port import EntryDraft
from statemachine.log.positions import SinkFailure
from tests.contract.lives import PUBLICATION
from tests.support.certificates import Authority
from tests.support.memory_log import MemoryLog
from tests.support.receivers import KEY, SecureHook, receiving, served
from tests.support.scenario import Story, workers
from tests.unit.contract.made import of_story

JOBS: Final = 12
DAYS: Final = timedelta(days=30)


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """The only authority that this process trusts."""
    authority = Authority(tmp_path, "trusted")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


@pytest.fixture
def wrong(trusted: Authority, tmp_path: Path) -> dict[str, SSLContext]:
    """Words for what is wrong → a server of which that is true."""
    return {
        "has expired": trusted.server(begins=-DAYS, ends=timedelta(minutes=-1)),
        "is not valid yet": trusted.server(begins=timedelta(days=1), ends=DAYS),
        "is for another host": trusted.server("hooks.example"),
        "is for another address": trusted.server("127.0.0.2"),
        "is of an issuer that is not trusted": Authority(tmp_path, "unknown").server(),
    }


@pytest.fixture
def hook(trusted: Authority) -> Iterator[SecureHook]:
    with served(SecureHook(trusted.server())) as server:
        yield server


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(KEY)
    return path


def stories() -> list[Story]:
    return [Story(workers(1), uid=f"job-{number}").submit().all_pods("Running") for number in range(JOBS)]


async def unexpected(failure: SinkFailure) -> None:
    pytest.fail(f"{failure} is not sent again")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("127.0.0.1", "has expired"),
        ("127.0.0.1", "is not valid yet"),
        ("localhost", "is for another host"),
        ("127.0.0.1", "is for another address"),
        ("127.0.0.1", "is of an issuer that is not trusted"),
    ],
)
async def test_a_wrong_certificate_is_one_sentence_without_the_address(
    hook: SecureHook, wrong: dict[str, SSLContext], key: Path, host: str, words: str
) -> None:
    hook.context = wrong[words]
    sink = WebHook(Receiver("pager", hook.url.replace("127.0.0.1", host), (key,)), unexpected)
    assert await sink.attempt(of_story(stories()[0])[0]) == f"the receiver's certificate {words}"
    await sink.close()
    assert hook.bodies == []


async def test_a_receiver_without_tls_is_one_sentence(trusted: Authority, key: Path) -> None:
    with receiving() as plain:
        sink = WebHook(Receiver("pager", plain.url.replace("http:", "https:"), (key,)), unexpected)
        words = await sink.attempt(of_story(stories()[0])[0])
        await sink.close()
    assert words.startswith("no TLS connection to the receiver: ")
    assert plain.bodies == []


async def test_every_event_arrives_in_order_over_certificates_that_are_wrong_now_and_then(
    hook: SecureHook, wrong: dict[str, SSLContext], trusted: Authority, key: Path
) -> None:
    log, right, left = MemoryLog(), hook.context, [*wrong.values()] * 2
    for story in stories():
        await log.append([EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)])
    expected = [str(event.attributes["id"]) for story in stories() for event in of_story(story)]
    delivered: list[str] = []
    waits = 0

    def taken(event: dict[str, Any]) -> int:
        delivered.append(event["id"])
        if left and len(delivered) % 5 == 0:
            hook.context = left.pop()
        return 204

    async def sleep(_: float) -> None:
        nonlocal waits
        waits += 1
        hook.context = right
        await asyncio.sleep(0)

    hook.status = taken
    receiver = Receiver("pager", hook.url, (key,), concurrency=1)
    sink = WebHook(receiver, unexpected, moments=Moments(sleep=sleep))
    await Feeder(log, 0, sink, PUBLICATION).advance()
    await sink.close()
    assert not left
    assert waits == 2 * len(wrong)
    assert sorted(delivered) == sorted(expected)
    for job in {id_.partition("/")[0] for id_ in expected}:
        assert [id_ for id_ in delivered if id_.startswith(f"{job}/")] == [
            id_ for id_ in expected if id_.startswith(f"{job}/")
        ]


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "ca.crt").write_text(text)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
    with pytest.raises(
        ConfigError, match="the certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be used: "
    ):
        WebHook(Receiver("pager", "https://hooks.example", (key,)), unexpected)
