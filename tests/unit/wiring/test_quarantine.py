"""A job whose history cannot be read any further: what its users meet, and how they get rid of it."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jobledger.program.errors import NotPossible
from jobledger.service.app import App
from jobledger.wiring import running
from k8s_bridge.admission import admit
from k8s_bridge.port import Manifest, Ref
from statemachine.engine.clock import WallClock
from statemachine.log.sqlite import SqliteLog
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.stores import by_hand
from tests.unit.api.words import job, phase, until, written


@pytest.fixture
def cluster() -> MemoryCluster:
    return MemoryCluster(admit=admit)


@asynccontextmanager
async def served(store: Path, cluster: MemoryCluster) -> AsyncIterator[App]:
    log = await SqliteLog.open(store)
    controller = controller_of(log, cluster, WallClock())
    async with running(controller):
        yield App(controller)
    await log.close()


async def damaged(store: Path, cluster: MemoryCluster) -> Manifest:
    """A job that runs; somebody has written over the last entry of its history."""
    async with served(store, cluster) as app:
        await app.submit(written(job("bad", replicas=2), job("good")), "me")
        manifest = await phase(app, "bad", "Running")
        await phase(app, "good", "Running")
    by_hand(
        store,
        "UPDATE entries SET body = 'x' WHERE position = (SELECT max(position) FROM entries WHERE job = ?)",
        manifest["metadata"]["uid"],
    )
    by_hand(store, "DELETE FROM snapshots")
    return manifest


async def test_it_is_shown_with_the_reason_and_the_others_go_on(
    tmp_path: Path, cluster: MemoryCluster
) -> None:
    uid = (await damaged(tmp_path / "s.db", cluster))["metadata"]["uid"]
    async with served(tmp_path / "s.db", cluster) as app:
        [listed] = [manifest for manifest in await app.jobs() if manifest["metadata"]["name"] == "bad"]
        for manifest in (listed, await app.job("default", "bad"), await app.job("default", "bad", uid=uid)):
            assert manifest["status"]["phase"] == "Unknown"
            assert "cannot be read to its end (entry" in manifest["status"]["conditions"][-1]["message"]
        assert (await app.job("default", "good"))["status"]["phase"] == "Running"


async def test_what_cannot_be_decided_is_refused_in_a_sentence(
    tmp_path: Path, cluster: MemoryCluster
) -> None:
    await damaged(tmp_path / "s.db", cluster)
    async with served(tmp_path / "s.db", cluster) as app:
        manifest = await app.job("default", "bad")
        said = 'the history of job "bad" cannot be read to its end .entry .*, and nothing is decided'
        with pytest.raises(NotPossible, match=said):
            await app.pause(manifest, on=True, actor="me")
        with pytest.raises(NotPossible, match=said):
            await app.logs(manifest)


@pytest.mark.parametrize("grace", [None, 0.0])
async def test_deleting_it_takes_its_pods_along(
    tmp_path: Path, cluster: MemoryCluster, grace: float | None
) -> None:
    uid = (await damaged(tmp_path / "s.db", cluster))["metadata"]["uid"]
    async with served(tmp_path / "s.db", cluster) as app:
        await app.delete(await app.job("default", "bad"), "me", grace)
        await until(lambda: nothing_left(cluster, uid))
        assert len(list(cluster.objects.peek_all("Pod"))) == 1


async def test_its_object_may_have_gone_while_nobody_looked(tmp_path: Path, cluster: MemoryCluster) -> None:
    manifest = await damaged(tmp_path / "s.db", cluster)
    uid = manifest["metadata"]["uid"]
    await cluster.delete(Ref.of(manifest))
    async with served(tmp_path / "s.db", cluster):
        await until(lambda: nothing_left(cluster, uid))


async def test_the_log_tells_of_it_in_one_line(
    tmp_path: Path, cluster: MemoryCluster, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = await damaged(tmp_path / "s.db", cluster)
    caplog.set_level(logging.INFO)
    async with served(tmp_path / "s.db", cluster) as app:
        await until(lambda: some(caplog.records))
        await app.delete(manifest, "me")
        await until(lambda: nothing_left(cluster, manifest["metadata"]["uid"]))
    said = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert [(record.getMessage(), record.exc_info) for record in said] == [
        ("nothing is decided about a job", None)
    ]


async def some(records: list[logging.LogRecord]) -> bool:
    await asyncio.sleep(0)
    return any(record.levelno >= logging.ERROR for record in records)


async def nothing_left(cluster: MemoryCluster, uid: str) -> bool:
    await asyncio.sleep(0)
    return uid not in cluster.owners()
