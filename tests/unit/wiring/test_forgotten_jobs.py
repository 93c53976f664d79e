"""A controller that keeps no state of closed jobs: what is left of them goes, and what they were can be asked for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from jobledger.lives.lookup import chosen
from jobledger.service.app import App
from jobledger.wiring import running
from k8s_bridge.admission import admit
from k8s_bridge.port import Manifest, Ref
from projectors.history import HistoryProjector, SqliteDatabase
from statemachine.engine.clock import WallClock
from statemachine.ids import JobUid
from statemachine.log.sqlite import SqliteLog
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.words import job, phase, until, written


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SqliteLog]:
    log = await SqliteLog.open(tmp_path / "store.db")
    yield log
    await log.close()


@asynccontextmanager
async def projecting(log: SqliteLog, cluster: MemoryCluster, *, view: bool = True) -> AsyncIterator[App]:
    streams = [[HistoryProjector(log, SqliteDatabase(log.store))]] if view else []
    controller = controller_of(log, cluster, WallClock(), streams, keeps=0)
    async with running(controller):
        yield App(controller)


async def ended(log: SqliteLog, cluster: MemoryCluster) -> Manifest:
    """A job that has succeeded and is gone; the log and the view know all of it."""
    async with projecting(log, cluster) as app:
        await app.submit(written(job(run_seconds="0.05")), "me")
        manifest = await phase(app, "train", "Succeeded")
        await app.delete(manifest, "me")
        await until(lambda: forgotten(app, manifest["metadata"]["uid"]))
    await app.controller.catch_up()
    return manifest


async def forgotten(app: App, uid: str) -> bool:
    await asyncio.sleep(0)
    return app.controller.states.is_forgotten(JobUid(uid))


async def test_what_is_made_late_for_a_forgotten_job_goes_at_the_next_start(log: SqliteLog) -> None:
    cluster = MemoryCluster(admit=admit)
    uid = (await ended(log, cluster))["metadata"]["uid"]
    owner = {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "name": "train",
        "uid": uid,
        "controller": True,
    }
    meta = {"name": "late", "namespace": "default", "ownerReferences": [owner]}
    late = Ref.of(
        await cluster.create({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": []}})
    )
    async with projecting(log, cluster):
        await until(lambda: is_gone(cluster, late))
    await cluster.close()


async def is_gone(cluster: MemoryCluster, ref: Ref) -> bool:
    await asyncio.sleep(0)
    return cluster.objects.peek(ref) is None


async def test_a_forgotten_job_is_known_by_its_name_and_by_its_uid(log: SqliteLog) -> None:
    cluster = MemoryCluster(admit=admit)
    uid = (await ended(log, cluster))["metadata"]["uid"]
    async with projecting(log, cluster) as app:
        for name, asked in (("train", ""), ("train", uid)):
            known = await app.known("default", name, asked)
            assert [job.uid for job in known] == [uid]
            life = await app.life(chosen(known, name, namespace="default", uid=asked))
            entries = life.read().entries
            assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
            assert entries
        assert await app.known("other", "train") == []
        assert await app.known("default", "strain") == []
        assert [manifest["metadata"]["uid"] for manifest in await app.jobs(gone=True)] == [uid]
    await cluster.close()


async def test_without_a_view_that_knows_names_it_is_known_by_its_uid_alone(log: SqliteLog) -> None:
    cluster = MemoryCluster(admit=admit)
    uid = (await ended(log, cluster))["metadata"]["uid"]
    async with projecting(log, cluster, view=False) as app:
        assert await app.known("default", "train") == []
        assert [job.uid for job in await app.known("default", uid)] == [uid]
    await cluster.close()
