"""Kill -9 at any moment: a new jobledger finds the pods of the old one, and no container starts twice."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest

from k8s_bridge.kubelet import processes
from k8s_bridge.kubelet.folders import DataFolder
from k8s_bridge.kubelet.node import BOOT
from k8s_bridge.kubelet.processes import Process
from k8s_bridge.local import LocalCluster
from k8s_bridge.port import Change, Manifest, Ref, Synced
from statemachine.errors import Missing, StoreInUse
from statemachine.log.store import SqliteStore
from tests.support.seeds import seeds
from tests.unit.bridge.words import code, gone, phase, pod, until

ROOT = Path(__file__).parents[2]

POD = Ref("v1", "Pod", "demo", "mnist-7ac1b-worker-0")

_FIRST_LIFE = """
import asyncio, json, sys
from pathlib import Path
from k8s_bridge.local import LocalCluster
from k8s_bridge.port import Ref
from statemachine.log.store import SqliteStore

async def main(folder, pods, deletions):
    store = await SqliteStore.open(folder / "store.db")
    async with LocalCluster(store, folder / "data", workdir=folder) as cluster:
        for each in pods:
            await cluster.create(each)
        for name in deletions:
            while not (folder / "pid").exists():
                await asyncio.sleep(0.005)
            await cluster.delete(Ref("v1", "Pod", "demo", name))
        (folder / "done").touch()
        await asyncio.sleep(1000)

asyncio.run(main(Path(sys.argv[1]), *json.loads(sys.stdin.read())))
"""


class FirstLife:
    """A jobledger that starts pods, and is killed."""

    def __init__(self, folder: Path, *pods: Manifest, delete: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _FIRST_LIFE, str(folder)], stdin=subprocess.PIPE, cwd=ROOT, text=True
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([pods, delete]))
        self.process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """No destructor, no signal handler, no last write."""
        self.process.kill()
        self.process.wait(90)


@asynccontextmanager
async def second_life(folder: Path) -> AsyncIterator[LocalCluster]:
    """The jobledger after it; at the end no pod is left."""
    async with asyncio.timeout(90):
        while True:
            with suppress(StoreInUse):
                store = await SqliteStore.open(folder / "store.db")
                break
            await asyncio.sleep(0.01)
    async with LocalCluster(store, folder / "data", workdir=folder) as cluster:
        yield cluster
        for manifest in await cluster.list("v1", "Pod"):
            with suppress(Missing):
                await cluster.delete(Ref.of(manifest), grace=0)
            await gone(cluster, Ref.of(manifest))
    await store.close()


def running(script: str, name: str = POD.name, **spec: Any) -> Manifest:
    containers = [{"name": "pytorch", "command": ["sh", "-c", script]}]
    return pod(name=name, spec={"containers": containers, **spec})


async def written(path: Path) -> str:
    """The first line of a file that somebody writes."""
    await until(lambda: path.exists() and path.read_text().endswith("\n"), f"{path} is written")
    return path.read_text().splitlines()[0]


def shims(folder: Path) -> list[Process]:
    """The processes that claimed containers."""
    data = DataFolder(folder / "data")
    pods = [data.pod(path.name) for path in (data.root / "pods").glob("*")]
    names = [folder.container("pytorch").shim() for folder in pods if folder.container("pytorch").claimed]
    return [name for name in names if name is not None]


async def test_a_pod_that_lives_on_is_adopted_and_its_exit_code_observed(tmp_path: Path) -> None:
    script = "echo $$$$ > pid; until [ -e go ]; do sleep 0.01; done; exit 7"
    with FirstLife(tmp_path, running(script)):
        pid = int(await written(tmp_path / "pid"))
    async with second_life(tmp_path) as cluster:
        await phase(cluster, POD, "Running")
        assert Process.of(pid).is_alive()
        (tmp_path / "go").touch()
        assert code(await phase(cluster, POD, "Failed")) == 7
    assert (tmp_path / "pid").read_text() == f"{pid}\n"


async def test_an_end_that_nobody_watched_is_on_record(tmp_path: Path) -> None:
    script = "echo $$$$ > pid; until [ -e go ]; do sleep 0.01; done; exit 7"
    with FirstLife(tmp_path, running(script)):
        pid = Process.of(int(await written(tmp_path / "pid")))
    (tmp_path / "go").touch()
    await until(lambda: not pid.is_alive())
    await until(lambda: not any(shim.is_alive() for shim in shims(tmp_path)))
    async with second_life(tmp_path) as cluster:
        assert code(await phase(cluster, POD, "Failed")) == 7


async def test_a_container_whose_shim_was_killed_too_is_lost_when_it_ends(tmp_path: Path) -> None:
    script = "echo $$$$ > pid; until [ -e go ]; do sleep 0.01; done; exit 0"
    with FirstLife(tmp_path, running(script)):
        await written(tmp_path / "pid")
    for shim in shims(tmp_path):
        os.kill(shim.pid, signal.SIGKILL)
    async with second_life(tmp_path) as cluster:
        await phase(cluster, POD, "Running")
        (tmp_path / "go").touch()
        manifest = await phase(cluster, POD, "Failed")
    assert manifest["status"]["reason"] == "ContainerStatusLost"
    assert code(manifest) is None


async def test_a_killed_shim_is_reported_by_the_jobledger_that_started_it(tmp_path: Path) -> None:
    async with second_life(tmp_path) as cluster:
        await cluster.create(running("echo $$$$ > pid; until [ -e go ]; do sleep 0.01; done"))
        await written(tmp_path / "pid")
        for shim in shims(tmp_path):
            os.kill(shim.pid, signal.SIGKILL)
        (tmp_path / "go").touch()
        manifest = await phase(cluster, POD, "Failed")
    assert manifest["status"]["reason"] == "ContainerStatusLost"


async def _next(changes: AsyncIterator[Change | Synced]) -> Manifest:
    item = await anext(changes)
    assert isinstance(item, Change)
    return item.object


T = TypeVar("T")


class Held:
    """A store that takes its time to write, for as long as that is wanted."""

    def __init__(self, store: SqliteStore) -> None:
        self._store, self.goes_on = store, asyncio.Event()
        self.goes_on.set()

    async def run(self, work: Callable[[sqlite3.Connection], T], /) -> T:
        await self.goes_on.wait()
        return await self._store.run(work)


async def test_a_pod_is_reported_only_once_a_later_start_would_adopt_it(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    held = Held(store)
    async with LocalCluster(held, tmp_path / "data") as cluster:
        changes = cluster.watch()
        while not isinstance(await anext(changes), Synced):
            pass
        held.goes_on.clear()
        creating = asyncio.create_task(cluster.create(running("true")))
        coming = asyncio.create_task(_next(changes))
        for _ in range(100):
            await asyncio.sleep(0)
        early = [task.done() for task in (creating, coming)]
        held.goes_on.set()
        assert early == [False, False]
        await creating
        assert Ref.of(await coming) == POD
    await store.close()


async def test_a_deletion_goes_on_after_a_restart(tmp_path: Path) -> None:
    script = "trap '' TERM; echo $$$$ > pid; while :; do sleep 0.02; done"
    with FirstLife(tmp_path, running(script, terminationGracePeriodSeconds=2), delete=(POD.name,)):
        pid = int(await written(tmp_path / "pid"))
        await until((tmp_path / "done").exists)
    assert Process.of(pid).is_alive()
    async with second_life(tmp_path) as cluster:
        await gone(cluster, POD)
        assert not Process.of(pid).is_alive()


async def test_after_a_restart_of_the_machine_pods_are_lost_and_none_is_started(tmp_path: Path) -> None:
    async with second_life(tmp_path) as cluster:
        created = await cluster.create(running("echo $$$$ >> pid; sleep 1000"))
        await written(tmp_path / "pid")
        await cluster.patch(POD, {"metadata": {"annotations": {BOOT: "before"}}})
        await cluster.close()
        container = DataFolder(tmp_path / "data").pod(created["metadata"]["uid"]).container("pytorch")
        await _as_after_a_crash(container.folder)
        store = cluster._storage._store
        async with LocalCluster(store, tmp_path / "data") as after:
            manifest = await phase(after, POD, "Failed")
            assert (manifest["status"]["reason"], code(manifest)) == ("ContainerStatusLost", None)
        await cluster.open()
    assert (tmp_path / "pid").read_text().count("\n") == 1


async def _as_after_a_crash(state: Path) -> None:
    """No process lives, and the file system has forgotten the newest files."""
    started = Process.read((state / "started").read_text())
    assert started is not None
    for name in ("claim", "started"):
        (state / name).unlink()
    processes.signal_group(started, signal.SIGKILL)
    await until((state / "exit").exists)
    (state / "exit").unlink()


@pytest.mark.parametrize("seed", seeds(6))
async def test_killed_at_any_moment_no_container_starts_twice_and_every_end_is_reported(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    (tmp_path / "starts").mkdir()
    script = 'echo "$JOBLEDGER_CONTAINER_ID" >> starts/$(NAME); sleep 0.0$(NUMBER); exit $(NUMBER)'
    pods = []
    for number in range(8):
        env = [{"name": "NAME", "value": f"p-{number}"}, {"name": "NUMBER", "value": str(number)}]
        container = {"name": "pytorch", "command": ["sh", "-c", script], "env": env}
        pods.append(pod(name=f"p-{number}", spec={"containers": [container]}))
    with FirstLife(tmp_path, *pods):
        await until((tmp_path / "data").exists)
        await asyncio.sleep(chance.uniform(0.0, 0.25))
    for shim in shims(tmp_path):
        if chance.random() < 0.3:
            with suppress(ProcessLookupError):
                os.kill(shim.pid, signal.SIGKILL)
    async with second_life(tmp_path) as cluster:
        for manifest in await cluster.list("v1", "Pod"):
            number = int(manifest["metadata"]["name"].removeprefix("p-"))
            pod_now = await phase(cluster, Ref.of(manifest), "Succeeded", "Failed")
            lost = pod_now["status"].get("reason") == "ContainerStatusLost"
            assert code(pod_now) == (None if lost else number)
            starts = tmp_path / "starts" / f"p-{number}"
            lines = starts.read_text().count("\n") if starts.exists() else 0
            assert lines <= 1 if lost else lines == 1


@pytest.mark.parametrize("seed", seeds(4))
async def test_killed_at_any_moment_a_restart_in_place_happens_once(tmp_path: Path, seed: int) -> None:
    """The first restart comes without a wait; every pod fails once and then ends well."""
    chance = random.Random(seed)
    script = 'echo x >> "$NAME"; sleep 0.0$NUMBER; [ "$(wc -l < "$NAME")" -eq 2 ]'
    pods = []
    for number in range(8):
        env = [{"name": "NAME", "value": f"p-{number}"}, {"name": "NUMBER", "value": str(number)}]
        container = {"name": "pytorch", "command": ["sh", "-c", script], "env": env}
        pods.append(pod(name=f"p-{number}", spec={"restartPolicy": "OnFailure", "containers": [container]}))
    with FirstLife(tmp_path, *pods):
        await until((tmp_path / "data").exists)
        await asyncio.sleep(chance.uniform(0.0, 0.4))
    async with second_life(tmp_path) as cluster:
        for manifest in await cluster.list("v1", "Pod"):
            pod_now = await phase(cluster, Ref.of(manifest), "Succeeded", "Failed")
            assert pod_now["status"]["phase"] == "Succeeded"
            assert pod_now["status"]["containerStatuses"][0]["restartCount"] == 1
            assert (tmp_path / manifest["metadata"]["name"]).read_text() == "x\nx\n"
