"""What every Cluster adapter must do: one test a sentence of `k8s_bridge.port`."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from k8s_bridge.apiserver.cluster import ApiServerCluster
from k8s_bridge.local import LocalCluster
from k8s_bridge.port import EVIDENCE, Change, Cluster, JobEvent, Manifest, Ref, Synced, Verb
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.log.store import SqliteStore
from tests.harness import Cluster as Harness
from tests.ports import real
from tests.support.memory_cluster import MemoryCluster
from tests.unit.bridge import words
from tests.unit.bridge.words import AT, JOB_API, code, gone, listed, next_change, phase, service

DEMO = f"port-suite-{secrets.token_hex(4)}"
"""A namespace that nobody else has: one of the clusters is shared."""

A, B = f"{DEMO}-a", f"{DEMO}-b"

JOB = Ref(JOB_API, "PyTorchTrainingJob", DEMO, "mnist")
POD = Ref("v1", "Pod", DEMO, "mnist-7ac1b-worker-0")

job, pod, config_map = (
    partial(words.job, namespace=DEMO),
    partial(words.pod, namespace=DEMO),
    partial(words.config_map, namespace=DEMO),
)

HAS_PROCESSES = pytest.mark.parametrize("cluster", ["memory", "local"], indirect=True)
"""For what only containers can tell: nothing runs on the nodes that KWOK plays for the real API server."""


@asynccontextmanager
async def opened(adapter: str, folder: Path) -> AsyncIterator[Cluster]:
    if adapter == "memory":
        cluster = MemoryCluster()
        yield cluster
        await cluster.close()
    else:
        store = await SqliteStore.open(folder / "store.db")
        async with LocalCluster(store, folder / "store.db.d") as local:
            yield local
            with suppress(ClusterUnavailable):  # a test has closed it
                await emptied(local)
        await store.close()


async def emptied(cluster: Cluster) -> None:
    """No pod, and so no process, is left."""
    for pod in await cluster.list("v1", "Pod"):
        await cluster.patch(Ref.of(pod), {"metadata": {"finalizers": None}})
        with suppress(Missing):
            await cluster.delete(Ref.of(pod), grace=0)
        await gone(cluster, Ref.of(pod))


@pytest.fixture(scope="module")
def real_cluster(job_crds: Harness) -> Iterator[Harness]:
    with real.namespaces(job_crds, DEMO, A, B) as cluster:
        yield cluster


@pytest.fixture(params=["memory", "local", pytest.param("apiserver", marks=pytest.mark.integration)])
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cluster]:
    if request.param == "apiserver":
        async with real.emptied(request.getfixturevalue("real_cluster"), DEMO, A, B) as there:
            yield there
    else:
        async with opened(request.param, tmp_path) as cluster:
            yield cluster


async def test_an_object_is_read_as_it_was_created(cluster: Cluster) -> None:
    created = await cluster.create(job())
    assert await cluster.get(JOB) == created


async def test_create_gives_uid_version_generation_and_time(cluster: Cluster) -> None:
    meta = (await cluster.create(job()))["metadata"]
    assert meta["uid"]
    assert meta["generation"] == 1
    assert int(meta["resourceVersion"]) > 0
    assert meta["creationTimestamp"].endswith("Z")


async def test_create_chooses_the_uid_itself(cluster: Cluster) -> None:
    assert (await cluster.create(job(uid="mine")))["metadata"]["uid"] != "mine"


async def test_a_missing_namespace_is_default(cluster: Cluster) -> None:
    manifest = config_map(DEMO)
    del manifest["metadata"]["namespace"]
    created = Ref.of(await cluster.create(manifest))
    await cluster.delete(created)
    assert created.namespace == "default"


async def test_create_with_a_taken_name_conflicts(cluster: Cluster) -> None:
    await cluster.create(job())
    with pytest.raises(Conflict):
        await cluster.create(job())


async def test_create_refuses_an_object_without_a_name(cluster: Cluster) -> None:
    with pytest.raises(Refused) as refused:
        await cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    assert refused.value.status == 422


async def test_what_the_caller_does_to_its_manifest_later_is_not_stored(cluster: Cluster) -> None:
    manifest = config_map(a="1")
    stored = await cluster.create(manifest)
    manifest["data"]["a"] = stored["data"]["a"] = "2"
    assert (await cluster.get(Ref.of(manifest)))["data"] == {"a": "1"}


async def test_get_of_nothing_is_missing(cluster: Cluster) -> None:
    with pytest.raises(Missing):
        await cluster.get(JOB)


async def test_list_is_by_namespace_and_name(cluster: Cluster) -> None:
    for namespace, name in ((B, "a"), (A, "z"), (A, "b")):
        await cluster.create(job(name, namespace=namespace))
    refs = [Ref.of(manifest) for manifest in await cluster.list(JOB_API, "PyTorchTrainingJob")]
    ours = [(ref.namespace, ref.name) for ref in refs if ref.namespace in (A, B)]
    assert ours == [(A, "b"), (A, "z"), (B, "a")]
    listing = await cluster.list(JOB_API, "PyTorchTrainingJob", B)
    assert [manifest["metadata"]["name"] for manifest in listing] == ["a"]


async def test_list_is_of_one_kind_of_one_group(cluster: Cluster) -> None:
    await cluster.create(job())
    await cluster.create(config_map())
    assert len(await cluster.list(JOB_API, "PyTorchTrainingJob", DEMO)) == 1
    assert not await cluster.list("other/v1", "PyTorchTrainingJob")


async def test_children_are_those_the_job_controls(cluster: Cluster) -> None:
    owner, other = await cluster.create(job()), await cluster.create(job("other"))
    await cluster.create(service(other, "another"))
    await cluster.create(service(owner, "mine"))
    await cluster.create(pod(owner))
    children = await cluster.children(DEMO, owner["metadata"]["uid"])
    assert sorted(map(Ref.of, children)) == [POD, Ref("v1", "Service", DEMO, "mine")]
    anywhere = await cluster.children("", owner["metadata"]["uid"])
    assert sorted(map(Ref.of, anywhere)) == sorted(map(Ref.of, children))


async def test_children_of_a_watched_cluster_are_those_that_were_just_made(cluster: Cluster) -> None:
    await listed(cluster.watch())
    owner = await cluster.create(job())
    created = await cluster.create(pod(owner))
    children = await cluster.children(DEMO, owner["metadata"]["uid"])
    assert [child["metadata"]["uid"] for child in children] == [created["metadata"]["uid"]]
    assert await cluster.children("", owner["metadata"]["uid"]) == children
    assert owner["metadata"]["uid"] in cluster.owners()


async def test_patch_merges_and_null_removes(cluster: Cluster) -> None:
    await cluster.create(config_map(a="1", b="2"))
    ref = Ref("v1", "ConfigMap", DEMO, "settings")
    patched = await cluster.patch(ref, {"data": {"a": None, "c": "3"}})
    assert patched["data"] == {"b": "2", "c": "3"} == (await cluster.get(ref))["data"]


async def test_patch_of_the_spec_raises_the_generation(cluster: Cluster) -> None:
    await cluster.create(job())
    assert (await cluster.patch(JOB, {"spec": {"runPolicy": {"backoffLimit": 1}}}))["metadata"][
        "generation"
    ] == 2
    assert (await cluster.patch(JOB, {"metadata": {"labels": {"a": "b"}}}))["metadata"]["generation"] == 2


async def test_patch_cannot_change_what_an_object_is(cluster: Cluster) -> None:
    created = await cluster.create(job())
    patched = await cluster.patch(JOB, {"kind": "Other", "metadata": {"uid": "x", "name": "y"}})
    assert patched == created


async def test_patch_leaves_the_status_alone(cluster: Cluster) -> None:
    await cluster.create(job())
    assert "status" not in await cluster.patch(JOB, {"status": {"phase": "Running"}})


async def test_patch_of_nothing_is_missing(cluster: Cluster) -> None:
    with pytest.raises(Missing):
        await cluster.patch(JOB, {})


async def test_patch_of_another_uid_conflicts(cluster: Cluster) -> None:
    await cluster.create(job())
    with pytest.raises(Conflict):
        await cluster.patch(JOB, {"spec": {}}, uid="another")


async def test_patch_of_an_older_version_conflicts(cluster: Cluster) -> None:
    old = await cluster.create(job())
    await cluster.patch(JOB, {"metadata": {"labels": {"a": "b"}}})
    version = old["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        await cluster.patch(JOB, {"metadata": {"resourceVersion": version, "labels": {"a": "c"}}})


async def test_a_status_is_written_whole(cluster: Cluster) -> None:
    uid = (await cluster.create(job()))["metadata"]["uid"]
    await cluster.patch_status(JOB, uid, {"phase": "Pending", "old": 1}, 1)
    await cluster.patch_status(JOB, uid, {"phase": "Running"}, 2)
    manifest = await cluster.get(JOB)
    assert manifest["status"] == {"phase": "Running"}
    assert manifest["metadata"]["generation"] == 1


async def test_a_status_of_a_lower_seq_is_not_written(cluster: Cluster) -> None:
    uid = (await cluster.create(job()))["metadata"]["uid"]
    await cluster.patch_status(JOB, uid, {"phase": "Running"}, 5)
    await cluster.patch_status(JOB, uid, {"phase": "Pending"}, 4)
    assert (await cluster.get(JOB))["status"] == {"phase": "Running"}


async def test_a_status_of_the_same_seq_is_written(cluster: Cluster) -> None:
    uid = (await cluster.create(job()))["metadata"]["uid"]
    await cluster.patch_status(JOB, uid, {"phase": "Running"}, 5)
    await cluster.patch_status(JOB, uid, {"phase": "Failed"}, 5)
    assert (await cluster.get(JOB))["status"] == {"phase": "Failed"}


async def test_a_status_for_another_uid_is_missing(cluster: Cluster) -> None:
    await cluster.create(job())
    with pytest.raises(Missing):
        await cluster.patch_status(JOB, "another", {}, 1)


async def test_delete_of_nothing_is_missing(cluster: Cluster) -> None:
    with pytest.raises(Missing):
        await cluster.delete(JOB)


async def test_delete_of_another_uid_conflicts(cluster: Cluster) -> None:
    await cluster.create(job())
    with pytest.raises(Conflict):
        await cluster.delete(JOB, uid="another")


async def test_delete_of_an_older_version_conflicts(cluster: Cluster) -> None:
    old = (await cluster.create(job()))["metadata"]
    await cluster.patch(JOB, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict):
        await cluster.delete(JOB, uid=old["uid"], version=old["resourceVersion"])
    now = (await cluster.get(JOB))["metadata"]
    await cluster.delete(JOB, uid=now["uid"], version=now["resourceVersion"])
    await gone(cluster, JOB)


async def test_what_nothing_holds_is_gone_when_deleted(cluster: Cluster) -> None:
    uid = (await cluster.create(job()))["metadata"]["uid"]
    await cluster.delete(JOB, uid=uid)
    with pytest.raises(Missing):
        await cluster.get(JOB)


async def test_an_object_with_a_finalizer_stays_until_it_is_off(cluster: Cluster) -> None:
    await cluster.create(job(finalizers=["example.org/hold"]))
    await cluster.delete(JOB)
    assert (await cluster.get(JOB))["metadata"]["deletionTimestamp"]
    await cluster.patch(JOB, {"metadata": {"finalizers": None}})
    with pytest.raises(Missing):
        await cluster.get(JOB)


async def test_a_name_is_free_again_and_the_uid_another(cluster: Cluster) -> None:
    first = await cluster.create(job())
    await cluster.delete(JOB)
    assert (await cluster.create(job()))["metadata"]["uid"] != first["metadata"]["uid"]


async def test_a_pod_runs_on_a_node(cluster: Cluster) -> None:
    created = await cluster.create(pod())
    assert created["status"]["phase"] == "Pending"
    running = await phase(cluster, POD, "Running")
    assert running["spec"]["nodeName"]
    assert running["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
    conditions = {condition["type"]: condition["status"] for condition in running["status"]["conditions"]}
    assert conditions["Ready"] == "True"


@pytest.mark.parametrize("wanted", [0, 3])
async def test_a_pod_ends_with_its_containers_exit_code(cluster: Cluster, wanted: int) -> None:
    await cluster.create(pod(command=["sh", "-c", f"exit {wanted}"], run_seconds="0", exit_code=str(wanted)))
    ended = await phase(cluster, POD, "Succeeded", "Failed")
    assert ended["status"]["phase"] == ("Failed" if wanted else "Succeeded")
    assert code(ended) == wanted


async def test_a_deleted_pod_is_marked_and_goes_when_its_processes_are_gone(cluster: Cluster) -> None:
    await cluster.create(pod())
    await phase(cluster, POD, "Running")
    items = cluster.watch()
    await listed(items)
    await cluster.delete(POD)
    marked = await next_change(items, lambda change: "deletionTimestamp" in change.object["metadata"])
    assert marked.verb is Verb.MODIFIED
    assert await next_change(items, lambda change: change.verb is Verb.DELETED)


@HAS_PROCESSES
async def test_the_last_form_of_a_deleted_pod_tells_its_exit_code(cluster: Cluster) -> None:
    await cluster.create(pod())
    await phase(cluster, POD, "Running")
    items = cluster.watch()
    await listed(items)
    await cluster.delete(POD)
    last = await next_change(items, lambda change: change.verb is Verb.DELETED)
    assert last.object["status"]["phase"] == "Failed"
    assert code(last.object) == 143


async def stopped(cluster: Cluster, ref: Ref) -> Manifest:
    """The pod, once nothing of it runs: it has Failed, or, by a kubelet, was given no time at all any more."""
    async with asyncio.timeout(90):
        while True:
            manifest = await cluster.get(ref)
            if (
                manifest["status"]["phase"] == "Failed"
                or not manifest["metadata"]["deletionGracePeriodSeconds"]
            ):
                return manifest
            await asyncio.sleep(0.005)


async def test_a_deleted_pod_with_evidence_stays_until_released(cluster: Cluster) -> None:
    created = await cluster.create(pod(evidence=True))
    await phase(cluster, POD, "Running")
    await cluster.delete(POD, grace=1)
    held = await stopped(cluster, POD)
    assert held["metadata"]["finalizers"] == [EVIDENCE]
    await cluster.release(POD, created["metadata"]["uid"])
    await gone(cluster, POD)


async def test_a_released_pod_that_nobody_deletes_stays(cluster: Cluster) -> None:
    created = await cluster.create(pod(evidence=True))
    await cluster.release(POD, created["metadata"]["uid"])
    assert not (await cluster.get(POD))["metadata"].get("finalizers")


async def test_an_ended_pod_is_gone_at_once_when_deleted(cluster: Cluster) -> None:
    await cluster.create(pod(command=["true"], run_seconds="0"))
    await phase(cluster, POD, "Succeeded")
    await cluster.delete(POD)
    await gone(cluster, POD)


async def test_orphans_are_held_pods_whose_job_is_gone(cluster: Cluster) -> None:
    owner, other = await cluster.create(job()), await cluster.create(job("other"))
    await cluster.create(pod(owner, name="a", evidence=True))
    await cluster.create(pod(other, name="b", evidence=True))
    await cluster.create(pod(name="c", evidence=True))
    await cluster.create(pod(name="d"))
    items = cluster.watch()
    await listed(items)
    assert [orphan["metadata"]["name"] for orphan in await cluster.orphans()] == ["c"]
    await cluster.delete(JOB)
    await next_change(items, lambda change: change.verb is Verb.DELETED)
    assert sorted(orphan["metadata"]["name"] for orphan in await cluster.orphans()) == ["a", "c"]


async def test_a_look_shows_a_pod_whatever_its_labels_and_children_know_it(cluster: Cluster) -> None:
    owner = await cluster.create(job())
    uid = (await cluster.create(pod(owner)))["metadata"]["uid"]
    items = cluster.watch()
    await listed(items)
    bare = {"metadata": {"labels": None, "ownerReferences": None}}
    await cluster.patch(POD, bare, uid=uid)
    await next_change(items, lambda change: change.object["metadata"]["uid"] == uid)
    sight = await cluster.look(POD, uid)
    assert sight.object == await cluster.get(POD)
    children = await cluster.children(DEMO, owner["metadata"]["uid"], (uid,))
    assert [manifest["metadata"]["uid"] for manifest in children] == [uid]


async def test_a_look_shows_neither_another_pod_of_the_name_nor_one_that_is_gone(cluster: Cluster) -> None:
    await cluster.create(pod())
    assert (await cluster.look(POD, "another")).object is None
    assert (await cluster.look(POD._replace(name="no-such-pod"), "any")).object is None


async def test_release_of_nothing_is_missing(cluster: Cluster) -> None:
    with pytest.raises(Missing):
        await cluster.release(POD, "any")


async def test_release_of_another_uid_conflicts(cluster: Cluster) -> None:
    await cluster.create(pod(evidence=True))
    with pytest.raises(Conflict):
        await cluster.release(POD, "another")


async def test_a_watch_lists_what_exists_jobs_first_then_says_synced(cluster: Cluster) -> None:
    await cluster.create(config_map())
    await cluster.create(pod())
    await phase(cluster, POD, "Running")  # and does not change any more
    owner = await cluster.create(job())
    received = await listed(cluster.watch())
    assert [(change.verb, change.object["kind"]) for change in received] == [
        (Verb.ADDED, "PyTorchTrainingJob"),
        (Verb.ADDED, "Pod"),
    ]
    assert received[0].object == owner


async def test_a_watch_tells_changes_after_synced(cluster: Cluster) -> None:
    items = cluster.watch()
    assert await listed(items) == []
    await cluster.create(job())
    await cluster.patch(JOB, {"spec": {"runPolicy": {"backoffLimit": 7}}})
    await cluster.delete(JOB)
    next_changes = [await next_change(items, lambda _: True) for _ in range(3)]
    assert [change.verb for change in next_changes] == [Verb.ADDED, Verb.MODIFIED, Verb.DELETED]
    assert next_changes[2].object["spec"]["runPolicy"]["backoffLimit"] == 7


async def test_every_watch_tells_everything(cluster: Cluster) -> None:
    watches = [cluster.watch(), cluster.watch()]
    await cluster.create(job())
    for items in watches:
        assert (await next_change(items, lambda _: True)).object["metadata"]["name"] == "mnist"


async def test_a_change_that_changes_nothing_is_not_reported(cluster: Cluster) -> None:
    await cluster.create(job(labels={"a": "b"}))
    items = cluster.watch()
    await listed(items)
    await cluster.patch(JOB, {"metadata": {"labels": {"a": "b"}}})
    await cluster.patch(JOB, {"metadata": {"labels": {"a": "c"}}})
    assert (await next_change(items, lambda _: True)).object["metadata"]["labels"] == {"a": "c"}


async def test_watches_begin_with_synced_when_nothing_exists(cluster: Cluster) -> None:
    assert isinstance(await anext(cluster.watch()), Synced)


def happening(about: Manifest, name: str, *, after: int = 0) -> JobEvent:
    uid = about["metadata"]["uid"]
    return JobEvent(JOB, uid, name, "Start", f"said by {name}", "Normal", AT + timedelta(seconds=after))


async def test_events_of_a_job_are_oldest_first(cluster: Cluster) -> None:
    owner = await cluster.create(job())
    second, first = happening(owner, "b", after=2), happening(owner, "a", after=1)
    await cluster.emit(second)
    await cluster.emit(first)
    assert await cluster.events(DEMO, owner["metadata"]["uid"]) == [first, second]


async def test_an_event_of_a_name_is_written_once(cluster: Cluster) -> None:
    owner = await cluster.create(job())
    await cluster.emit(happening(owner, "a"))
    await cluster.emit(happening(owner, "a", after=5))
    assert await cluster.events(DEMO, owner["metadata"]["uid"]) == [happening(owner, "a")]


async def test_events_of_another_job_are_left_out(cluster: Cluster) -> None:
    owner = await cluster.create(job())
    await cluster.emit(happening(owner, "a"))
    assert not await cluster.events(DEMO, "another")
    assert not await cluster.events("other", owner["metadata"]["uid"])


async def test_what_happened_to_several_objects_is_listed_together_oldest_first(cluster: Cluster) -> None:
    owner = await cluster.create(job())
    other = {"metadata": {"uid": "another"}}
    for event in (
        happening(owner, "b", after=2),
        happening(other, "a", after=1),
        happening(owner, "c", after=3),
    ):
        await cluster.emit(event)
    uid = owner["metadata"]["uid"]
    happenings = await cluster.events_about(DEMO, [uid, "another"])
    assert [happening.message for happening in happenings] == ["said by a", "said by b", "said by c"]
    first = happenings[0]
    assert (first.uid, first.first_at, first.count) == (
        "another",
        AT + timedelta(seconds=1),
        1,
    )
    assert {happening.by for happening in happenings} == {"jobledger"}
    assert [happening.message for happening in await cluster.events_about(DEMO, ["another"])] == ["said by a"]
    assert not await cluster.events_about("other", [uid])


async def test_what_happened_to_an_object_is_listed_by_its_kind_and_name_too(cluster: Cluster) -> None:
    owner = await cluster.create(job())
    await cluster.emit(happening(owner, "a"))
    meta = owner["metadata"]
    for names in ([(owner["kind"], meta["name"])], [("Pod", "x"), (owner["kind"], meta["name"])]):
        [reported] = await cluster.events_about(DEMO, [], names)
        assert (reported.uid, reported.message) == (meta["uid"], "said by a")
    assert len(await cluster.events_about(DEMO, [meta["uid"]], [(owner["kind"], meta["name"])])) == 1
    assert not await cluster.events_about(DEMO, [], [("Pod", meta["name"]), (owner["kind"], "other")])


async def written(cluster: Cluster, *, container: str = "", follow: bool = True, uid: str = "") -> bytes:
    async with asyncio.timeout(90):
        pieces = cluster.logs(DEMO, POD.name, container=container, follow=follow, uid=uid)
        return b"".join([piece async for piece in pieces])


async def write(cluster: Cluster, wrote: bytes, folder: Path) -> None:
    """The simulated pod has written that; a real one was asked to."""
    if isinstance(cluster, MemoryCluster):
        cluster.write_log(DEMO, POD.name, wrote)
    elif isinstance(cluster, ApiServerCluster):
        await real.show_log(cluster, DEMO, POD.name, folder / "log", wrote)


async def says_hello(cluster: Cluster, folder: Path) -> Manifest:
    """A pod that has written `hello` and a byte that is no UTF-8, and has ended."""
    created = await cluster.create(pod(command=["printf", "hello\\377"], run_seconds="0.1"))
    await write(cluster, b"hello\xff", folder)
    await phase(cluster, POD, "Succeeded")
    return created


async def test_a_log_is_what_the_container_wrote_byte_by_byte(cluster: Cluster, tmp_path: Path) -> None:
    await says_hello(cluster, tmp_path)
    assert await written(cluster, follow=False) == b"hello\xff"


@HAS_PROCESSES
async def test_the_log_of_an_ended_container_is_not_followed_for_ever(
    cluster: Cluster, tmp_path: Path
) -> None:
    await says_hello(cluster, tmp_path)
    assert await written(cluster) == b"hello\xff"


@HAS_PROCESSES  # KWOK shows a file, and knows of no end
async def test_a_log_followed_ends_with_the_container(cluster: Cluster, tmp_path: Path) -> None:
    await cluster.create(pod(command=["sh", "-c", "echo one; sleep 0.2; echo two"], run_seconds="0.2"))
    await write(cluster, b"one\ntwo\n", tmp_path)
    assert await written(cluster) == b"one\ntwo\n"


async def test_a_log_not_followed_is_what_there_is(cluster: Cluster, tmp_path: Path) -> None:
    await cluster.create(pod())
    await write(cluster, b"", tmp_path)
    assert await written(cluster, follow=False) == b""


@HAS_PROCESSES  # and Kubernetes keeps no log of a pod that is gone
async def test_a_log_can_be_read_by_uid_when_the_pod_is_gone(cluster: Cluster, tmp_path: Path) -> None:
    first = await says_hello(cluster, tmp_path)
    await cluster.delete(POD)
    await gone(cluster, POD)
    await cluster.create(pod())
    assert await written(cluster, uid=first["metadata"]["uid"]) == b"hello\xff"


async def test_the_log_of_a_pod_that_never_was_is_missing(cluster: Cluster) -> None:
    with pytest.raises(Missing):
        await written(cluster)
    with pytest.raises(Missing):
        await written(cluster, uid="../../etc")


async def test_the_log_of_another_container_is_missing(cluster: Cluster) -> None:
    await cluster.create(pod())
    with pytest.raises(Missing):
        await written(cluster, container="other")


async def test_close_is_idempotent(cluster: Cluster) -> None:
    await cluster.close()
    await cluster.close()


def test_changes_are_compared_by_what_they_say() -> None:
    assert Change(Verb.ADDED, job(), AT) == Change(Verb.ADDED, job(), AT)
