"""Everything as one stream, and what the bridge makes of it when single watches are in trouble."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from k8s_bridge.apiserver.reflector import WatchPatience
from k8s_bridge.apiserver.sources import job_sources
from k8s_bridge.attended import EVERYTHING, Attended
from k8s_bridge.port import Change, Manifest, Ref, Synced, Verb
from k8s_bridge.watchers import Bridge
from statemachine.ids import JobUid, PodUid, ReplicaName, short_hash
from statemachine.observations import JobGone, JobObserved, Observation, PodGone, PodObserved
from tests.support.bridges import Kept, LogOf
from tests.unit.bridge.apiserver.scripted import (
    SILENT,
    Answer,
    Server,
    event,
    no,
    not_served,
    page,
    status,
    watch,
)
from tests.unit.bridge.words import JOB_API, job, listed, pod, service, until

JOBS = f"/apis/{JOB_API}/pytorchtrainingjobs"
PODS = "/api/v1/pods"
SERVICES = "/api/v1/services"
TORCH_JOBS = "/apis/kubeflow.org/v1/pytorchjobs"
OWNER_KIND, OPERATOR = "tensorstack.dev/owner-kind", "training.kubeflow.org/operator-name"
POD_GROUPS = "/apis/scheduler.tensorstack.dev/v1beta1/podgroups"
TENSOR_BOARDS = "/apis/tensorstack.dev/v1beta1/tensorboards"
COLLECTIONS = (JOBS, PODS, SERVICES, POD_GROUPS, TENSOR_BOARDS)

J1 = JobUid("j-1")
NAMES = f"mnist-{short_hash(J1)}"
"""How names of its pods begin."""

JOB = job(uid=J1, generation=1, resourceVersion="3")
EXPIRED = watch(event("ERROR", status(410, "too old", "Expired")))
IMPATIENT = WatchPatience(silence=5, absent=0.2)


def child(raw: Manifest, uid: str, version: int, **more: Any) -> Manifest:
    """A child as the API server gives it."""
    return {**raw, **more, "metadata": {**raw["metadata"], "uid": uid, "resourceVersion": str(version)}}


POD = child(pod(JOB, name=f"{NAMES}-worker-0"), "p-1", 4, status={"phase": "Running"})
SERVICE = child(service(JOB), "s-1", 5)


@pytest.fixture
async def cluster(api: Api) -> AsyncIterator[ApiServerCluster]:
    cluster = ApiServerCluster(api, patience=IMPATIENT)
    yield cluster
    await cluster.close()


@dataclass
class Heard:
    """What a bridge passed on."""

    observations: list[Observation] = field(default_factory=list)
    signals: Kept = field(default_factory=Kept)

    async def sink(self, observation: Observation) -> None:
        self.observations.append(observation)

    def of(self, kind: type[Observation]) -> list[Observation]:
        return [observation for observation in self.observations if isinstance(observation, kind)]

    @property
    def kinds(self) -> list[type[Observation]]:
        return [type(observation) for observation in self.observations]


@asynccontextmanager
async def bridged(cluster: ApiServerCluster) -> AsyncIterator[Heard]:
    heard = Heard()
    bridge = Bridge(cluster, heard.sink, signals=heard.signals)
    task = asyncio.create_task(bridge.run())
    await until(lambda: bridge.progress.synced)
    yield heard
    assert not task.done(), task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def everything(server: Server) -> None:
    """A job, its pod and its Service are there."""
    server.on("GET", JOBS, page(JOB, version=10))
    server.on("GET", PODS, page(POD, version=10))
    server.on("GET", SERVICES, page(SERVICE, version=10))


def lists(server: Server) -> dict[str, int]:
    return {path.rpartition("/")[2]: len(server.asked("GET", path)) for path in COLLECTIONS}


async def test_jobs_are_reported_before_children_however_slow_their_list_is(
    server: Server, cluster: ApiServerCluster
) -> None:
    everything(server)
    slow = b'{"metadata": {"resourceVersion": "10"}, "items": [%b]}'
    raw = event("", JOB).removeprefix(b'{"type": "", "object": ').removesuffix(b"}\n")
    server.instead("GET", JOBS, Answer(stream=[0.3, slow % raw]))
    changes = await listed(cluster.watch())
    assert [change.object["kind"] for change in changes] == ["PyTorchTrainingJob", "Pod", "Service"]
    assert {change.verb for change in changes} == {Verb.ADDED}


async def test_only_the_wanted_namespaces_are_asked_for(server: Server, api: Api) -> None:
    cluster = ApiServerCluster(api, namespaces=["a", "b"])
    assert await listed(cluster.watch()) == []
    await cluster.close()
    asked = {request.path for request in server.requests}
    assert "/api/v1/namespaces/a/pods" in asked
    assert f"/apis/{JOB_API}/namespaces/b/pytorchtrainingjobs" in asked
    assert all("/namespaces/" in word for word in asked)


async def test_children_are_watched_by_their_label(server: Server, cluster: ApiServerCluster) -> None:
    await listed(cluster.watch())
    selectors = {request.path: request.query.get("labelSelector") for request in server.requests}
    assert selectors[PODS] == selectors[SERVICES] == "tensorstack.dev/owner-kind"
    assert selectors[JOBS] is None


async def test_pods_that_vanish_while_their_watch_was_away_are_gone(
    server: Server, cluster: ApiServerCluster
) -> None:
    everything(server)
    server.on("GET", PODS, page(version=20))
    server.on("WATCH", PODS, EXPIRED, watch(SILENT))
    async with bridged(cluster) as heard:
        await until(lambda: PodGone in heard.kinds)
    assert heard.kinds == [JobObserved, PodObserved, PodGone]
    [gone] = heard.of(PodGone)
    assert isinstance(gone, PodGone)
    assert (gone.job, gone.uid, gone.replica, gone.attempt) == (J1, "p-1", "worker-0", 1)
    assert lists(server) == {
        "pytorchtrainingjobs": 1,
        "pods": 2,
        "services": 1,
        "podgroups": 1,
        "tensorboards": 1,
    }


@pytest.mark.parametrize("how", ["watch", "list"])
async def test_a_pod_that_lost_its_labels_is_not_gone_and_its_job_s_children_have_it(
    server: Server, cluster: ApiServerCluster, how: str
) -> None:
    bare = {
        **POD,
        "metadata": {**POD["metadata"], "labels": {}, "ownerReferences": [], "resourceVersion": "12"},
    }
    last = {**POD, "metadata": {**POD["metadata"], "resourceVersion": "12"}}
    everything(server)
    server.on("GET", f"/api/v1/namespaces/demo/pods/{POD['metadata']['name']}", Answer(body=bare))
    if how == "watch":
        server.on("WATCH", PODS, watch(event("DELETED", last), SILENT))
    else:
        server.on("GET", PODS, page(version=20))
        server.on("WATCH", PODS, EXPIRED, watch(SILENT))
    async with bridged(cluster) as heard:
        await until(lambda: bool(heard.signals.jobs))
        also = [manifest["kind"] for manifest in await cluster.children("demo", J1, ["p-1"])]
    assert also == ["Service", "Pod"]
    assert PodGone not in heard.kinds


async def test_jobs_that_vanish_while_their_watch_was_away_are_gone(
    server: Server, cluster: ApiServerCluster
) -> None:
    everything(server)
    server.on("GET", JOBS, page(version=20))
    server.on("WATCH", JOBS, EXPIRED, watch(SILENT))
    async with bridged(cluster) as heard:
        await until(lambda: JobGone in heard.kinds)
    assert [observation.job for observation in heard.of(JobGone)] == [J1]
    assert lists(server)["pods"] == 1


async def test_services_that_vanish_touch_their_job(server: Server, cluster: ApiServerCluster) -> None:
    everything(server)
    server.on("GET", SERVICES, page(version=20))
    server.on("WATCH", SERVICES, EXPIRED, watch(SILENT))
    async with bridged(cluster) as heard:
        await until(lambda: bool(heard.signals.jobs))
        assert [manifest["kind"] for manifest in await cluster.children("demo", J1)] == ["Pod"]
    assert heard.signals.jobs == [J1]


async def test_a_server_that_does_not_serve_jobs_yet_has_not_lost_them(
    server: Server, cluster: ApiServerCluster
) -> None:
    """The worst that could be believed: every job deleted, because the API server was starting."""
    everything(server)
    server.on("GET", JOBS, *[not_served()] * 3, page(JOB, version=20))
    server.on("WATCH", JOBS, EXPIRED, watch(SILENT))
    async with bridged(cluster) as heard:
        await until(lambda: len(server.asked("WATCH", JOBS)) == 2)
        assert len(await cluster.children("demo", J1)) == 2
    assert lists(server)["pytorchtrainingjobs"] == 5
    assert heard.kinds == [JobObserved, PodObserved]
    assert heard.signals.jobs == []


def job_paths() -> list[str]:
    return [source.path for source in job_sources(EVERYTHING)]


async def test_while_no_kind_of_jobs_is_installed_nothing_is_synced_and_progress_says_why(
    server: Server, cluster: ApiServerCluster
) -> None:
    everything(server)
    for path in job_paths():
        server.instead("GET", path, not_served())
    server.instead("GET", JOBS, *[not_served()] * 3, page(JOB, version=10))
    items = cluster.watch()
    first = asyncio.ensure_future(anext(items))
    await until(lambda: any(progress.failures for progress in cluster.watches))
    [jobs] = [progress for progress in cluster.watches if progress.kind == "PyTorchTrainingJob"]
    await until(lambda: jobs.failures > 0)
    assert jobs.error == f"PyTorchTrainingJob {JOB_API} is not installed"
    assert not jobs.synced
    assert not server.asked("GET", PODS)
    change = await first
    assert isinstance(change, tuple)
    assert change.object["kind"] == "PyTorchTrainingJob"
    assert len(await listed(items)) == 2


OTHER_JOBS = f"/apis/{JOB_API}/deepspeedjobs"
OTHER_JOB = {**job("other", uid="j-2", generation=1, resourceVersion="3"), "kind": "DeepSpeedJob"}
FORBIDDEN = no(403, 'deepspeedjobs is forbidden: User "x" cannot list', "Forbidden")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (not_served(), f"DeepSpeedJob {JOB_API} is not installed"),
        (
            FORBIDDEN,
            f"jobledger may not list and watch DeepSpeedJob {JOB_API}: "
            'deepspeedjobs is forbidden: User "x" cannot list',
        ),
    ],
)
async def test_a_kind_that_cannot_be_listed_holds_up_nothing_but_itself(
    server: Server,
    cluster: ApiServerCluster,
    answer: Answer,
    error: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    everything(server)
    server.on("GET", OTHER_JOBS, answer)
    items = cluster.watch()
    received = [await anext(items) for _ in range(4)]
    kinds = [item.object["kind"] for item in received if isinstance(item, Change)]
    assert kinds == ["PyTorchTrainingJob", "Pod", "Service"]
    assert isinstance(received[3], Synced)
    assert received[3].withheld == {"DeepSpeedJob"}
    await until(lambda: len(server.asked("GET", OTHER_JOBS)) > 2)
    waiting = {progress.kind: progress.error for progress in cluster.watches if progress.error}
    assert waiting == {"DeepSpeedJob": error}
    assert len([record for record in caplog.records if getattr(record, "error", "") == error]) == 1
    server.instead("GET", OTHER_JOBS, page(OTHER_JOB, version=20))
    late = [await anext(items), await anext(items)]
    assert isinstance(late[0], Change)
    assert late[0].object["kind"] == "DeepSpeedJob"
    assert isinstance(late[1], Synced)
    assert late[1].withheld == frozenset()


async def test_jobs_of_a_kind_that_cannot_be_listed_are_not_said_to_be_gone(
    server: Server, cluster: ApiServerCluster
) -> None:
    """Neither while that lasts, nor when it is over and they are there; the one that is gone is, then."""
    everything(server)
    server.on("GET", OTHER_JOBS, not_served())
    heard, gone, lost = Heard(), JobUid("j-3"), JobUid("j-4")
    kinds = {JobUid("j-2"): "DeepSpeedJob", gone: "DeepSpeedJob", lost: "PyTorchTrainingJob"}
    known = {kind: {(ReplicaName("worker-0"), 1): PodUid(f"p-{kind}")} for kind in kinds}
    log = LogOf(known, kind_of=lambda uid: kinds.get(uid, ""))
    bridge = Bridge(cluster, heard.sink, log)
    task = asyncio.create_task(bridge.run())
    await until(lambda: bridge.progress.synced)
    assert [observation.job for observation in heard.of(JobGone)] == [lost]
    assert {observation.job for observation in heard.of(PodGone)} == set(kinds)
    log.jobs = {JobUid("j-5"): {}}
    assert bridge.missing() == {}
    server.instead("GET", OTHER_JOBS, page(OTHER_JOB, version=20))
    await until(lambda: len(heard.of(JobGone)) == 2)
    assert [observation.job for observation in heard.of(JobGone)] == [lost, gone]
    assert JobUid("j-2") in [observation.job for observation in heard.of(JobObserved)]
    assert list(bridge.missing()) == ["j-5"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_kind_of_children_that_may_not_be_listed_is_no_hindrance(
    server: Server, cluster: ApiServerCluster
) -> None:
    everything(server)
    server.on("GET", POD_GROUPS, no(403, "podgroups is forbidden", "Forbidden"))
    assert len(await listed(cluster.watch())) == 3
    [error] = [progress.error for progress in cluster.watches if progress.error]
    assert error.startswith("jobledger may not list and watch PodGroup scheduler.tensorstack.dev/v1beta1:")


async def test_without_the_right_to_pods_nothing_is_synced(server: Server, cluster: ApiServerCluster) -> None:
    everything(server)
    server.instead("GET", PODS, no(403, "pods is forbidden", "Forbidden"), page(POD, version=10))
    items = cluster.watch()
    kinds = [change.object["kind"] for change in await listed(items)]
    assert "Pod" in kinds


async def test_kinds_that_are_not_installed_are_no_hindrance_and_watched_when_they_are(
    server: Server, cluster: ApiServerCluster
) -> None:
    everything(server)
    group = child({**service(JOB), "kind": "PodGroup", "spec": {"minMember": 2}}, "g-1", 6)
    server.on("GET", POD_GROUPS, not_served(), page(group, version=20))
    server.on("GET", TENSOR_BOARDS, not_served())
    items = cluster.watch()
    assert len(await listed(items)) == 3
    absent = [progress.kind for progress in cluster.watches if progress.absent]
    assert absent == ["PodGroup", "TensorBoard"]
    change = await anext(items)
    assert isinstance(change, tuple)
    assert change.object["kind"] == "PodGroup"
    children = await cluster.children("demo", J1)
    assert [manifest["kind"] for manifest in children] == ["Pod", "Service", "PodGroup"]


async def test_children_are_not_reported_before_all_are_known(
    server: Server, cluster: ApiServerCluster
) -> None:
    everything(server)
    server.instead("GET", SERVICES, Answer(500), Answer(500), page(SERVICE, version=10))
    items = cluster.watch()
    asking = asyncio.create_task(cluster.children("demo", J1))
    await anext(items)
    await anext(items)
    assert not asking.done()
    await listed(items)
    assert len(await asking) == 2


async def test_a_pod_that_only_our_own_write_reported_vanishes_like_any_other(
    server: Server, cluster: ApiServerCluster
) -> None:
    """It was made, and gone, while its watch was away."""
    everything(server)
    made = child(pod(JOB, name=f"{NAMES}-worker-1", replica=("worker", 1)), "p-2", 12)
    server.on("POST", "/api/v1/namespaces/demo/pods", Answer(201, made))
    server.on("GET", PODS, page(POD, version=20))
    server.on("WATCH", PODS, watch(0.5, event("ERROR", status(410))), watch(SILENT))
    async with bridged(cluster) as heard:
        await cluster.create(made)
        assert len(await cluster.children("demo", J1)) == 3
        await until(lambda: PodGone in heard.kinds)
        assert len(await cluster.children("demo", J1)) == 2
    [gone] = heard.of(PodGone)
    assert isinstance(gone, PodGone)
    assert gone.uid == "p-2"


async def test_a_pod_that_we_deleted_while_its_watch_was_away_is_said_to_be_gone(
    server: Server, cluster: ApiServerCluster
) -> None:
    """The answer to our own write is all that there was: nobody may take it for what the log knows."""
    everything(server)
    released = child(pod(JOB, name=f"{NAMES}-worker-0"), "p-1", 12)
    released["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    server.on("PATCH", f"/api/v1/namespaces/demo/pods/{NAMES}-worker-0", Answer(body=released))
    server.on("GET", PODS, page(version=20))
    server.on("WATCH", PODS, watch(0.5, event("ERROR", status(410))), watch(SILENT))
    async with bridged(cluster) as heard:
        await cluster.release(Ref("v1", "Pod", "demo", f"{NAMES}-worker-0"), "p-1")
        assert [manifest["kind"] for manifest in await cluster.children("demo", J1)] == ["Service"]
        await until(lambda: PodGone in heard.kinds)
    assert [observation.uid for observation in heard.of(PodGone) if isinstance(observation, PodGone)] == [
        "p-1"
    ]


async def test_a_pod_made_while_pods_are_listed_is_not_taken_for_gone(
    server: Server, cluster: ApiServerCluster
) -> None:
    """The list is of a moment before; the watch that follows tells of the pod."""
    everything(server)
    made = child(pod(JOB, name=f"{NAMES}-worker-1", replica=("worker", 1)), "p-2", 30)
    server.on("POST", "/api/v1/namespaces/demo/pods", Answer(201, made))
    server.on("GET", PODS, page(POD, version=20, place="more"), Answer(500), page(POD, version=20))
    server.on("WATCH", PODS, EXPIRED, watch(SILENT))
    async with bridged(cluster) as heard:
        await cluster.create(made)
        await until(lambda: len(server.asked("WATCH", PODS)) == 2)
        assert len(await cluster.children("demo", J1)) == 3
    assert PodGone not in heard.kinds


@pytest.mark.parametrize("expired", [OWNER_KIND, OPERATOR])
async def test_a_list_of_one_familys_pods_says_nothing_of_the_others(
    server: Server, api: Api, expired: str
) -> None:
    """Two collections of pods differ in their selector alone."""
    cluster = ApiServerCluster(api, attended=EVERYTHING, patience=IMPATIENT)
    torch = {
        **job("torch", uid="j-2", resourceVersion="3"),
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
    }
    others = child(pod(torch, name="torch-worker-0"), "p-2", 4, status={"phase": "Running"})
    lost = {OWNER_KIND: "p-1", OPERATOR: "p-2"}
    server.on("GET", JOBS, page(JOB, version=10))
    server.on("GET", TORCH_JOBS, page(torch, version=10))
    for selector, manifest in ((OWNER_KIND, POD), (OPERATOR, others)):
        gone = [page(version=20)] if selector == expired else []
        server.on("GET", PODS, page(manifest, version=10), *gone, selector=selector)
        server.on("WATCH", PODS, *([EXPIRED] if gone else []), watch(SILENT), selector=selector)
    async with bridged(cluster) as heard:
        await until(lambda: PodGone in heard.kinds)
        living = [
            child["metadata"]["uid"]
            for owner in (J1, "j-2")
            for child in await cluster.children("demo", owner)
        ]
    await cluster.close()
    assert [observation.uid for observation in heard.of(PodGone) if isinstance(observation, PodGone)] == [
        lost.pop(expired)
    ]
    assert living == list(lost.values())


async def test_every_watch_ends_with_the_cluster(server: Server, cluster: ApiServerCluster) -> None:
    watches = [cluster.watch(), cluster.watch()]
    for items in watches:
        await listed(items)
    await until(lambda: all(len(server.asked("WATCH", path)) == 2 for path in COLLECTIONS))
    await cluster.close()
    for items in watches:
        with pytest.raises(StopAsyncIteration):
            await anext(items)
    names = [task.get_name() for task in asyncio.all_tasks()]
    assert not [name for name in names if name.startswith("watch")]


async def test_a_bug_in_a_watch_reaches_its_reader(server: Server, cluster: ApiServerCluster) -> None:
    server.on("GET", JOBS, page({"spec": {}}))
    with pytest.raises(KeyError):
        await listed(cluster.watch())


async def test_who_does_not_read_holds_up_the_watch_and_loses_nothing(
    server: Server, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("k8s_bridge.apiserver.watching._QUEUE", 3)
    everything(server)
    changed = [event("MODIFIED", child(POD, "p-1", 11 + n)) for n in range(50)]
    server.on("WATCH", PODS, watch(*changed, SILENT))
    cluster = ApiServerCluster(api)
    items = cluster.watch()
    await listed(items)
    await asyncio.sleep(0.2)
    versions: list[int] = []
    while len(versions) < 50:
        change = await anext(items)
        assert isinstance(change, tuple)
        versions.append(int(change.object["metadata"]["resourceVersion"]))
    await cluster.close()
    assert versions == list(range(11, 61))


WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/workloads"


async def test_workloads_are_reported_and_are_no_children(server: Server, api: Api) -> None:
    everything(server)
    workload = child({**service(JOB), "kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2"}, "w-1", 6)
    server.on("GET", WORKLOADS, page(workload, version=20), page(version=30))
    server.on("WATCH", WORKLOADS, EXPIRED, watch(SILENT))
    cluster = ApiServerCluster(api, attended=Attended(opted_in={}, kueue=True), patience=IMPATIENT)
    items = cluster.watch()
    changes = await listed(items)
    assert [change.object["kind"] for change in changes if change.object["kind"] == "Workload"] == [
        "Workload"
    ]
    assert [manifest["kind"] for manifest in await cluster.children("demo", J1)] == ["Pod", "Service"]
    change = await anext(items)
    assert isinstance(change, Change)
    assert (change.verb, change.object["metadata"]["uid"]) == (Verb.DELETED, "w-1")
    assert change.object["metadata"]["ownerReferences"] == workload["metadata"]["ownerReferences"]
    await cluster.close()


async def test_workloads_are_not_asked_for_unless_that_is_wanted(
    server: Server, cluster: ApiServerCluster
) -> None:
    everything(server)
    await listed(cluster.watch())
    assert "Workload" not in [progress.kind for progress in cluster.watches]


@pytest.mark.parametrize("answer", [not_served(), no(403, "workloads is forbidden", "Forbidden")])
async def test_workloads_that_cannot_be_read_are_no_hindrance(
    server: Server, api: Api, answer: Answer
) -> None:
    everything(server)
    server.on("GET", WORKLOADS, answer)
    cluster = ApiServerCluster(api, attended=Attended(opted_in={}, kueue=True), patience=IMPATIENT)
    assert len(await listed(cluster.watch())) == 3
    await cluster.close()
