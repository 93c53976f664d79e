"""Writes: what the server's answers mean to the port, and what the index knows right after them."""

from collections.abc import AsyncIterator

import pytest

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from k8s_bridge.port import EVIDENCE, JobEvent, Manifest, Ref
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from tests.unit.bridge.apiserver.scripted import Answer, Server, event, no, not_served, page, status, watch
from tests.unit.bridge.apiserver.test_watching import (
    JOB,
    JOBS,
    OWNER_KIND,
    POD,
    PODS,
    SERVICE,
    child,
    everything,
)
from tests.unit.bridge.words import AT, JOB_API, config_map, listed, owned, pod

REF = Ref(JOB_API, "PyTorchTrainingJob", "demo", "mnist")
JOB_PATH = f"/apis/{JOB_API}/namespaces/demo/pytorchtrainingjobs/mnist"
STATUS_PATH = f"{JOB_PATH}/status"
POD_REF = Ref.of(POD)
POD_PATH = f"/api/v1/namespaces/demo/pods/{POD_REF.name}"
SERVICE_PATH = f"/api/v1/namespaces/demo/services/{SERVICE['metadata']['name']}"
NEW_PODS = "/api/v1/namespaces/demo/pods"


@pytest.fixture
async def cluster(server: Server, api: Api) -> AsyncIterator[ApiServerCluster]:
    """A cluster that is watched, with a job, its pod and its Service."""
    everything(server)
    cluster = ApiServerCluster(api)
    await listed(cluster.watch())
    yield cluster
    await cluster.close()


async def children(cluster: ApiServerCluster) -> list[tuple[str, str]]:
    """Kind and version of each child that is known."""
    children = await cluster.children("demo", "j-1")
    return [(manifest["kind"], manifest["metadata"]["resourceVersion"]) for manifest in children]


# ---- a server that is starting -------------------------------------------------------------------------------


async def test_of_a_server_that_serves_no_pods_yet_nobody_believes_that_a_pod_is_not_there(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("GET", POD_PATH, not_served())
    server.on("PATCH", POD_PATH, not_served())
    server.on("DELETE", POD_PATH, not_served())
    server.on("POST", NEW_PODS, not_served())
    for call in (
        cluster.get(POD_REF),
        cluster.create(pod(JOB)),
        cluster.release(POD_REF, "p-1"),
        cluster.delete(POD_REF, uid="p-1"),
        anext(cluster.logs("demo", POD_REF.name)),
    ):
        with pytest.raises(ClusterUnavailable, match="yet"):
            await call


# ---- create ------------------------------------------------------------------------------------------------


async def test_what_was_created_is_a_child_at_once(server: Server, cluster: ApiServerCluster) -> None:
    server.on("POST", NEW_PODS, Answer(201, child(pod(JOB), "p-2", 12)))
    await cluster.create(pod(JOB))
    assert await children(cluster) == [("Pod", "4"), ("Service", "5"), ("Pod", "12")]
    [sent] = server.asked("POST", NEW_PODS)
    assert sent.query == {"fieldManager": "jobledger"}


async def test_an_answer_that_comes_after_the_watch_reported_more_is_old(
    server: Server, cluster: ApiServerCluster
) -> None:
    """Version 9 is before the list: the pod was in it, or is gone."""
    server.on("POST", NEW_PODS, Answer(201, child(pod(JOB), "p-2", 9)))
    await cluster.create(pod(JOB))
    assert await children(cluster) == [("Pod", "4"), ("Service", "5")]


async def test_children_that_no_watch_follows_are_not_kept(server: Server, cluster: ApiServerCluster) -> None:
    event_ = {**config_map(), "kind": "Event", "metadata": {**config_map()["metadata"], **owned(JOB)}}
    server.on("POST", "/api/v1/namespaces/demo/events", Answer(201, child(event_, "c-1", 12)))
    await cluster.create(event_)
    assert ("Event", "12") not in await children(cluster)


async def test_a_config_map_is_compared_by_its_data(server: Server, cluster: ApiServerCluster) -> None:
    hosts = config_map(hostfile="a\n")
    hosts["metadata"] |= owned(JOB) | {"labels": {OWNER_KIND: "PyTorchTrainingJob"}}
    server.on("POST", "/api/v1/namespaces/demo/configmaps", Answer(201, child(hosts, "c-1", 12)))
    await cluster.create(hosts)
    [known] = [
        manifest for manifest in await cluster.children("demo", "j-1") if manifest["kind"] == "ConfigMap"
    ]
    assert known["data"] == {"hostfile": "a\n"}


# ---- Secrets, which nobody watches ---------------------------------------------------------------------------


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "gpt-ssh", "namespace": "demo", **owned(JOB)},
    "data": {"id_rsa": "c2VjcmV0"},
}
SECRETS = "/api/v1/namespaces/demo/secrets"
SECRET_REF = Ref("v1", "Secret", "demo", "gpt-ssh")


def metadata_of(raw: Manifest, uid: str, version: int) -> Manifest:
    """What a server says that is asked for metadata alone."""
    bare = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": raw["metadata"]}
    return child(bare, uid, version)


async def secrets(cluster: ApiServerCluster) -> list[Manifest]:
    return [manifest for manifest in await cluster.children("demo", "j-1") if manifest["kind"] == "Secret"]


async def test_a_secret_that_was_created_is_a_child_and_its_content_does_not_come_back(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("POST", SECRETS, Answer(201, metadata_of(SECRET, "x-1", 3)))
    stored = await cluster.create(SECRET)
    assert (stored["kind"], "data" in stored) == ("Secret", False)
    [sent] = server.asked("POST", SECRETS)
    assert "PartialObjectMetadata" in sent.headers["Accept"]
    [known] = await secrets(cluster)
    assert (known["metadata"]["uid"], "data" in known) == ("x-1", False)


async def test_of_a_secret_only_the_metadata_is_read_and_then_it_is_known(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("GET", f"{SECRETS}/gpt-ssh", Answer(200, metadata_of(SECRET, "x-1", 3)))
    manifest = await cluster.get(SECRET_REF)
    assert (manifest["apiVersion"], manifest["kind"], manifest["metadata"]["uid"]) == ("v1", "Secret", "x-1")
    [sent] = server.asked("GET", f"{SECRETS}/gpt-ssh")
    assert "PartialObjectMetadata" in sent.headers["Accept"]
    assert len(await secrets(cluster)) == 1


async def test_a_secret_that_is_not_there_any_more_is_forgotten(
    server: Server, cluster: ApiServerCluster
) -> None:
    path = f"{SECRETS}/gpt-ssh"
    server.on(
        "GET",
        path,
        Answer(200, metadata_of(SECRET, "x-1", 3)),
        no(404, "not found", "NotFound", name="gpt-ssh"),
    )
    await cluster.get(SECRET_REF)
    with pytest.raises(Missing):
        await cluster.get(SECRET_REF)
    assert await secrets(cluster) == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (no(404, "not found", "NotFound", name="gpt-ssh"), Missing),
        (no(409, "another uid", "Conflict"), Conflict),
    ],
)
async def test_a_secret_that_cannot_be_deleted_as_it_is_gone_is_forgotten(
    server: Server, cluster: ApiServerCluster, answer: Answer, error: type[Exception]
) -> None:
    server.on("GET", f"{SECRETS}/gpt-ssh", Answer(200, metadata_of(SECRET, "x-1", 3)))
    server.on("DELETE", f"{SECRETS}/gpt-ssh", answer)
    await cluster.get(SECRET_REF)
    with pytest.raises(error):
        await cluster.delete(SECRET_REF, uid="x-1")
    assert await secrets(cluster) == []


@pytest.mark.parametrize(
    "answer",
    [not_served(), no(404, "the server could not find the requested resource", "NotFound")],
    ids=["group unknown", "kind unknown"],
)
async def test_a_kind_that_is_not_installed_is_refused_by_name(
    server: Server, cluster: ApiServerCluster, answer: Answer
) -> None:
    server.on("POST", "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/demo/podgroups", answer)
    manifest = {
        "apiVersion": "scheduler.tensorstack.dev/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "a", "namespace": "demo"},
    }
    with pytest.raises(Refused) as refused:
        await cluster.create(manifest)
    assert refused.value.status == 404
    assert refused.value.message == "PodGroup scheduler.tensorstack.dev/v1beta1 is not installed"


async def test_a_kind_of_others_that_is_not_served_is_refused_by_name(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on(
        "GET", "/apis/other.dev/v1", Answer(body={"resources": [{"name": "things/status", "kind": "Thing"}]})
    )
    with pytest.raises(Refused, match=r"Thing other.dev/v1 is not installed"):
        await cluster.get(Ref("other.dev/v1", "Thing", "demo", "a"))


async def test_a_kind_of_others_is_asked_for_once(server: Server, cluster: ApiServerCluster) -> None:
    things = [{"name": "things/status", "kind": "Thing"}, {"name": "things", "kind": "Thing"}]
    server.on("GET", "/apis/other.dev/v1", Answer(body={"resources": things}))
    server.on("GET", "/apis/other.dev/v1/namespaces/demo/things/a", Answer(body={"kind": "Thing"}))
    for _ in range(2):
        assert await cluster.get(Ref("other.dev/v1", "Thing", "demo", "a")) == {"kind": "Thing"}
    assert len(server.asked("GET", "/apis/other.dev/v1")) == 1


async def test_a_missing_namespace_is_a_refusal(server: Server, cluster: ApiServerCluster) -> None:
    missing = no(404, 'namespaces "demo" not found', "NotFound", name="demo", kind="namespaces")
    server.on("POST", NEW_PODS, missing)
    with pytest.raises(Refused) as refused:
        await cluster.create(pod(JOB))
    assert (refused.value.status, refused.value.message) == (404, 'namespaces "demo" not found')


async def test_a_quota_that_somebody_else_changed_just_now_is_tried_again(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("POST", NEW_PODS, no(409, "the object has been modified", "Conflict"))
    with pytest.raises(ClusterUnavailable):
        await cluster.create(pod(JOB))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2Fb", "../../namespaces/demo"])
async def test_a_name_that_leads_somewhere_else_is_nobodys(
    server: Server, cluster: ApiServerCluster, name: str
) -> None:
    before = len(server.requests)
    for ref in (Ref("v1", "Pod", "demo", name), Ref("v1", "Pod", name or "..", "a")):
        with pytest.raises(Missing):
            await cluster.get(ref)
        with pytest.raises(Missing):
            await cluster.delete(ref)
        with pytest.raises(Missing):
            await anext(cluster.logs(ref.namespace, ref.name))
    assert len(server.requests) == before


async def test_an_odd_name_is_sent_as_it_is(server: Server, cluster: ApiServerCluster) -> None:
    server.on("GET", "/api/v1/namespaces/demo/pods/a?b#c d", Answer(body={"metadata": {}}))
    assert await cluster.get(Ref("v1", "Pod", "demo", "a?b#c d")) == {"metadata": {}}


# ---- logs --------------------------------------------------------------------------------------------------


async def test_the_log_before_a_restart_in_place_is_asked_for_and_may_be_gone(
    server: Server, cluster: ApiServerCluster
) -> None:
    path = "/api/v1/namespaces/demo/pods/" + POD_REF.name
    server.on("GET", path, Answer(body=child(pod(JOB), "p-1", 4)))
    gone = no(400, 'previous terminated container "pytorch" in pod not found', "BadRequest")
    server.on("GET", f"{path}/log", Answer(stream=[b"first run"]), gone)
    chunks = [log async for log in cluster.logs("demo", POD_REF.name, previous=True, follow=True)]
    assert chunks == [b"first run"]
    assert server.asked("GET", f"{path}/log")[0].query == {"container": "pytorch", "previous": "true"}
    with pytest.raises(Missing, match="has no log of the run before: previous terminated container"):
        await anext(cluster.logs("demo", POD_REF.name, previous=True))
    server.instead("GET", f"{path}/log", gone)
    with pytest.raises(Refused):
        await anext(cluster.logs("demo", POD_REF.name))


# ---- deletion ----------------------------------------------------------------------------------------------


async def test_a_deletion_carries_the_uid_and_takes_what_is_owned_along(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("DELETE", POD_PATH, Answer(body=status(200, uid="p-1")))
    await cluster.delete(POD_REF, uid="p-1")
    [sent] = server.asked("DELETE", POD_PATH)
    assert sent.body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": "p-1"},
    }


async def test_a_deletion_of_one_version_says_which(server: Server, cluster: ApiServerCluster) -> None:
    server.on("DELETE", POD_PATH, Answer(body=status(200, uid="p-1")))
    await cluster.delete(POD_REF, uid="p-1", version="4")
    [sent] = server.asked("DELETE", POD_PATH)
    assert sent.body["preconditions"] == {"uid": "p-1", "resourceVersion": "4"}


async def test_a_patch_carries_the_uid_and_nothing_that_it_cannot_change(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("PATCH", POD_PATH, Answer(body=child(POD, "p-1", 20)))
    wish = {
        "metadata": {"labels": {"a": "b"}, "generation": 9, "resourceVersion": "4"},
        "status": {"phase": "x"},
    }
    await cluster.patch(POD_REF, wish, uid="p-1")
    [sent] = server.asked("PATCH", POD_PATH)
    assert sent.body == {"metadata": {"labels": {"a": "b"}, "resourceVersion": "4", "uid": "p-1"}}


@pytest.mark.parametrize(("grace", "seconds"), [(0, 0), (0.2, 1), (1.0, 1), (29.5, 30)])
async def test_processes_get_at_least_the_time_that_was_meant(
    server: Server, cluster: ApiServerCluster, grace: float, seconds: int
) -> None:
    server.on("DELETE", POD_PATH, Answer(body=status(200, uid="p-1")))
    await cluster.delete(POD_REF, grace=grace)
    assert server.asked("DELETE", POD_PATH)[0].body["gracePeriodSeconds"] == seconds


def deleting(raw: Manifest, version: int, grace: int, *finalizers: str) -> Manifest:
    """An object in deletion."""
    meta = {
        **raw["metadata"],
        "resourceVersion": str(version),
        "deletionTimestamp": "2024-01-09T15:24:26Z",
        "deletionGracePeriodSeconds": grace,
    }
    return {**raw, "metadata": meta | ({"finalizers": list(finalizers)} if finalizers else {})}


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (status(200, uid="p-1"), None),
        (child(POD, "p-1", 20), None),
        (deleting(POD, 20, 0), None),
        (deleting(POD, 20, 30), 30),
        (deleting(POD, 20, 30, EVIDENCE), 30),
        (deleting(POD, 20, 0, EVIDENCE), 0),
        (deleting(POD, 20, 0, "foregroundDeletion"), 0),
    ],
    ids=["a Status", "as it was", "forced", "graceful", "graceful and held", "ended and held", "foreground"],
)
async def test_after_a_deletion_it_is_known_what_is_left(
    server: Server, cluster: ApiServerCluster, answer: Manifest, left: int | None
) -> None:
    server.on("DELETE", POD_PATH, Answer(body=answer))
    await cluster.delete(POD_REF, uid="p-1")
    pods = [manifest for manifest in await cluster.children("demo", "j-1") if manifest["kind"] == "Pod"]
    assert [manifest["metadata"]["deletionGracePeriodSeconds"] for manifest in pods] == (
        [] if left is None else [left]
    )


async def test_a_service_is_gone_when_it_was_deleted(server: Server, cluster: ApiServerCluster) -> None:
    """The API server answers with the Service as it was, and a version that it never had."""
    server.on("DELETE", SERVICE_PATH, Answer(body=child(SERVICE, "s-1", 20)))
    await cluster.delete(Ref.of(SERVICE), uid="s-1")
    assert await children(cluster) == [("Pod", "4")]


async def test_late_reports_of_what_we_deleted_do_not_bring_it_back(server: Server, api: Api) -> None:
    everything(server)
    late = [event("MODIFIED", child(POD, "p-1", 11)), event("MODIFIED", child(SERVICE, "s-1", 12))]
    server.on("WATCH", PODS, watch(0.5, *late[:1]))
    server.on("DELETE", POD_PATH, Answer(body=status(200, uid="p-1")))
    cluster = ApiServerCluster(api)
    items = cluster.watch()
    await listed(items)
    await cluster.delete(POD_REF, uid="p-1")
    change = await anext(items)
    assert isinstance(change, tuple)
    assert change.object["metadata"]["resourceVersion"] == "11"
    assert await children(cluster) == [("Service", "5")]
    await cluster.close()


@pytest.mark.parametrize(
    ("answer", "there"),
    [(deleting(POD, 20, 0), False), (deleting(POD, 20, 30), True), (child(POD, "p-1", 20), True)],
    ids=["it goes", "its processes run", "nobody deletes it"],
)
async def test_after_a_release_it_is_known_what_is_left(
    server: Server, cluster: ApiServerCluster, answer: Manifest, there: bool
) -> None:
    server.on("PATCH", POD_PATH, Answer(body=answer))
    await cluster.release(POD_REF, "p-1")
    assert (("Pod", "20") in await children(cluster)) == there
    [sent] = server.asked("PATCH", POD_PATH)
    assert sent.body == {"metadata": {"uid": "p-1", "$deleteFromPrimitiveList/finalizers": [EVIDENCE]}}
    assert sent.headers["Content-Type"] == "application/strategic-merge-patch+json"


async def test_a_release_of_another_uid_is_a_conflict(server: Server, cluster: ApiServerCluster) -> None:
    server.on("PATCH", POD_PATH, no(422, "field is immutable", "Invalid", causes=[{"field": "metadata.uid"}]))
    with pytest.raises(Conflict):
        await cluster.release(POD_REF, "p-9")


# ---- status ------------------------------------------------------------------------------------------------


async def test_a_status_needs_one_request_and_is_guarded(server: Server, cluster: ApiServerCluster) -> None:
    before = len(server.asked("GET", JOB_PATH))
    server.on("PATCH", STATUS_PATH, Answer(body=child(JOB, "j-1", 11)))
    await cluster.patch_status(REF, "j-1", {"phase": "Running"}, 5)
    [sent] = server.asked("PATCH", STATUS_PATH)
    assert sent.body == [
        {"op": "test", "path": "/metadata/uid", "value": "j-1"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "3"},
        {"op": "add", "path": "/status", "value": {"phase": "Running"}},
    ]
    assert len(server.asked("GET", JOB_PATH)) == before


async def test_the_next_status_knows_the_version_that_this_one_made(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("PATCH", STATUS_PATH, Answer(body=child(JOB, "j-1", 11)))
    for seq in (5, 6):
        await cluster.patch_status(REF, "j-1", {"phase": "Running"}, seq)
    tested = [request.body[1]["value"] for request in server.asked("PATCH", STATUS_PATH)]
    assert tested == ["3", "11"]


async def test_a_response_that_is_older_than_what_the_watch_brought_does_not_set_the_version_back(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("PATCH", STATUS_PATH, Answer(body=child(JOB, "j-1", 2)), Answer(body=child(JOB, "j-1", 11)))
    for seq in (5, 6):
        await cluster.patch_status(REF, "j-1", {"phase": "Running"}, seq)
    tested = [request.body[1]["value"] for request in server.asked("PATCH", STATUS_PATH)]
    assert tested == ["3", "3"]


async def test_a_status_of_a_lower_seq_sends_nothing(server: Server, cluster: ApiServerCluster) -> None:
    server.on("PATCH", STATUS_PATH, Answer(body=child(JOB, "j-1", 11)))
    await cluster.patch_status(REF, "j-1", {"phase": "Running"}, 5)
    await cluster.patch_status(REF, "j-1", {"phase": "Pending"}, 4)
    assert len(server.asked("PATCH", STATUS_PATH)) == 1


async def test_a_status_of_the_same_seq_is_written_again(server: Server, cluster: ApiServerCluster) -> None:
    """Somebody else may have written over it."""
    server.on("PATCH", STATUS_PATH, Answer(body=child(JOB, "j-1", 11)))
    for _ in range(2):
        await cluster.patch_status(REF, "j-1", {"phase": "Running"}, 5)
    assert len(server.asked("PATCH", STATUS_PATH)) == 2


@pytest.mark.parametrize("answer", [no(422, "test failed", "Invalid"), no(409, "modified", "Conflict")])
async def test_a_status_of_a_job_that_changed_is_written_at_the_next_try(
    server: Server, cluster: ApiServerCluster, answer: Answer
) -> None:
    server.on("PATCH", STATUS_PATH, answer, Answer(body=child(JOB, "j-1", 31)))
    server.on("GET", JOB_PATH, Answer(body=child(JOB, "j-1", 30)))
    with pytest.raises(ClusterUnavailable):
        await cluster.patch_status(REF, "j-1", {"phase": "Running"}, 5)
    await cluster.patch_status(REF, "j-1", {"phase": "Running"}, 5)
    tested = [request.body[1]["value"] for request in server.asked("PATCH", STATUS_PATH)]
    assert tested == ["3", "30"]


async def test_a_status_that_the_server_does_not_take_is_no_lost_race(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("PATCH", STATUS_PATH, no(422, "status.phase: Unsupported value", "Invalid"))
    server.on("GET", JOB_PATH, Answer(body=JOB))
    with pytest.raises(Refused, match="Unsupported value"):
        await cluster.patch_status(REF, "j-1", {"phase": "Nonsense"}, 5)


async def test_the_status_of_a_job_that_was_made_anew_is_missing(
    server: Server, cluster: ApiServerCluster
) -> None:
    server.on("PATCH", STATUS_PATH, no(422, "test failed", "Invalid"))
    server.on("GET", JOB_PATH, Answer(body=child(JOB, "j-2", 30)))
    with pytest.raises(Missing):
        await cluster.patch_status(REF, "j-1", {"phase": "Running"}, 5)


async def test_without_a_watch_the_job_is_looked_at_first(server: Server, api: Api) -> None:
    cluster = ApiServerCluster(api)
    server.on("GET", JOB_PATH, Answer(body=child(JOB, "j-1", 30)))
    server.on("PATCH", STATUS_PATH, Answer(body=child(JOB, "j-1", 31)))
    await cluster.patch_status(REF, "j-1", {"phase": "Running"}, 5)
    assert server.asked("PATCH", STATUS_PATH)[0].body[1]["value"] == "30"


# ---- without a watch ---------------------------------------------------------------------------------------


async def test_children_are_listed_where_nothing_is_watched(server: Server, api: Api) -> None:
    cluster = ApiServerCluster(api)
    other = child(pod(child(JOB, "j-2", 1)), "p-9", 4)
    server.on("GET", NEW_PODS, page(POD, other))
    server.on("GET", "/api/v1/namespaces/demo/services", page(SERVICE))
    server.on("GET", "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/demo/podgroups", not_served())
    assert await children(cluster) == [("Pod", "4"), ("Service", "5")]


async def test_pods_that_are_not_served_yet_are_not_no_pods(server: Server, api: Api) -> None:
    server.on("GET", NEW_PODS, not_served())
    with pytest.raises(ClusterUnavailable, match="/api/v1/namespaces/demo/pods yet"):
        await ApiServerCluster(api).children("demo", "j-1")


async def test_a_list_whose_place_is_forgotten_begins_again(server: Server, api: Api) -> None:
    first, last = config_map("a"), config_map("b")
    server.on(
        "GET", "/api/v1/configmaps", page(first, place="more"), no(410), page(first, place="more"), page(last)
    )
    manifests = await ApiServerCluster(api).list("v1", "ConfigMap")
    assert [manifest["metadata"]["name"] for manifest in manifests] == ["a", "b"]


async def test_a_list_that_never_ends_is_given_up(server: Server, api: Api) -> None:
    server.on("GET", "/api/v1/configmaps", no(410))
    with pytest.raises(ClusterUnavailable, match="never comes to its end"):
        await ApiServerCluster(api).list("v1", "ConfigMap")


async def test_a_list_of_a_kind_that_is_not_installed_is_empty(server: Server, api: Api) -> None:
    server.on("GET", JOBS, not_served())
    assert await ApiServerCluster(api).list(JOB_API, "PyTorchTrainingJob") == []


# ---- events ------------------------------------------------------------------------------------------------


async def test_a_long_message_is_cut(server: Server, api: Api) -> None:
    path = "/api/v1/namespaces/demo/events"
    server.on("POST", path, Answer(201, {}))
    await ApiServerCluster(api).emit(JobEvent(REF, "j-1", "a", "Start", "ä" * 3000, "Normal", AT))
    assert server.asked("POST", path)[0].body["message"] == "ä" * 1024
