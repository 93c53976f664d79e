"""ConfigMaps and Secrets as files of local pods: who may read them, and when they change."""

import base64
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.local import LocalCluster
from k8s_bridge.port import Manifest, Ref
from statemachine.errors import ClusterUnavailable, Missing
from statemachine.log.store import SqliteStore
from tests.unit.bridge.words import config_map, gone, phase, pod, until

POD = Ref("v1", "Pod", "demo", "mnist-7ac1b-worker-0")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "store.db")
    yield store
    await store.close()


@pytest.fixture
async def cluster(store: SqliteStore, tmp_path: Path) -> AsyncIterator[LocalCluster]:
    async with LocalCluster(store, tmp_path / "data", workdir=tmp_path) as cluster:
        yield cluster
        with suppress(ClusterUnavailable):
            for manifest in await cluster.list("v1", "Pod"):
                with suppress(Missing):
                    await cluster.delete(Ref.of(manifest), grace=0)
                await gone(cluster, Ref.of(manifest))


def mounting(volume: dict[str, Any], *mounts: dict[str, Any], script: str = "sleep 1000") -> Manifest:
    listed = [{"name": "v", "mountPath": "/etc/v", **mount} for mount in mounts or ({},)]
    main = {"name": "pytorch", "image": "none", "command": ["sh", "-c", script], "volumeMounts": listed}
    return pod(spec={"containers": [main], "volumes": [{"name": "v", **volume}]})


async def started(cluster: LocalCluster, manifest: Manifest, data: Path) -> Path:
    """The folder of the volumes of a pod that runs."""
    uid = str((await cluster.create(manifest))["metadata"]["uid"])
    await phase(cluster, POD, "Running")
    return data / "pods" / uid / "volumes"


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
async def test_files_follow_their_object(cluster: LocalCluster, tmp_path: Path, kind: str) -> None:
    def value(text: str) -> str:
        return base64.b64encode(text.encode()).decode() if kind == "Secret" else text

    ref = Ref.of(await cluster.create(config_map(a=value("old"), b=value("gone")) | {"kind": kind}))
    source = (
        {"secret": {"secretName": "settings"}} if kind == "Secret" else {"configMap": {"name": "settings"}}
    )
    folder = await started(cluster, mounting(source), tmp_path / "data") / "v"
    assert (folder / "a").read_text() == "old"
    await cluster.patch(ref, {"data": {"a": value("new"), "b": None, "c": value("more")}})
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"a": "new", "c": "more"}


async def test_a_file_mounted_with_sub_path_stays_as_it_was_at_the_start(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    ref = Ref.of(await cluster.create(config_map(hostfile="one\n")))
    mounts = [{"mountPath": "/t9k/hostfile", "subPath": "hostfile"}, {"mountPath": "/etc/all"}]
    script = "until [ -e go ]; do sleep 0.01; done; cat /t9k/hostfile /etc/all/hostfile"
    await cluster.create(mounting({"configMap": {"name": "settings"}}, *mounts, script=script))
    await phase(cluster, POD, "Running")
    await cluster.patch(ref, {"data": {"hostfile": "two\n"}})
    (tmp_path / "go").touch()
    await phase(cluster, POD, "Succeeded")
    assert b"".join([log async for log in cluster.logs("demo", POD.name)]) == b"one\ntwo\n"


async def test_a_change_while_nobody_looked_reaches_the_files(store: SqliteStore, tmp_path: Path) -> None:
    source = {"configMap": {"name": "settings"}}
    async with LocalCluster(store, tmp_path / "data") as first:
        ref = Ref.of(await first.create(config_map(a="old")))
        file = await started(first, mounting(source), tmp_path / "data") / "v/a"
    file.write_text("torn")
    async with LocalCluster(store, tmp_path / "data") as second:
        await until(lambda: file.read_text() == "old")
        await second.patch(ref, {"data": {"a": "new"}})
        assert file.read_text() == "new"
        await second.delete(POD, grace=0)
        await gone(second, POD)


@pytest.mark.parametrize(
    ("kind", "asked", "modes"),
    [
        ("configMap", {}, (0o644, 0o644)),
        ("configMap", {"defaultMode": 0o755}, (0o755, 0o755)),
        (
            "configMap",
            {"defaultMode": 0o600, "items": [{"key": "a", "path": "a", "mode": 0o700}]},
            (0o700, None),
        ),
        ("secret", {}, (0o600, 0o600)),
        ("secret", {"defaultMode": 0o644}, (0o600, 0o600)),
        ("secret", {"defaultMode": 0o400}, (0o400, 0o400)),
    ],
)
async def test_files_have_the_mode_that_was_asked_for_and_secrets_are_nobody_elses(
    cluster: LocalCluster, tmp_path: Path, kind: str, asked: dict[str, Any], modes: tuple[int, int | None]
) -> None:
    encoded = base64.b64encode(b"x").decode()
    made = config_map(a=encoded, b=encoded) | {"kind": "Secret" if kind == "secret" else "ConfigMap"}
    await cluster.create(made)
    name = {"secretName" if kind == "secret" else "name": "settings"}
    folder = await started(cluster, mounting({kind: {**name, **asked}}), tmp_path / "data") / "v"
    actual = [(folder / file).stat().st_mode & 0o777 if (folder / file).exists() else None for file in "ab"]
    assert tuple(actual) == modes
