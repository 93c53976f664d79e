"""SSH between pods that are processes of this machine: real sshd, ssh and pdsh, on ports of 127.0.0.1."""

import asyncio
import base64
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.kubelet import shim
from k8s_bridge.kubelet.ports import ports_of
from k8s_bridge.local import LocalCluster
from k8s_bridge.port import Manifest, Ref
from statemachine.errors import ClusterUnavailable, Missing
from statemachine.log.store import SqliteStore
from tests.integration.cli_words import Place
from tests.unit.bridge.words import gone, job, owned, phase, pod, until

_PATH = f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin"
_ABSENT = [name for name in ("sshd", "ssh", "ssh-keygen", "pdsh") if shutil.which(name, path=_PATH) is None]

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="other systems have one loopback address only"
    ),
]
if not os.environ.get("JOBLEDGER_REQUIRE_ALL"):
    pytestmark.append(pytest.mark.skipif(bool(_ABSENT), reason=f"not installed here: {', '.join(_ABSENT)}"))

WORKERS = ("ring-worker-0", "ring-worker-1")


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


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What jobledger puts into the Secret `<job>-ssh` (spec R15)."""
    file = tmp_path_factory.mktemp("keys") / "id_rsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", file], check=True)
    public = file.with_suffix(".pub").read_text()
    config = "Host *\n    StrictHostKeyChecking no\n    UserKnownHostsFile /dev/null\n    LogLevel ERROR\n"
    return {"id_rsa": file.read_text(), "id_rsa.pub": public, "authorized_keys": public, "config": config}


def part(owner: Manifest, kind: str, name: str, **more: Any) -> Manifest:
    meta = {"name": name, "namespace": "demo", **owned(owner)}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **more}


async def a_job(cluster: LocalCluster, keys: dict[str, str]) -> Manifest:
    """A job with the objects that its pods need, but for the pods."""
    owner = await cluster.create(job("ring"))
    data = {name: base64.b64encode(text.encode()).decode() for name, text in keys.items()}
    await cluster.create(part(owner, "Secret", "ring-ssh", type="Opaque", data=data))
    lines = "".join(f"{worker} slots=1\n" for worker in WORKERS)
    await cluster.create(part(owner, "ConfigMap", "ring-hostfile", data={"hostfile": lines}))
    for name in WORKERS:
        ports = [{"name": "ssh", "port": 22}, {"name": "master", "port": 29500}]
        await cluster.create(part(owner, "Service", name, spec={"clusterIP": "None", "ports": ports}))
    return owner


def with_keys(owner: Manifest, name: str, *command: str, **container: Any) -> Manifest:
    """A pod as the kinds with SSH make it (spec R15)."""
    mounts = [
        {"name": "ssh-auth", "mountPath": "/root/.ssh", "readOnly": True},
        {"name": "hostfile", "mountPath": "/t9k/hostfile", "subPath": "hostfile"},
    ]
    volumes = [
        {"name": "ssh-auth", "secret": {"secretName": "ring-ssh", "defaultMode": 0o600}},
        {"name": "hostfile", "configMap": {"name": "ring-hostfile"}},
    ]
    main = {
        "name": "worker",
        "image": "none",
        "command": list(command),
        "volumeMounts": mounts,
        "env": [{"name": "SECRET_OF", "value": name}],
        **container,
    }
    return pod(owner, name=name, spec={"containers": [main], "volumes": volumes})


async def said(cluster: LocalCluster, name: str) -> str:
    async with asyncio.timeout(90):
        return b"".join([log async for log in cluster.logs("demo", name, follow=True)]).decode()


REACH = """\
for host in $(cut -d' ' -f1 /t9k/hostfile); do
    until ssh -o BatchMode=yes -o ConnectTimeout=2 "$host" true </dev/null; do sleep 0.1; done
done
"""


async def test_a_launcher_reaches_every_worker_over_ssh_and_pdsh(
    cluster: LocalCluster, keys: dict[str, str], tmp_path: Path
) -> None:
    owner = await a_job(cluster, keys)
    for name in WORKERS:
        await cluster.create(with_keys(owner, name, "/usr/sbin/sshd", "-D"))
    script = REACH + (
        "hosts=$(cut -d' ' -f1 /t9k/hostfile | paste -sd,)\n"
        "pdsh -S -R ssh -w $hosts 'echo pdsh $HOSTNAME' | sed 's/^[^:]*: //' | sort\n"
        "ssh ring-worker-1 'echo ssh $HOSTNAME $SECRET_OF'\n"
        "ssh ring-worker-0.demo.svc hostname >/dev/null && echo domain\n"
        "ssh ring-worker-1 'exit 7'; echo $?\n"
    )
    await cluster.create(with_keys(owner, "ring-launcher", "/bin/sh", "-c", script))
    log = await said(cluster, "ring-launcher")
    assert log.splitlines()[-5:] == [
        "pdsh ring-worker-0",
        "pdsh ring-worker-1",
        "ssh ring-worker-1",
        "domain",
        "7",
    ]
    await phase(cluster, Ref("v1", "Pod", "demo", "ring-launcher"), "Succeeded")


async def test_a_worker_that_starts_its_server_in_the_background_reaches_itself_and_leaves_nothing(
    cluster: LocalCluster, keys: dict[str, str], tmp_path: Path
) -> None:
    """As worker-0 of a DeepSpeedJob does (deepspeedjob.md, section 4)."""
    owner = await a_job(cluster, keys)
    await cluster.create(with_keys(owner, WORKERS[1], "/usr/sbin/sshd", "-D"))
    script = (
        "mkdir -p /run/sshd && /usr/sbin/sshd\nprintf 'A=1\\n' >/root/.deepspeed_env\n"
        + REACH
        + "cat ~/.deepspeed_env\nssh ring-worker-1 'sleep 1000' & ssh ring-worker-0 hostname >/dev/null; echo done\n"
    )
    created = await cluster.create(with_keys(owner, WORKERS[0], "/bin/sh", "-c", script))
    assert (await said(cluster, WORKERS[0])).splitlines()[-2:] == ["A=1", "done"]
    await phase(cluster, Ref("v1", "Pod", "demo", WORKERS[0]), "Succeeded")
    services = await cluster.list("v1", "Service", "demo")
    [port] = [ports_of(service)[22] for service in services if service["metadata"]["name"] == WORKERS[0]]
    await until(lambda: not _listens(port))
    marker = f"JOBLEDGER_CONTAINER_ID={created['metadata']['uid']}/worker".encode()
    await until(lambda: not shim.strays(marker))


async def test_wrappers_that_are_written_again_start_the_programs_of_this_machine(
    keys: dict[str, str], tmp_path: Path
) -> None:
    """A controller that adopts a pod renews its files, and so does a change of its Secret."""
    store = await SqliteStore.open(tmp_path / "store.db")
    ref = Ref("v1", "Pod", "demo", WORKERS[0])
    async with LocalCluster(store, tmp_path / "data", workdir=tmp_path) as first:
        owner = await a_job(first, keys)
        script = (
            "command -v ssh; until test -e go; do sleep 0.1; done; ssh -V && /usr/sbin/sshd -V && echo both"
        )
        await first.create(with_keys(owner, WORKERS[0], "/bin/sh", "-c", f"({script}) 2>&1"))
        await phase(first, ref, "Running")
    async with LocalCluster(store, tmp_path / "data", workdir=tmp_path) as second:
        try:
            await until_renewed(second, tmp_path)
            wrappers = {path: path.read_text() for path in tmp_path.glob("data/**/bin/ssh*")}
            assert sorted(wrapper.name for wrapper in wrappers) == ["ssh", "sshd"]
            assert [name for name, text in wrappers.items() if f'"{name}"' in text] == []
            (tmp_path / "go").touch()
            lines = (await said(second, WORKERS[0])).splitlines()
            assert lines[0].rpartition("/")[2] == "ssh"
            assert "both" in lines[1:]  # the server goes to the background, and may speak last
        finally:
            await second.delete(ref, grace=0)
            await gone(second, ref)
    await store.close()


async def until_renewed(cluster: LocalCluster, folder: Path) -> None:
    """A change of the job's Secret has come to the pod's files."""
    secret = Ref("v1", "Secret", "demo", "ring-ssh")
    await cluster.patch(secret, {"data": {"note": base64.b64encode(b"new").decode()}})
    await until(lambda: bool(list(folder.glob("data/**/.ssh/note"))))


async def test_a_worker_that_is_killed_takes_what_came_over_ssh_with_it(
    cluster: LocalCluster, keys: dict[str, str], tmp_path: Path
) -> None:
    owner = await a_job(cluster, keys)
    for name in WORKERS:
        await cluster.create(with_keys(owner, name, "/usr/sbin/sshd", "-D"))
    script = REACH + f"ssh ring-worker-1 'echo $$$$ >{tmp_path}/remote; sleep 1000; :'; echo ended $?"
    await cluster.create(with_keys(owner, "ring-launcher", "/bin/sh", "-c", script))
    remote = tmp_path / "remote"
    await until(lambda: remote.exists() and remote.read_text() != "")
    await cluster.delete(Ref("v1", "Pod", "demo", WORKERS[1]), grace=1)
    assert "ended 255" in await said(cluster, "ring-launcher")
    await until(lambda: not Path("/proc", remote.read_text().strip()).exists())


async def test_ssh_is_for_who_has_the_keys_only(
    cluster: LocalCluster, keys: dict[str, str], tmp_path: Path
) -> None:
    owner = await a_job(cluster, keys)
    for name in WORKERS:
        await cluster.create(with_keys(owner, name, "/usr/sbin/sshd", "-D"))
    await cluster.create(with_keys(owner, "ring-launcher", "/bin/sh", "-c", REACH))
    await phase(cluster, Ref("v1", "Pod", "demo", "ring-launcher"), "Succeeded")
    services = {
        manifest["metadata"]["name"]: ports_of(manifest)
        for manifest in await cluster.list("v1", "Service", "demo")
    }
    options = ["-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    tried = ["ssh", *options, "-o", "BatchMode=yes", "-p", str(services[WORKERS[0]][22]), "127.0.0.1", "true"]
    process = await asyncio.create_subprocess_exec(*tried, stderr=asyncio.subprocess.PIPE)
    _, error = await process.communicate()
    assert process.returncode == 255
    assert b"Permission denied (publickey)" in error


_TRAIN = "import os, sys, socket; print(*sys.argv[1:])"


async def test_the_port_of_the_master_is_one_of_this_machine(
    cluster: LocalCluster, keys: dict[str, str]
) -> None:
    owner = await a_job(cluster, keys)
    line = ["--master_addr=ring-worker-0", "--master_port=29500"]
    await cluster.create(with_keys(owner, WORKERS[0], sys.executable, "-c", _TRAIN, *line))
    address, port = [line.partition("=")[2] for line in (await said(cluster, WORKERS[0])).split()]
    services = {
        manifest["metadata"]["name"]: ports_of(manifest)
        for manifest in await cluster.list("v1", "Service", "demo")
    }
    assert int(port) == services[WORKERS[0]][29500]
    assert address.startswith("127.")


_DEEPSPEED = """\
#!/bin/sh
# Stands for deepspeed's launcher: a process for each worker of the hostfile, started by pdsh, each with its rank.
for word in "$@"; do
    case $word in
    --hostfile=*) hostfile=${word#*=} ;;
    --master_addr=*) address=${word#*=} ;;
    --master_port=*) port=${word#*=} ;;
    *) program=$word ;;
    esac
done
hosts=$(cut -d' ' -f1 "$hostfile" | paste -sd,)
exports=$(sed 's/^/export /' ~/.deepspeed_env | paste -sd';')
exec pdsh -S -R ssh -w "$hosts" "$exports; RANK=%n PORT=$port ADDRESS=$address exec '$PYTHON' '$PWD/$program'"
"""

_RING = """\
import os, socket, time
rank, place = int(os.environ["RANK"]), (os.environ["ADDRESS"], int(os.environ["PORT"]))
if rank == 0:
    with socket.create_server(("", place[1])) as server:
        connection, _ = server.accept()
        print("heard", connection.recv(100).decode(), "in", os.environ["HOSTNAME"], flush=True)
else:
    for _ in range(500):
        try:
            with socket.create_connection(place) as connection:
                connection.sendall(f"{os.environ['HOSTNAME']} with {os.environ['LR']}".encode())
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
"""


def test_a_deepspeed_job_trains_on_one_machine(place: Place) -> None:
    """The whole way: keys, hostfile, servers, the launcher's own pdsh, and the port of the master."""
    launcher = place.folder / "deepspeed"
    launcher.write_text(_DEEPSPEED)
    launcher.chmod(0o755)
    (place.folder / "train.py").write_text(_RING)
    env = [{"name": "LR", "value": "0.1"}, {"name": "PYTHON", "value": sys.executable}]
    path = {"name": "PATH", "value": f"{place.folder}:{os.environ['PATH']}"}
    worker = {"name": "worker", "image": "none", "env": [*env, path]}
    spec = {
        "config": {"slotsPerWorker": 1, "run": {"python": ["train.py"]}},
        "worker": {"replicas": 2, "template": {"spec": {"containers": [worker]}}},
        "runPolicy": {"cleanUpPolicy": "Unfinished"},
    }
    manifest = {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "DeepSpeedJob",
        "metadata": {"name": "ring"},
        "spec": spec,
    }
    file = place.write("ring.yaml", manifest)
    done = place.run("run", file, "--logs", "--timeout=50s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "heard ring-worker-1 with 0.1 in ring-worker-0" in done.stdout
    assert not _servers(place.folder)


def _servers(folder: Path) -> list[str]:
    """The command lines of the SSH servers whose config is in `folder`."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            commands.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return [command for command in commands if "sshd" in command and str(folder) in command]


def _listens(port: int) -> bool:

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
