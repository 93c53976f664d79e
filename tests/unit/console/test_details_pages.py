"""The pages of a job, over an application in memory."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import httpx
import pytest

from jobledger.api import create
from jobledger.service.app import App
from jobledger.wiring import running
from k8s_bridge.admission import admit
from projectors.history import HistoryProjector, SqliteDatabase
from statemachine.engine.clock import WallClock
from statemachine.log.store import SqliteStore
from statemachine.phases import Phase
from tests.support.controllers import controller_of
from tests.support.logs import admitted, chain, entered
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.streams import streaming
from tests.unit.api.words import app_in_memory, gone, job, phase, written

PATH = "/jobs/default/PyTorchTrainingJob/train"


@asynccontextmanager
async def browsing(app: App, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=create(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


@asynccontextmanager
async def one_job(**more: Any) -> AsyncIterator[tuple[App, httpx.AsyncClient]]:
    async with app_in_memory() as app:
        await app.submit(written(job(replicas=2, **more)), "tests")
        await phase(app, "train", "Running")
        async with browsing(app) as client:
            yield app, client


async def text(
    client: httpx.AsyncClient, path: str, status: int = 200, headers: dict[str, str] | None = None
) -> str:
    answer = await client.get(path, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.text


async def test_every_page_of_a_job_is_there() -> None:
    async with one_job() as (_, client):
        for below in (
            "",
            "/history",
            "/replicas",
            "/replicas/worker-0",
            "/monitoring",
            "/manifest",
            "/header",
        ):
            page = await text(client, PATH + below)
            assert "train" in page
            assert "<html" in page
            piece = await text(client, PATH + below, headers={"HX-Request": "true"})
            assert "<html" not in piece


@pytest.mark.parametrize("at", ["99999", "nonsense", "1999-01-01T00:00:00Z", "-1x"])
async def test_a_moment_that_never_was_is_one_sentence_and_the_present(at: str) -> None:
    async with one_job() as (_, client):
        page = await text(client, f"{PATH}/history?at={at}")
        assert '<p class="bad-news" role="alert">' in page
        assert "--at" not in page
        assert "The present" in page


async def test_a_page_speaks_the_readers_language() -> None:
    async with one_job() as (_, client):
        page = await text(client, f"{PATH}/history", headers={"Accept-Language": "zh-CN"})
        assert "此时刻的 Job" in page
        assert "Timeline of the job" not in page


async def test_no_page_needs_what_the_policy_refuses() -> None:
    async with one_job() as (_, client):
        for below in ("", "/history?at=2", "/replicas", "/log?replica=worker-0"):
            answer = await client.get(PATH + below)
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert " style=" not in answer.text
            assert "<style" not in answer.text
            assert re.findall(r"<script(?! src=)", answer.text) == []
            assert re.findall(r"\son\w+=", answer.text) == []


async def test_an_address_of_a_moment_is_put_into_the_browsers_bar() -> None:
    async with one_job() as (_, client):
        answer = await client.get(f"{PATH}/history?at=2&axis=entries", headers={"HX-Request": "true"})
        assert answer.headers["hx-replace-url"] == f"{PATH}/history?at=2&axis=entries"
        assert "hx-replace-url" not in (await client.get(f"{PATH}/history?at=2")).headers


@pytest.mark.parametrize("query", ["at=1", "at=4", "at=4&axis=entries", "at=4&axis=entries&from=3&to=6"])
async def test_the_slider_stands_where_the_cursor_of_the_picture_does(query: str) -> None:
    async with one_job() as (_, client):
        page = await text(client, f"{PATH}/history?{query}")
        cursor = re.search(r'class="tl-cursor" x="([\d.]+)%"', page)
        place = re.search(r'value="([\d.]+)" data-place="([\d.]+)"', page)
        assert cursor
        assert place
        assert float(cursor[1]) == float(place[1]) == float(place[2])


async def test_the_slider_names_a_place_of_the_picture_and_the_address_the_entry_there() -> None:
    async with one_job() as (_, client):
        for axis in ("", "&axis=entries"):
            answer = await client.get(f"{PATH}/history?place=0{axis}", headers={"HX-Request": "true"})
            assert answer.headers["hx-replace-url"] == f"{PATH}/history?at=1{axis}"
            assert 'data-seq="1"' in answer.text
            assert 'data-place="0.0"' in answer.text
        present = await text(client, f"{PATH}/history")
        assert 'data-place="100.0"' in present
        assert (await client.get(f"{PATH}/history?place=101")).status_code == 400


async def test_jobs_that_are_gone_have_pages_and_are_distinguished_by_their_uid() -> None:
    async with one_job() as (app, client):
        first = await app.job("default", "train")
        await app.delete(first, "alice")
        await gone(app, "train")
        assert "Deleted" in await text(client, f"{PATH}/history")
        assert 'data-kind="deletion"' in await text(client, f"{PATH}/history")
        for below in ("", "/replicas", "/monitoring", "/manifest"):
            assert "Deleted" in await text(client, PATH + below)
        await app.submit(written(job(replicas=1)), "tests")
        await phase(app, "train", "Running")
        assert 'data-kind="deletion"' not in await text(client, f"{PATH}/history")
        uid = first["metadata"]["uid"]
        old = await text(client, f"{PATH}/history?uid={uid}")
        assert 'data-kind="deletion"' in old
        links = re.findall(r'href="([^"]*/history\?[^"]*)"', old)
        assert links
        assert all(uid in link for link in links)  # every link stays with the job that is gone


@pytest.mark.parametrize(
    "path",
    [
        "/jobs/default/PyTorchTrainingJob/nobody",
        "/jobs/default/NoKind/train",
        "/jobs/elsewhere/PyTorchTrainingJob/train/history",
        f"{PATH}/history?uid=0000",
        f"{PATH}/replicas/worker-9",
        f"{PATH}/log/download?replica=worker-9",
    ],
)
async def test_what_is_not_there_is_one_sentence(path: str) -> None:
    async with one_job() as (_, client):
        page = await text(client, path, 404)
        assert "Traceback" not in page
        assert 'class="bad-news"' in page


async def test_text_of_users_is_never_markup() -> None:
    evil = "<img src=x onerror=alert(1)>"
    async with app_in_memory() as app:
        manifest = job()
        manifest["metadata"]["annotations"] = {"note": evil}
        manifest["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = [evil]
        await app.submit(written(manifest), evil)
        await phase(app, "train", "Running")
        cluster = cast(MemoryCluster, app.cluster)
        pod = next(
            child
            for child in await cluster.children(
                "default", (await app.job("default", "train"))["metadata"]["uid"]
            )
            if child["kind"] == "Pod"
        )
        cluster.sim_logs.write("default", pod["metadata"]["name"], evil.encode())
        async with browsing(app) as client:
            for below in (
                "",
                "/history",
                "/replicas",
                "/replicas/worker-0",
                "/manifest",
                "/log?replica=worker-0",
            ):
                page = await text(client, PATH + below)
                assert "<img src=x" not in page
                assert "&lt;img src=x" in page or below == "/replicas"


async def test_logs_of_a_cluster_that_only_streams_are_shown_and_followed() -> None:
    async with one_job() as (app, client):
        uid = (await app.job("default", "train"))["metadata"]["uid"]
        cluster = cast(MemoryCluster, app.cluster)
        pods = [child for child in await cluster.children("default", uid) if child["kind"] == "Pod"]
        name = next(pod["metadata"]["name"] for pod in pods if pod["metadata"]["name"].endswith("worker-0"))
        cluster.sim_logs.write("default", name, b"one\n\x1b[1mtwo\x1b[0m\nthr")
        cluster.sim_logs.end(next(pod["metadata"]["uid"] for pod in pods if pod["metadata"]["name"] == name))
        page = await text(client, f"{PATH}/log?replica=worker-0")
        assert "<li>one</li>\n<li>two</li>" in page
        address = "/live?" + urlencode({"log": f"{PATH}/log?replica=worker-0&from=0"})
        async with streaming(create(app), address) as stream:
            assert (await stream.event("log"))["lines"] == ["one", "two"]
            assert (await stream.event("log"))["ended"] is True
        assert await text(client, f"{PATH}/log/download?replica=worker-0") == "one\n\x1b[1mtwo\x1b[0m\nthr"
        matches = await text(client, f"{PATH}/log/search?replica=worker-0&q=TWO")
        assert "1 lines found" in matches


async def test_a_job_that_only_the_history_view_knows_is_still_shown(tmp_path: Path) -> None:
    old = MemoryLog()
    await old.append(
        chain(admitted("train", "default"), (entered(Phase.RUNNING),), (entered(Phase.SUCCEEDED),))
    )
    store = await SqliteStore.open(tmp_path / "history.db")
    try:
        database = SqliteDatabase(store)
        await database.prepare()
        await HistoryProjector(old, database).advance()
        projector = HistoryProjector(MemoryLog(), database, 1)
        controller = controller_of(
            MemoryLog(), MemoryCluster(admit=admit), WallClock(), streams=[[projector]]
        )
        app = App(controller)
        async with running(controller), browsing(app) as client:
            page = await text(client, PATH)
            assert "The log has no entries of this job any more." in page
            assert "phase Succeeded" in page
            assert "phase-succeeded" in page  # the picture has its band
            assert "Succeeded" in await text(client, f"{PATH}/history")
        await app.cluster.close()
    finally:
        await store.close()


async def test_a_job_that_was_refused_has_its_pages_too() -> None:
    controller = controller_of(
        MemoryLog(), MemoryCluster(), WallClock()
    )  # without admission, as without webhooks
    app = App(controller)
    async with running(controller):
        broken = job()
        broken["spec"]["replicaSpecs"] *= 2
        await app.cluster.create({**broken, "metadata": {"name": "train", "namespace": "default"}})
        await phase(app, "train", "Failed")
        async with browsing(app) as client:
            for below in ("", "/history", "/replicas", "/monitoring", "/log?replica=worker-0"):
                assert "Failed" in await text(client, PATH + below)
            assert 'data-kind="invalid spec"' in await text(client, f"{PATH}/history")
            assert "replica types must be unique" in await text(client, f"{PATH}/history")
    await app.cluster.close()


async def test_of_several_containers_one_is_chosen() -> None:
    async with app_in_memory() as app:
        manifest = job()
        pod = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]
        pod["containers"].append({"name": "sidecar", "image": "x"})
        await app.submit(written(manifest), "tests")
        stored = await phase(app, "train", "Running")
        name = stored["status"]["tasks"][0]["replicas"][0]["name"]
        logs = cast(MemoryCluster, app.cluster).sim_logs
        logs.write("default", name, b"of the first\n", "pytorch")
        logs.write("default", name, b"of the second\n", "sidecar")
        for child in await app.cluster.children("default", stored["metadata"]["uid"]):
            logs.end(child["metadata"]["uid"])
        async with browsing(app) as client:
            page = await text(client, f"{PATH}/log?replica=worker-0")
            assert "of the first" in page
            assert "<option>sidecar</option>" in page
            assert "of the second" in await text(client, f"{PATH}/log?replica=worker-0&container=sidecar")
            unknown = await text(client, f"{PATH}/log?replica=worker-0&container=none")
            assert "container &#34;none&#34; is not one of pod" in unknown


async def test_four_hundred_replicas_are_shown_page_by_page() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job(replicas=400)), "tests")
        await phase(app, "train", "Running")
        async with browsing(app) as client:
            first = await text(client, f"{PATH}/replicas")
            assert first.count('id="replica-worker-') == 100
            assert "1–100 / 400" in first
            last = await text(client, f"{PATH}/replicas?page=4")
            assert 'id="replica-worker-399"' in last
            condensed = await text(client, f"{PATH}/history")
            assert "worker ×400" in condensed
            assert len(condensed) < 300_000
            assert "Every replica" in condensed
