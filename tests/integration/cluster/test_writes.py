"""The writes of the Cluster port on a real API server: its refusals, its guards, and what is known right after."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from k8s_bridge.apiserver.access import ApiServerChoice
from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.cluster import ApiServerCluster
from k8s_bridge.port import EVIDENCE, JobEvent, Manifest, Ref
from statemachine.engine.clock import WallClock
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from tests.harness import Cluster, wait_for
from tests.ports.real import show_log
from tests.support.controllers import controller_of
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story, workers
from tests.unit.bridge import words
from tests.unit.bridge.words import AT, JOB_API, gone, listed, phase, service, until

pytestmark = pytest.mark.integration


@pytest.fixture
async def there(cluster: Cluster, namespace: str) -> AsyncIterator[ApiServerCluster]:
    """The cluster, watched in one namespace."""
    writing = ApiServerCluster(await Api.connect(ApiServerChoice(cluster.kubeconfig)), namespaces=[namespace])
    await listed(writing.watch())
    yield writing
    await writing.close()


@pytest.fixture
async def owner(there: ApiServerCluster, namespace: str) -> Manifest:
    """A job."""
    return await there.create(words.job(namespace=namespace))


@pytest.fixture
def pod(owner: Manifest, namespace: str) -> Manifest:
    """A pod of the job, that is not made yet; it holds evidence."""
    return words.pod(owner, namespace=namespace, evidence=True)


def uid_of(raw: Manifest) -> str:
    return str(raw["metadata"]["uid"])


async def known(there: ApiServerCluster, owner: Manifest) -> list[Manifest]:
    return list(await there.children(owner["metadata"]["namespace"], uid_of(owner)))


# ---- create ------------------------------------------------------------------------------------------------


async def test_the_same_object_is_not_made_twice(there: ApiServerCluster, pod: Manifest) -> None:
    await there.create(pod)
    with pytest.raises(Conflict) as conflict:
        await there.create(pod)
    assert conflict.value.exists


async def test_a_quota_that_is_used_up_is_a_refusal_by_403(
    there: ApiServerCluster, cluster: Cluster, namespace: str, pod: Manifest
) -> None:
    cluster.kubectl("create", "quota", "none", "--hard=pods=0", "-n", namespace)
    cluster.kubectl(
        "wait", "quota/none", "-n", namespace, "--for=jsonpath={.status.hard.pods}=0", "--timeout=90s"
    )
    with pytest.raises(Refused) as refused:
        await there.create(pod)
    assert (refused.value.status, refused.value.reason) == (403, "Forbidden")
    assert "exceeded quota: none" in refused.value.message


async def test_a_namespace_that_is_terminating_is_a_refusal_by_403(
    there: ApiServerCluster, cluster: Cluster, namespace: str, pod: Manifest
) -> None:
    held = await there.create(pod)
    cluster.kubectl("delete", "namespace", namespace, "--wait=false")
    with pytest.raises(Refused) as refused:
        await there.create({**pod, "metadata": {**pod["metadata"], "name": "another"}})
    assert refused.value.status == 403
    assert "because it is being terminated" in refused.value.message
    await there.release(Ref.of(held), uid_of(held))


async def test_a_namespace_that_is_not_there_is_a_refusal_by_404(there: ApiServerCluster) -> None:
    with pytest.raises(Refused) as refused:
        await there.create(words.pod(namespace="there-is-none"))
    assert (refused.value.status, refused.value.message) == (404, 'namespaces "there-is-none" not found')


async def test_what_is_invalid_is_a_refusal_by_422(there: ApiServerCluster, pod: Manifest) -> None:
    pod["spec"]["containers"][0]["name"] = "No Name"
    with pytest.raises(Refused) as refused:
        await there.create(pod)
    assert (refused.value.status, refused.value.reason) == (422, "Invalid")
    assert "spec.containers[0].name" in refused.value.message


@pytest.mark.parametrize("api_version", ["nobody.example.org/v1", f"{JOB_API}", "batch/v1"])
async def test_a_kind_that_is_not_installed_is_refused_by_name(
    there: ApiServerCluster, namespace: str, api_version: str
) -> None:
    """Of a group that nobody has, and of groups that are there."""
    manifest = {"apiVersion": api_version, "kind": "Thing", "metadata": {"name": "a", "namespace": namespace}}
    for call in (there.create(manifest), there.get(Ref.of(manifest))):
        with pytest.raises(Refused) as refused:
            await call
        assert (refused.value.status, refused.value.message) == (404, f"Thing {api_version} is not installed")


async def test_what_was_made_is_known_at_once_and_stays_known(
    there: ApiServerCluster, owner: Manifest, namespace: str
) -> None:
    """No visit right after a write may see less than was written, and later ones not either."""
    made = []
    for number in range(20):
        name = f"pod-{number}"
        made.append(
            uid_of(
                await there.create(
                    words.pod(owner, name=name, namespace=namespace, replica=("worker", number))
                )
            )
        )
        assert [uid_of(manifest) for manifest in await known(there, owner)] == made
    for _ in range(50):
        await asyncio.sleep(0.02)  # the watch tells of them, older than what we know and newer
        assert [uid_of(manifest) for manifest in await known(there, owner)] == made
    await until(lambda: all(child.phase == "Running" for child in there.known()))


# ---- deletion ----------------------------------------------------------------------------------------------


async def grace(there: ApiServerCluster, owner: Manifest) -> list[int | None]:
    """Of each child that is known: the seconds it has left; None where nobody deletes it."""
    return [manifest["metadata"].get("deletionGracePeriodSeconds") for manifest in await known(there, owner)]


async def test_a_running_pod_is_known_to_be_going_at_once(
    there: ApiServerCluster, owner: Manifest, pod: Manifest
) -> None:
    created = await there.create(pod)
    ref = Ref.of(created)
    await phase(there, ref, "Running")
    await there.delete(ref, uid=uid_of(created))
    assert await grace(there, owner) == [30]
    await until(lambda: [child.grace for child in there.known()] == [0])  # a kubelet's last word
    await there.release(ref, uid_of(created))
    assert await known(there, owner) == []
    with pytest.raises(Missing):
        await there.get(ref)


async def test_a_pod_that_is_deleted_by_force_is_held_by_its_evidence_alone(
    there: ApiServerCluster, owner: Manifest, pod: Manifest
) -> None:
    created = await there.create(pod)
    await phase(there, Ref.of(created), "Running")
    await there.delete(Ref.of(created), uid=uid_of(created), grace=0)
    assert await grace(there, owner) == [0]
    await there.release(Ref.of(created), uid_of(created))
    assert await known(there, owner) == []


async def test_a_pod_that_failed_is_held_by_its_evidence_alone(
    there: ApiServerCluster, owner: Manifest, namespace: str
) -> None:
    created = await there.create(
        words.pod(owner, namespace=namespace, evidence=True, run_seconds="0", exit_code="3")
    )
    await phase(there, Ref.of(created), "Failed")
    await there.delete(Ref.of(created), uid=uid_of(created))
    assert await grace(there, owner) == [0]
    await there.release(Ref.of(created), uid_of(created))
    assert await known(there, owner) == []


async def test_a_pod_that_was_never_placed_goes_at_once(
    there: ApiServerCluster, owner: Manifest, namespace: str
) -> None:
    nowhere = {"nodeSelector": {"no": "where"}}
    created = await there.create(words.pod(owner, namespace=namespace, spec=nowhere))
    await there.delete(Ref.of(created), uid=uid_of(created))
    assert await known(there, owner) == []
    await gone(there, Ref.of(created))


async def test_a_service_goes_at_once(there: ApiServerCluster, owner: Manifest) -> None:
    created = await there.create(service(owner))
    await there.delete(Ref.of(created), uid=uid_of(created))
    assert await known(there, owner) == []
    await asyncio.sleep(0.3)
    assert await known(there, owner) == []


async def test_another_uid_or_version_is_somebody_elses(there: ApiServerCluster, pod: Manifest) -> None:
    created = await there.create(pod)
    ref = Ref.of(created)
    for call in (
        there.delete(ref, uid="another"),
        there.delete(ref, uid=uid_of(created), version="1"),
        there.release(ref, "another"),
        there.patch(ref, {"metadata": {"labels": {"a": "b"}}}, uid="another"),
    ):
        with pytest.raises(Conflict) as conflict:
            await call
        assert not conflict.value.exists
    untouched = await there.get(ref)
    assert untouched["metadata"]["finalizers"] == [EVIDENCE]
    assert "deletionTimestamp" not in untouched["metadata"]


async def test_what_is_released_already_is_released(there: ApiServerCluster, pod: Manifest) -> None:
    created = await there.create(pod)
    for _ in range(2):
        await there.release(Ref.of(created), uid_of(created))
    assert not (await there.get(Ref.of(created)))["metadata"].get("finalizers")


async def test_finalizers_of_others_stay(there: ApiServerCluster, owner: Manifest, pod: Manifest) -> None:
    pod["metadata"]["finalizers"] = ["example.org/first", EVIDENCE, "example.org/last"]
    created = await there.create(pod)
    await there.release(Ref.of(created), uid_of(created))
    left = await there.get(Ref.of(created))
    assert left["metadata"]["finalizers"] == ["example.org/first", "example.org/last"]
    await there.delete(Ref.of(created), uid=uid_of(created), grace=0)
    assert await grace(there, owner) == [0]
    await there.patch(Ref.of(created), {"metadata": {"finalizers": None}})


# ---- status ------------------------------------------------------------------------------------------------


async def test_a_status_that_lost_a_race_is_written_at_the_next_try(
    there: ApiServerCluster, cluster: Cluster, owner: Manifest, namespace: str
) -> None:
    ref, uid = Ref.of(owner), uid_of(owner)
    cluster.kubectl("label", "pj", "mnist", "a=b", "-n", namespace)
    assert there._watching is not None
    there._watching.versions[uid] = owner["metadata"]["resourceVersion"]  # the watch is behind
    with pytest.raises(ClusterUnavailable):
        await there.patch_status(ref, uid, {"phase": "Running"}, 1)
    await there.patch_status(ref, uid, {"phase": "Running"}, 1)
    await there.patch_status(ref, uid, {"phase": "Pending"}, 0)
    assert (await there.get(ref))["status"] == {"phase": "Running"}


async def test_a_status_that_the_kind_does_not_know_is_a_refusal(
    there: ApiServerCluster, owner: Manifest
) -> None:
    with pytest.raises(Refused, match=r"status.phase: Unsupported value"):
        await there.patch_status(Ref.of(owner), uid_of(owner), {"phase": "Nonsense"}, 1)


async def test_a_job_that_is_gone_has_no_status(there: ApiServerCluster, owner: Manifest) -> None:
    ref = Ref.of(owner)
    await there.delete(ref)
    await gone(there, ref)
    with pytest.raises(Missing):
        await there.patch_status(ref, uid_of(owner), {"phase": "Running"}, 1)
    await there.create(words.job(namespace=ref.namespace))
    with pytest.raises(Missing):
        await there.patch_status(ref, uid_of(owner), {"phase": "Running"}, 1)


def two() -> Story:
    return Story(workers(2, policy="OnFailure", runPolicy={"backoffLimit": 1})).submit()


STORIES: dict[str, Callable[[], Story]] = {
    "new": two,
    "running": lambda: two().all_pods("Running"),
    "restarting": lambda: two().all_pods("Running").pod("worker-1", "Failed", exit_code=137),
    "failed": lambda: (
        two().all_pods("Running").all_pods("Failed", exit_code=1).all_pods("Failed", exit_code=1)
    ),
    "succeeded": lambda: two().all_pods("Running").all_pods("Succeeded", exit_code=0),
    "paused": lambda: two().all_pods("Running").pause(),
    "refused": lambda: two().refused(status_=403, message="exceeded quota"),
    "unreachable": lambda: two().all_pods("Running").pod("worker-0", "Unknown"),
}


@pytest.mark.parametrize("how", STORIES)
async def test_a_status_is_shown_as_it_was_written(
    there: ApiServerCluster, owner: Manifest, how: str
) -> None:
    """Were it shown otherwise, it would be taken for somebody else's, and written again and again."""
    wished = STORIES[how]().status
    await there.patch_status(Ref.of(owner), uid_of(owner), wished, 1)
    assert (await there.get(Ref.of(owner)))["status"] == wished


async def test_a_status_that_a_user_wrote_is_set_right_within_seconds(
    cluster: Cluster, namespace: str
) -> None:
    there = ApiServerCluster(await Api.connect(ApiServerChoice(cluster.kubeconfig)), namespaces=[namespace])
    controller = controller_of(MemoryLog(), there, WallClock())
    running = asyncio.create_task(controller.run())
    manifest = words.job(namespace=namespace)
    manifest["spec"] = workers(1)
    created = await there.create(manifest)
    ref = Ref.of(created)
    await shows(there, ref, lambda status: status.get("phase") == "Running")
    right = (await there.get(ref))["status"]
    written = there.api.sent["PATCH", "200"]
    patch = '{"status": {"phase": "Succeeded", "backoffCount": 99}}'
    cluster.kubectl(
        "patch", "pj", "mnist", "-n", namespace, "--subresource=status", "--type=merge", "-p", patch
    )
    began = asyncio.get_running_loop().time()
    await shows(there, ref, lambda status: status == right)
    assert asyncio.get_running_loop().time() - began < 30
    async with asyncio.timeout(30):  # the status shows before the answer that tells of it has come
        while there.api.sent["PATCH", "200"] == written:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
    assert there.api.sent["PATCH", "200"] == written + 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    for held in await there.list("v1", "Pod", namespace):
        await there.release(Ref.of(held), uid_of(held))
    await there.close()


async def shows(there: ApiServerCluster, ref: Ref, wanted: Callable[[Any], bool]) -> None:
    """The job has such a status."""
    async with asyncio.timeout(90):
        while not wanted((await there.get(ref)).get("status", {})):  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.1)


# ---- events and logs ---------------------------------------------------------------------------------------


def happening(owner: Manifest, message: str = "it began") -> JobEvent:
    return JobEvent(Ref.of(owner), uid_of(owner), "mnist.1", "Start", message, "Normal", AT)


async def test_an_event_is_written_once_and_kubectl_shows_it(
    there: ApiServerCluster, cluster: Cluster, owner: Manifest, namespace: str
) -> None:
    for _ in range(2):
        await there.emit(happening(owner))
    assert await there.events(namespace, uid_of(owner)) == [happening(owner)]
    described = cluster.kubectl("describe", "pj", "mnist", "-n", namespace)
    assert described.count("it began") == 1
    assert "jobledger" in described


async def test_an_event_of_many_words_is_cut(
    there: ApiServerCluster, owner: Manifest, namespace: str
) -> None:
    await there.emit(happening(owner, "ä" * 5000))
    [event] = await there.events(namespace, uid_of(owner))
    assert event.message == "ä" * 1024


async def test_an_event_in_a_namespace_that_is_gone_is_missing(there: ApiServerCluster) -> None:
    nobody = words.job(uid="j-1", namespace="there-is-none")
    with pytest.raises(Missing):
        await there.emit(happening(nobody))


async def test_the_log_of_a_pod_of_another_uid_is_missing(there: ApiServerCluster, pod: Manifest) -> None:
    """Kubernetes keeps no log of a pod that is gone."""
    await there.create(pod)
    ref = Ref.of(pod)
    with pytest.raises(Missing, match="made anew"):
        await anext(there.logs(ref.namespace, ref.name, uid="another"))
    with pytest.raises(Missing, match='has no container "other"'):
        await anext(there.logs(ref.namespace, ref.name, container="other"))


async def test_a_log_is_followed_while_it_grows(
    there: ApiServerCluster, cluster: Cluster, pod: Manifest, tmp_path: Path
) -> None:
    created = await there.create(pod)
    ref, file = Ref.of(created), tmp_path / "log"
    await show_log(there, ref.namespace, ref.name, file, b"one\n")
    await phase(there, ref, "Running")
    await asyncio.to_thread(
        wait_for,
        "the log",
        lambda: cluster.answer("logs", ref.name, "-n", ref.namespace).stdout == "one\n",
    )
    following = cast(AsyncGenerator[bytes, None], there.logs(ref.namespace, ref.name, follow=True))
    async with asyncio.timeout(90), aclosing(following) as pieces:
        assert await anext(pieces) == b"one\n"
        with file.open("ab") as writing:
            writing.write(b"2026-01-01T00:00:01.000000000Z stdout F two\n")
        assert await anext(pieces) == b"two\n"
    await there.release(ref, uid_of(created))
