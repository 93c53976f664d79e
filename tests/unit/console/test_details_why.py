"""How the overview of a job begins that failed, and where it tells what a job recovered from."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import pytest

from jobledger.api import create
from jobledger.service.app import App
from jobledger.web.reviews import Reviews
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.kubernetes import FakeReviews
from tests.unit.api.test_cluster_guard import BASE, only
from tests.unit.api.words import app_in_memory, job, phase, until, written
from tests.unit.console.test_details_pages import PATH, browsing, text

WHY = 'id="h-why"'
LIFE = 'id="h-life"'


async def pod_of(app: App, replica: str = "worker-0") -> str:
    """The name of the replica's pod."""
    [replicas] = [task["replicas"] for task in (await app.job("default", "train"))["status"]["tasks"]]
    return next(str(pod["name"]) for pod in replicas if str(pod["name"]).endswith(replica))


@asynccontextmanager
async def failed(said: bytes = b"", **spec: Any) -> AsyncIterator[App]:
    """A job whose pod wrote something and ended with exit code 3, and that failed by it."""
    async with app_in_memory() as app:
        await app.submit(written(job(runPolicy={"backoffLimit": 0}, **spec)), "tests")
        await phase(app, "train", "Running")
        cluster, pod = cast(MemoryCluster, app.cluster), await pod_of(app)
        cluster.write_log("default", pod, said)
        cluster.end_pod("default", pod, 3)
        await phase(app, "train", "Failed")
        yield app


def why_of(page: str) -> str:
    """The section."""
    assert WHY in page
    return page[page.index(WHY) : page.index("</section>", page.index(WHY))]


async def test_the_overview_of_a_failed_job_begins_with_its_cause_and_the_last_lines_of_its_log() -> None:
    lines = "".join(f"step {number}\n" for number in range(30)).encode()
    async with failed(lines + b"ValueError: <no> such device") as app, browsing(app) as client:
        page = await text(client, PATH)
        assert page.index(WHY) < page.index(LIFE)
        why = why_of(page)
        assert "Why it failed" in why
        assert "exit" in why
        assert "ValueError: &lt;no&gt; such device" in why
        assert re.findall(r"step (\d+)", why) == [str(number) for number in range(21, 30)]
        entry = re.search(r'href="([^"]*/history\?at=(\d+))"', why)
        assert entry
        assert f'data-seq="{entry[2]}"' in await text(client, entry[1])
        log = re.search(r'href="([^"]*/log\?[^"]*)"', why)
        assert log
        assert "ValueError" in await text(client, log[1].replace("&amp;", "&"))


async def test_the_message_of_a_container_stands_there_instead_of_its_log() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job(runPolicy={"backoffLimit": 0})), "tests")
        await phase(app, "train", "Running")
        cluster, pod = cast(MemoryCluster, app.cluster), await pod_of(app)
        cluster.write_log("default", pod, b"much else\n")
        ended = {"exitCode": 3, "reason": "Error", "message": "the data set is empty"}
        container = {"name": "pytorch", "state": {"terminated": ended}}
        cluster.set_pod_status("default", pod, {"phase": "Failed", "containerStatuses": [container]})
        await phase(app, "train", "Failed")
        async with browsing(app) as client:
            why = why_of(await text(client, PATH))
            assert "What the container said" in why
            assert "the data set is empty" in why
            assert "much else" not in why


async def test_a_job_that_goes_on_tells_its_last_failure_below_its_life() -> None:
    async with app_in_memory() as app:
        await app.submit(written(job(runPolicy={"backoffLimit": 3})), "tests")
        await phase(app, "train", "Running")
        async with browsing(app) as client:
            assert WHY not in await text(client, PATH)
            cluster, pod = cast(MemoryCluster, app.cluster), await pod_of(app)
            cluster.write_log("default", pod, b"out of luck\n")
            cluster.end_pod("default", pod, 3)
            uid = (await app.job("default", "train"))["metadata"]["uid"]

            async def restarted() -> bool:
                return len(await app.attempts(uid)) == 2

            await until(restarted)
            page = await text(client, PATH)
            assert page.index(LIFE) < page.index(WHY)
            why = why_of(page)
            assert "The last failure" in why
            assert "attempt=1" in why
            assert "out of luck" in why
            again = await text(client, PATH, headers={"Accept-Language": "zh-CN"})
            assert "最近一次故障" in why_of(again)


@pytest.mark.parametrize(("rights", "reads"), [((), False), (("pods/log",), True)])
async def test_who_may_not_read_logs_is_shown_no_line_of_one(rights: tuple[str, ...], reads: bool) -> None:
    def rule(asked: dict[str, Any]) -> bool:
        return only("get")(asked) or f"{asked.get('resource')}/{asked.get('subresource')}" in rights

    async with failed(b"the last words\n") as app:
        fake = FakeReviews({"alices": "alice"}, alice=rule)
        transport = httpx.ASGITransport(create(app, fake.closing, Reviews(fake)))
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            page = await text(client, PATH, headers={"X-Jobledger-Token": "alices"})
            assert ("the last words" in why_of(page)) == reads


async def test_a_running_job_with_a_dead_replica_is_not_called_plainly_running() -> None:
    async with app_in_memory() as app:
        manifest = job(replicas=2, runPolicy={"backoffLimit": 3})
        manifest["spec"]["replicaSpecs"][0]["restartPolicy"] = "Never"
        await app.submit(written(manifest), "tests")
        await phase(app, "train", "Running")
        async with browsing(app) as client:
            header = await text(client, f"{PATH}/header", headers={"HX-Request": "true"})
            assert '<span class="phase running">Running</span>' in header
            cast(MemoryCluster, app.cluster).end_pod("default", await pod_of(app, "worker-1"), 3)

            async def degraded() -> bool:
                return "degraded" in await text(client, f"{PATH}/header", headers={"HX-Request": "true"})

            await until(degraded)
            for language, word in (("en", "1 replica failed"), ("zh-CN", "1 个副本失败")):
                page = await text(client, PATH, headers={"Accept-Language": language})
                badge = re.search(r'<span class="phase degraded"[^>]*>(.*?)</span></span>', page)
                assert badge
                assert "Running · " in badge[1]
                assert word in badge[1]
