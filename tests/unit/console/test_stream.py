"""The one stream of a browser: changes, logs that its pages follow, and how many may listen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from fastapi import FastAPI

from jobledger.api import create
from jobledger.console.frame import ConsoleOptions
from jobledger.console.session import COOKIE
from jobledger.web.reviews import Reviews
from tests.support.streams import streaming
from tests.unit.api.kubernetes import FakeReviews
from tests.unit.api.test_cluster_guard import Rules, both, only
from tests.unit.api.words import app_in_memory, job, phase, written
from tests.unit.console.words import console

LOG = "/jobs/default/PyTorchTrainingJob/train/log?replica=worker-0"


def following(*addresses: str) -> str:
    return "/live?" + urlencode([("log", address) for address in addresses])


@asynccontextmanager
async def running_job(rule: Rules | None = None) -> AsyncIterator[FastAPI]:
    """A console with a job that runs; with a rule it serves a cluster, where alice has these rights."""
    async with app_in_memory() as app:
        await app.submit(written(job()), "tests")
        await phase(app, "train", "Running")
        if rule is None:
            yield create(app)
        else:
            fake = FakeReviews({"alices": "alice"}, alice=rule)
            yield create(app, fake.closing, Reviews(fake))


async def test_a_stream_says_at_once_how_far_the_read_model_is_and_when_it_grows(tmp_path: Path) -> None:
    async with console(tmp_path) as browser:
        api = browser.client._transport.app  # type: ignore[attr-defined]
        async with streaming(api, "/live") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            before = await stream.event("changed")
            await browser.submit(job("train"))
            assert await stream.event("changed") > before


async def test_logs_come_through_the_same_stream_by_their_number() -> None:
    async with running_job() as api:
        app = api.state.jobledger
        trained = await app.job("default", "train")
        pod = trained["status"]["tasks"][0]["replicas"][0]["name"]
        app.cluster.write_log("default", pod, b"one\ntwo")
        async with streaming(api, following(LOG + "-never-was", LOG)) as stream:
            gone = await stream.event("gone")
            assert (gone["log"], "worker-0-never-was" in gone["text"]) == (0, True)
            heard = {"log": 1, "skipped": 0, "ended": False}
            assert await stream.event("log") == {**heard, "lines": ["one"], "tail": "two", "end": 4}
            app.cluster.write_log("default", pod, b" and a half\n")
            more = {"lines": ["two and a half"], "tail": "", "end": 19}
            assert await stream.event("log") == {**heard, **more}


async def test_who_may_not_read_a_log_hears_so_on_the_stream_and_hears_of_changes_all_the_same() -> None:
    token = {"X-Jobledger-Token": "alices"}
    async with running_job(only("get")) as api, streaming(api, following(LOG), token) as stream:
        assert "pods/log" in (await stream.event("gone"))["text"]
    allowed = both(only("get"), only("get", "pods", subresource="log"))
    async with running_job(allowed) as api, streaming(api, following(LOG), token) as stream:
        assert await stream.event("begin") == {"log": 0}


@pytest.mark.parametrize(
    "address",
    ["/jobs/default/train", "nonsense", "http://[", LOG + "&from=-1", LOG + "&attempt=x"],
)
async def test_what_is_no_address_of_a_log_is_refused_in_a_sentence(address: str) -> None:
    async with running_job() as api, streaming(api, following(address)) as stream:
        assert stream.status == 400
        assert stream.headers["content-type"] == "application/problem+json"


async def test_more_streams_than_may_be_open_are_answered_with_429_and_when_to_try_again(
    tmp_path: Path,
) -> None:
    async with console(tmp_path, ConsoleOptions(listeners=3, listeners_per_user=2)) as browser:
        api = browser.client._transport.app  # type: ignore[attr-defined]
        mine, other = ({"Cookie": f"{COOKIE}={letter * 43}"} for letter in "ab")
        async with streaming(api, "/live", mine), streaming(api, "/live", mine):
            async with streaming(api, "/live", mine) as third:
                assert (third.status, third.headers["retry-after"]) == (429, "10")
                problem = await third.body()
                assert problem["code"] == "too-many-listeners"
                assert "console.listeners_per_user" in problem["detail"]
            async with streaming(api, "/live", other) as fourth:
                assert fourth.status == 200
                async with streaming(api, "/live") as fifth:
                    assert fifth.status == 429
                    assert "console.listeners," not in (said := (await fifth.body())["detail"])
                    assert said.endswith("console.listeners")
        async with streaming(api, "/live", mine) as later:
            assert later.status == 200  # those that left made room


async def test_a_name_with_a_percent_sign_in_its_address_is_the_name_itself() -> None:
    address = LOG.replace("PyTorchTrainingJob", quote("PyTorchTrainingJob", safe="").replace("J", "%4A"))
    async with running_job() as api, streaming(api, following(address)) as stream:
        assert await stream.event("begin") == {"log": 0}
