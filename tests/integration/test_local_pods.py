"""Pods as processes: what a kubelet would do, done to this machine."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.kubelet import processes, shim
from k8s_bridge.local import LocalCluster
from k8s_bridge.port import Manifest, Ref, Verb
from statemachine.errors import ClusterUnavailable, Missing, Refused
from statemachine.log.store import SqliteStore
from tests.unit.bridge.words import (
    code,
    config_map,
    gone,
    job,
    listed,
    next_change,
    owned,
    phase,
    pod,
    until,
)

POD = Ref("v1", "Pod", "demo", "mnist-7ac1b-worker-0")

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[LocalCluster]:
    store = await SqliteStore.open(tmp_path / "store.db")
    async with LocalCluster(store, tmp_path / "data", workdir=tmp_path) as cluster:
        yield cluster
        with suppress(ClusterUnavailable):
            for manifest in await cluster.list("v1", "Pod"):
                with suppress(Missing):
                    await cluster.delete(Ref.of(manifest), grace=0)
                await gone(cluster, Ref.of(manifest))
    await store.close()


def shell(script: str, **more: Any) -> dict[str, Any]:
    return {"name": "pytorch", "image": "none", "command": ["sh", "-c", script], **more}


def running(script: str, *, owner: Manifest | None = None, name: str = POD.name, **spec: Any) -> Manifest:
    more = spec.pop("container", {})
    return pod(owner, name=name, spec={"containers": [shell(script, **more)], **spec})


async def output(cluster: LocalCluster, container: str = "", name: str = POD.name) -> str:
    async with asyncio.timeout(90):
        pieces = [log async for log in cluster.logs("demo", name, container=container, follow=True)]
    return b"".join(pieces).decode()


async def ended(cluster: LocalCluster, manifest: Manifest) -> Manifest:
    await cluster.create(manifest)
    return await phase(cluster, Ref.of(manifest), "Succeeded", "Failed")


async def test_init_containers_run_one_after_the_other_before_the_rest(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    init = [{**shell(f"sleep 0.1; echo {name} >> order"), "name": f"init-{name}"} for name in "ab"]
    await ended(cluster, running("echo c >> order", initContainers=init))
    assert (tmp_path / "order").read_text() == "a\nb\nc\n"


async def test_a_failed_init_container_fails_the_pod_and_nothing_else_starts(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    init = [{**shell("exit 9"), "name": "init"}]
    status = (await ended(cluster, running("touch started", initContainers=init)))["status"]
    assert status["phase"] == "Failed"
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 9
    assert "waiting" in status["containerStatuses"][0]["state"]
    assert not (tmp_path / "started").exists()


async def test_containers_run_at_the_same_time(cluster: LocalCluster) -> None:
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.01; done"
    pair = [{**shell(meet.format("a", "b")), "name": "a"}, {**shell(meet.format("b", "a")), "name": "b"}]
    assert (await ended(cluster, running("", containers=pair)))["status"]["phase"] == "Succeeded"


async def test_one_failed_container_fails_the_pod(cluster: LocalCluster) -> None:
    pair = [{**shell("exit 0"), "name": "a"}, {**shell("exit 2"), "name": "b"}]
    manifest = await ended(cluster, running("", containers=pair))
    assert manifest["status"]["phase"] == "Failed"
    codes = [status["state"]["terminated"]["exitCode"] for status in manifest["status"]["containerStatuses"]]
    assert codes == [0, 2]


async def test_a_program_that_is_not_there_fails_the_pod_with_a_sentence(cluster: LocalCluster) -> None:
    status = (await ended(cluster, pod(command=["no-such-program"])))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "CannotStart")
    assert "no-such-program" in status["message"]
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 127


async def test_a_pod_without_a_command_is_refused(cluster: LocalCluster) -> None:
    with pytest.raises(Refused, match="command: Required value"):
        await cluster.create(pod(spec={"containers": [{"name": "pytorch", "image": "pytorch:2"}]}))


async def test_a_pod_waits_for_its_config_map(cluster: LocalCluster) -> None:
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}]
    items = cluster.watch()
    await cluster.create(running("echo $A", container={"env": env}))
    waiting = await next_change(items, lambda change: "containerStatuses" in change.object.get("status", {}))
    reason = waiting.object["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]
    assert reason == "CreateContainerConfigError"
    await cluster.create(config_map(a="now"))
    assert await output(cluster) == "now\n"


async def test_files_of_config_maps_and_secrets_are_where_they_are_mounted(cluster: LocalCluster) -> None:
    await cluster.create(config_map(lr="0.1"))
    secret = config_map("keys") | {"kind": "Secret", "stringData": {"token": "s3cret"}}
    secret.pop("data")
    await cluster.create(secret)
    volumes = [
        {"name": "c", "configMap": {"name": "settings"}},
        {"name": "s", "secret": {"secretName": "keys"}},
    ]
    mounts = [{"name": "c", "mountPath": "/etc/c"}, {"name": "s", "mountPath": "/etc/s"}]
    script = "cat /etc/c/lr /etc/s/token; ls -l /etc/s/token | cut -c1-10"
    await cluster.create(running(script, volumes=volumes, container={"volumeMounts": mounts}))
    assert await output(cluster) == "0.1s3cret-rw-------\n"


async def test_an_empty_dir_is_shared_by_the_containers_and_goes_with_the_pod(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    mounts = [{"name": "scratch", "mountPath": "/scratch"}]
    init = [{**shell("echo hello > /scratch/a", volumeMounts=mounts), "name": "init"}]
    manifest = running("cat /scratch/a", initContainers=init, container={"volumeMounts": mounts})
    manifest["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    uid = (await cluster.create(manifest))["metadata"]["uid"]
    assert await output(cluster) == "hello\n"
    await cluster.delete(POD)
    await gone(cluster, POD)
    assert not (tmp_path / "data/pods" / uid / "volumes").exists()
    assert (tmp_path / "data/pods" / uid / "pytorch.log").read_text() == "hello\n"


async def test_a_claim_keeps_its_files_from_pod_to_pod(cluster: LocalCluster) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "mnist"}}]
    for name in ("first", "second"):
        script = f"echo {name} >> /data/runs; cat /data/runs"
        await cluster.create(running(script, name=name, volumes=volumes, container={"volumeMounts": mounts}))
        said = await output(cluster, name=name)
    assert said == "first\nsecond\n"


@pytest.mark.parametrize(("kind", "says"), [("Directory", "not a directory"), ("File", "does not exist")])
async def test_a_host_path_that_is_not_what_it_should_be_fails_the_pod(
    cluster: LocalCluster, tmp_path: Path, kind: str, says: str
) -> None:
    (tmp_path / "file").touch()
    path = str(tmp_path / ("file" if kind == "Directory" else "none"))
    volumes = [{"name": "v", "hostPath": {"path": path, "type": kind}}]
    status = (await ended(cluster, running("true", volumes=volumes)))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "CannotStart")
    assert says in status["message"]


def service(owner: Manifest, name: str) -> Manifest:
    meta = {"name": name, "namespace": "demo", **owned(owner)}
    ports = [{"name": "pytorch-port", "port": 23456}]
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": ports}}


_SERVER = """
import os, socket
with socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))) as server:
    server.accept()[0].sendall(b"hello")
"""
_CLIENT = """
import os, socket, sys, time
host, _, port = sys.argv[1].partition(":")
for _ in range(4000):
    try:
        print(socket.create_connection((host, int(port))).recv(9).decode(), os.environ["MASTER_PORT"] == port)
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
"""


async def test_replicas_find_each_other_by_the_names_of_their_services(cluster: LocalCluster) -> None:
    for number in range(2):  # two jobs that say the same names and ports, at the same time
        owner = await cluster.create(job(f"job-{number}"))
        master, worker = f"job-{number}-0", f"job-{number}-1"
        env = [{"name": "MASTER_ADDR", "value": master}, {"name": "MASTER_PORT", "value": "23456"}]
        await cluster.create(service(owner, master))
        server = {"name": "a", "command": [sys.executable, "-c", _SERVER], "env": env}
        client = {"name": "a", "command": [sys.executable, "-c", _CLIENT, f"{master}:23456"], "env": env}
        await cluster.create(pod(owner, name=master, spec={"containers": [server]}))
        await cluster.create(pod(owner, name=worker, spec={"containers": [client]}))
    assert [await output(cluster, name=f"job-{number}-1") for number in range(2)] == ["hello True\n"] * 2


async def test_who_waits_for_the_name_of_a_service_waits_for_nothing(cluster: LocalCluster) -> None:
    """As Workers of a PyTorchJob do (kubeflow-pytorchjob.md, section 3); there need not be an nslookup here."""
    owner = await cluster.create(job())
    await cluster.create(service(owner, "mnist-master-0"))
    wait = "err=1;for i in $(seq 9); do if nslookup mnist-master-0; then err=0 && break; fi; sleep 2; done; exit $err"
    init = [{**shell(wait), "name": "init-pytorch"}]
    await cluster.create(running("echo began", owner=owner, initContainers=init))
    assert await output(cluster) == "began\n"


async def test_a_watch_is_open_from_the_call_on(cluster: LocalCluster) -> None:
    await cluster.create(running("true"))
    items = cluster.watch()
    await cluster.delete(POD, grace=0)
    await gone(cluster, POD, seconds=60)
    await next_change(items, lambda change: change.verb is Verb.DELETED)


async def test_a_pod_is_asked_to_end_before_it_is_killed(cluster: LocalCluster) -> None:
    await cluster.create(running("trap 'exit 5' TERM; echo ready; while :; do sleep 0.02; done"))
    await wait_for_output(cluster, b"ready")
    items = cluster.watch()
    await listed(items)
    await cluster.delete(POD)
    last = await next_change(items, lambda change: change.verb is Verb.DELETED)
    assert code(last.object) == 5


async def wait_for_output(cluster: LocalCluster, expected: bytes) -> None:
    async with asyncio.timeout(90):
        async for piece in cluster.logs("demo", POD.name, follow=True):
            if expected in piece:
                return


DEAF = "trap '' TERM; sleep 1000 & echo ready; while :; do sleep 0.02; done"


async def test_a_pod_that_does_not_end_is_killed_after_its_grace_period(cluster: LocalCluster) -> None:
    await cluster.create(running(DEAF, terminationGracePeriodSeconds=1))
    await wait_for_output(cluster, b"ready")
    items = cluster.watch()
    await listed(items)
    await cluster.delete(POD)
    last = await next_change(items, lambda change: change.verb is Verb.DELETED)
    assert code(last.object) == 137


async def test_the_grace_of_the_deletion_wins(cluster: LocalCluster) -> None:
    await cluster.create(running(DEAF))
    await wait_for_output(cluster, b"ready")
    await cluster.delete(POD, grace=0.1)
    await gone(cluster, POD, seconds=60)


async def test_a_second_deletion_can_shorten_the_grace(cluster: LocalCluster) -> None:
    await cluster.create(running(DEAF))
    await wait_for_output(cluster, b"ready")
    await cluster.delete(POD, grace=1000)
    await cluster.delete(POD, grace=0)
    await gone(cluster, POD, seconds=60)


@linux
async def test_nothing_of_a_killed_pod_is_left(cluster: LocalCluster) -> None:
    await cluster.create(running("setsid sleep 1000 & " + DEAF))
    uid = (await cluster.get(POD))["metadata"]["uid"]
    await wait_for_output(cluster, b"ready")
    await cluster.delete(POD, grace=0)
    await gone(cluster, POD)
    marker = f"JOBLEDGER_CONTAINER_ID={uid}/pytorch".encode()
    await until(lambda: not shim.strays(marker))


async def test_a_pod_deleted_before_it_starts_never_starts(cluster: LocalCluster, tmp_path: Path) -> None:
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}]
    await cluster.create(running("touch started", container={"env": env}))
    await cluster.delete(POD)
    await gone(cluster, POD)
    await cluster.create(config_map(a="1"))
    assert not (tmp_path / "started").exists()


@linux
async def test_no_zombies_are_left(cluster: LocalCluster) -> None:
    before = _zombies()
    for number in range(5):
        await ended(cluster, running("true", name=f"p-{number}"))
    await until(lambda: _zombies() <= before)


def _zombies() -> set[str]:
    pids = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state == "Z" and int(parent) == os.getpid():
                pids.add(path.parent.name)
    return pids


async def test_a_log_is_streamed_while_it_is_written(cluster: LocalCluster, tmp_path: Path) -> None:
    await cluster.create(running("echo one; until [ -e go ]; do sleep 0.01; done; echo two"))
    pieces = cluster.logs("demo", POD.name, follow=True)
    async with asyncio.timeout(90):
        assert await anext(pieces) == b"one\n"
        (tmp_path / "go").touch()
        assert [piece async for piece in pieces] == [b"two\n"]


async def test_each_container_has_its_log(cluster: LocalCluster) -> None:
    pair = [{**shell("echo from a"), "name": "a"}, {**shell("echo from b"), "name": "b"}]
    await ended(cluster, running("", containers=pair))
    assert await output(cluster) == await output(cluster, "a") == "from a\n"
    assert await output(cluster, "b") == "from b\n"


async def test_what_a_local_run_does_differently_is_said_once_a_job(cluster: LocalCluster) -> None:
    owner = await cluster.create(job())
    mounts = {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
    volumes = [{"name": "scratch", "emptyDir": {}}]
    for number in range(3):
        manifest = running("true", owner=owner, name=f"p-{number}", volumes=volumes, container=mounts)
        await ended(cluster, manifest)
    meta = {"name": "board", "namespace": "demo", **owned(owner)}
    await cluster.create({"apiVersion": "tensorstack.dev/v1beta1", "kind": "TensorBoard", "metadata": meta})
    said = await cluster.events("demo", owner["metadata"]["uid"])
    assert {(event.reason, event.level) for event in said} == {("LocalRun", "Normal")}
    topics = ("image", "/scratch", "TensorBoard")
    assert [sum(topic in event.message for event in said) for topic in topics] == [1, 1, 1]


async def test_a_pod_whose_files_cannot_be_written_fails_and_says_so(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    (tmp_path / "data/pods").rmdir()
    (tmp_path / "data/pods").touch()
    status = (await ended(cluster, running("true")))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "LocalDiskError")
    assert "cannot be written" in status["message"]


async def test_the_data_folder_is_its_owners_only(cluster: LocalCluster, tmp_path: Path) -> None:
    await ended(cluster, running("true"))
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


async def test_a_job_chooses_where_its_processes_start_and_their_python(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    notes = {"jobledger.dev/workdir": str(tmp_path / "elsewhere"), "jobledger.dev/python": sys.executable}
    owner = await cluster.create(job(annotations=notes))
    script = "import os, sys; print(os.getcwd()); print(sys.executable)"
    await cluster.create(pod(owner, command=["python", "-c", script]))
    where, python = (await output(cluster)).splitlines()
    assert Path(where).samefile(tmp_path / "elsewhere")
    assert Path(python).samefile(sys.executable)


async def test_what_a_call_has_done_is_there_after_a_restart(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    async with LocalCluster(store, tmp_path / "data") as first:
        owner = await first.create(job())
        stored = await first.create(service(owner, "mnist-0"))
        await first.patch_status(Ref.of(owner), owner["metadata"]["uid"], {"phase": "Running"}, 7)
        owner = await first.get(Ref.of(owner))
    async with LocalCluster(store, tmp_path / "data") as second:
        await second.patch_status(Ref.of(owner), owner["metadata"]["uid"], {"phase": "Pending"}, 6)
        assert await second.get(Ref.of(owner)) == owner
        assert await second.children("demo", owner["metadata"]["uid"]) == [stored]
        newer = await second.create(config_map())
        assert int(newer["metadata"]["resourceVersion"]) > int(owner["metadata"]["resourceVersion"])
    await store.close()


async def test_closing_leaves_pods_alone(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.db")
    async with LocalCluster(store, tmp_path / "data", workdir=tmp_path) as first:
        await first.create(running("echo $$$$ > pid; sleep 1000"))
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        lived = processes.Process.of(int((tmp_path / "pid").read_text()))
    assert lived.is_alive()
    async with LocalCluster(store, tmp_path / "data") as second:
        await phase(second, POD, "Running")
        await second.delete(POD)
        await gone(second, POD)
        assert not lived.is_alive()
    await store.close()
