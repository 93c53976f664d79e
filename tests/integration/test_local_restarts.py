"""Containers that are started again in their pod, as the pod's restartPolicy asks for."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.local import LocalCluster
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Manifest, Ref, Verb
from statemachine.errors import ClusterUnavailable, Missing
from statemachine.log.store import SqliteStore
from statemachine.observations import PodObserved
from tests.unit.bridge.words import AT, config_map, gone, job, next_change, phase, pod, until

POD = Ref("v1", "Pod", "demo", "mnist-7ac1b-worker-0")
THIRD_TIME = "echo x >> runs; echo run $(wc -l < runs); [ $(wc -l < runs) -ge 3 ]"
"""Fails twice, then ends well."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "store.db")
    yield store
    await store.close()


def local(store: SqliteStore, folder: Path, wait: float = 0.01) -> LocalCluster:
    return LocalCluster(store, folder / "data", workdir=folder, restart_wait=wait)


@pytest.fixture
async def cluster(store: SqliteStore, tmp_path: Path) -> AsyncIterator[LocalCluster]:
    async with local(store, tmp_path) as cluster:
        yield cluster
        with suppress(ClusterUnavailable):
            for manifest in await cluster.list("v1", "Pod"):
                with suppress(Missing):
                    await cluster.delete(Ref.of(manifest), grace=0)
                await gone(cluster, Ref.of(manifest))


def container(script: str, name: str = "pytorch", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "none", "command": ["sh", "-c", script], **more}


def restarting(script: str, policy: str = "OnFailure", **spec: Any) -> Manifest:
    return pod(spec={"restartPolicy": policy, "containers": [container(script)], **spec})


async def status(cluster: LocalCluster, field: str = "containerStatuses") -> dict[str, Any]:
    entry: dict[str, Any] = (await cluster.get(POD))["status"].get(field, [{}])[0]
    return entry


async def restarted(cluster: LocalCluster, times: int) -> dict[str, Any]:
    """The status of the pod's container, once it runs and has been restarted so often."""
    async with asyncio.timeout(90):
        while True:
            entry = await status(cluster)
            if entry.get("restartCount", 0) >= times and "running" in entry["state"]:
                return entry
            await asyncio.sleep(0.005)


async def written(cluster: LocalCluster, **which: Any) -> str:
    async with asyncio.timeout(90):
        return b"".join([log async for log in cluster.logs("demo", POD.name, **which)]).decode()


async def test_a_failed_container_is_started_again_until_it_ends_well(cluster: LocalCluster) -> None:
    uid = (await cluster.create(restarting(THIRD_TIME)))["metadata"]["uid"]
    manifest = await phase(cluster, POD, "Succeeded", "Failed")
    assert (manifest["metadata"]["uid"], manifest["status"]["phase"]) == (uid, "Succeeded")
    [container_status] = manifest["status"]["containerStatuses"]
    assert (container_status["restartCount"], container_status["state"]["terminated"]["exitCode"]) == (2, 0)
    assert container_status["lastState"]["terminated"]["exitCode"] == 1


async def test_each_run_has_its_log_and_following_goes_through_them(cluster: LocalCluster) -> None:
    await cluster.create(restarting(THIRD_TIME))
    assert (await written(cluster, follow=True)).endswith("run 3\n")
    await phase(cluster, POD, "Succeeded")
    assert await written(cluster) == "run 3\n"
    assert await written(cluster, previous=True) == "run 2\n"


async def test_what_was_never_restarted_has_no_previous_log(cluster: LocalCluster) -> None:
    await cluster.create(restarting("true"))
    await phase(cluster, POD, "Succeeded")
    with pytest.raises(Missing, match="has not been restarted"):
        await written(cluster, previous=True)


async def test_the_pod_stays_running_while_a_container_waits_for_its_restart(
    store: SqliteStore, tmp_path: Path
) -> None:
    async with local(store, tmp_path, wait=1000) as cluster:
        items = cluster.watch()
        await cluster.create(restarting("exit 4"))

        def waits(change: Change) -> bool:
            states = change.object["status"].get("containerStatuses") or [{"state": {}}]
            return "CrashLoopBackOff" in str(states[0]["state"])

        manifest = (await next_change(items, waits)).object
        assert manifest["status"]["phase"] == "Running"
        [container_status] = manifest["status"]["containerStatuses"]
        assert (
            container_status["restartCount"],
            container_status["lastState"]["terminated"]["exitCode"],
        ) == (1, 4)
        await cluster.delete(POD)
        await gone(cluster, POD, seconds=60)


async def test_restarts_are_observed(cluster: LocalCluster) -> None:
    owner = await cluster.create(job())
    manifest = restarting(THIRD_TIME)
    manifest["metadata"]["ownerReferences"] = pod(owner)["metadata"]["ownerReferences"]
    await cluster.create(manifest)
    ended_pod = await phase(cluster, POD, "Succeeded")
    [observation] = observe(Change(Verb.MODIFIED, ended_pod, AT))
    assert isinstance(observation, PodObserved)
    assert [container.restarts for container in observation.containers] == [2]


async def test_always_starts_again_what_ended_well(cluster: LocalCluster, tmp_path: Path) -> None:
    await cluster.create(
        restarting("echo x >> runs; [ $(wc -l < runs) -ge 3 ] && sleep 1000; true", "Always")
    )
    assert (await restarted(cluster, 2))["lastState"]["terminated"]["exitCode"] == 0
    assert (await cluster.get(POD))["status"]["phase"] == "Running"


async def test_init_containers_are_started_again_too(cluster: LocalCluster, tmp_path: Path) -> None:
    init = [container(THIRD_TIME, "init")]
    await cluster.create(restarting("cat runs | wc -l", initContainers=init))
    manifest = await phase(cluster, POD, "Succeeded", "Failed")
    assert manifest["status"]["phase"] == "Succeeded"
    assert manifest["status"]["initContainerStatuses"][0]["restartCount"] == 2
    assert (await written(cluster)).strip() == "3"


async def test_a_restart_takes_the_values_of_its_time(cluster: LocalCluster, tmp_path: Path) -> None:
    ref = Ref.of(await cluster.create(config_map(a="old")))
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}]
    script = "echo $A; [ $A = new ] && exit 0; until [ -e go ]; do sleep 0.01; done; exit 1"
    await cluster.create(restarting("", containers=[container(script, env=env)]))
    await phase(cluster, POD, "Running")
    await cluster.patch(ref, {"data": {"a": "new"}})
    (tmp_path / "go").touch()
    await phase(cluster, POD, "Succeeded")
    assert await written(cluster) == "new\n"


async def test_deleting_ends_the_restarts(cluster: LocalCluster, tmp_path: Path) -> None:
    await cluster.create(restarting("echo x >> runs; exit 1"))
    await until(lambda: (tmp_path / "runs").exists() and len((tmp_path / "runs").read_text()) > 4)
    items = cluster.watch()
    await cluster.delete(POD)
    last = (await next_change(items, lambda change: change.verb is Verb.DELETED)).object
    assert last["status"]["phase"] == "Failed"
    assert last["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


async def test_a_new_jobledger_goes_on_counting(store: SqliteStore, tmp_path: Path) -> None:
    script = "echo x >> runs; n=$(wc -l < runs); echo $$$$ > pid-$n; [ $n -le 2 ] && exit 1; sleep 1000"
    third = tmp_path / "pid-3"
    async with local(store, tmp_path) as first:
        await first.create(restarting(script))
        await until(lambda: third.exists() and third.read_text() != "")
    async with local(store, tmp_path) as second:
        assert (await restarted(second, 2))["restartCount"] == 2
        assert not (tmp_path / "pid-4").exists()  # nothing was started anew
        _kill(third)
        entry = await restarted(second, 3)
        assert entry["lastState"]["terminated"]["exitCode"] == 137
        await second.delete(POD, grace=0)
        await gone(second, POD)


async def test_an_end_while_nobody_looked_is_followed_by_a_restart(
    store: SqliteStore, tmp_path: Path
) -> None:
    async with local(store, tmp_path) as first:
        await first.create(restarting("echo $$$$ > pid; [ -e second ] || sleep 1000"))
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    (tmp_path / "second").touch()
    _kill(tmp_path / "pid")
    async with local(store, tmp_path) as second:
        manifest = await phase(second, POD, "Succeeded", "Failed")
        assert manifest["status"]["phase"] == "Succeeded"
        assert manifest["status"]["containerStatuses"][0]["restartCount"] == 1


def _kill(file: Path) -> None:
    os.kill(int(file.read_text()), signal.SIGKILL)
