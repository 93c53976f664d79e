"""What a visit to a job's children asks of the cluster, call by call, and what it reports of the answers."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from k8s_bridge.port import EVIDENCE, Manifest, Ref
from projectors import children
from projectors.base import Quarantine
from projectors.diff import Write, diff
from projectors.taking_back import take_back
from statemachine.errors import ClusterUnavailable, Missing, Refused
from statemachine.ids import ATTEMPT
from statemachine.observations import PodObserved, WriteRefused
from statemachine.state import JobState, changed
from tests.support.scenario import API, KIND, UID, Story, workers
from tests.support.simulated import on_simulated_time, run_simulated
from tests.unit.projectors.visits import Visits

POD: Final = "Pod/mnist-7ac1b-worker-0"
SERVICE: Final = "Service/mnist-7ac1b-worker-0"
JOB: Final = Ref(API, KIND, "demo", "mnist")
BOARD: Final = {"tensorboardSpec": {"image": "tensorboard"}}
STRANGER: Final = {"apiVersion": "v1", "kind": "ReplicaSet", "name": "x", "uid": "x", "controller": True}


def with_pod(visits: Visits) -> Manifest:
    """The job's pod, which runs and which the log knows; as stored."""
    pod = visits.put(POD, **{ATTEMPT: "1"})
    visits.story.pod("worker-0", "Running", uid=pod["metadata"]["uid"])
    visits.knows()
    return pod


def refusals(visits: Visits) -> list[WriteRefused]:
    return [observation for observation in visits.reported if isinstance(observation, WriteRefused)]


@on_simulated_time
async def test_a_child_is_deleted_by_its_uid() -> None:
    visits = Visits(Story(workers(1)).submit())
    pod = with_pod(visits)
    visits.story.pause()
    visits.knows()
    await visits.visit()
    (call,) = visits.cluster.made("delete")
    assert (call.ref, call.uid, call.version) == (Ref.of(pod), pod["metadata"]["uid"], "")


@pytest.mark.parametrize("is_another", [False, True])
def test_children_are_compared_again_only_if_the_latest_state_is_another(
    is_another: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[JobState] = []

    def noted(state: JobState, *arguments: Any) -> Iterator[Write]:
        compared.append(state)
        return diff(state, *arguments)

    async def visited() -> None:
        visits = Visits(Story(workers(1)).submit())
        if is_another:
            visits.states.newest = changed(visits.story.state, generation=2)
        await visits.visit()
        assert len(visits.cluster.made("create")) == 1

    monkeypatch.setattr(children, "diff", noted)
    run_simulated(visited(), seed=1)
    assert [state.generation for state in compared] == ([1, 2] if is_another else [1])


@on_simulated_time
async def test_a_child_of_a_deleted_job_is_deleted_by_its_uid_and_version() -> None:
    visits = Visits(Story(workers(1)).submit())
    pod, service = with_pod(visits), visits.put(SERVICE)
    visits.story.delete()
    visits.knows()
    pod = visits.cluster.objects.get(Ref.of(pod))
    await visits.visit()
    deleted = [call for call in visits.cluster.calls if call.verb == "delete"]
    assert {(call.ref, call.uid, call.version) for call in deleted} == {
        (Ref.of(manifest), manifest["metadata"]["uid"], manifest["metadata"]["resourceVersion"])
        for manifest in (pod, service)
    }


@on_simulated_time
async def test_another_pod_of_the_name_is_not_deleted_and_looked_at_soon() -> None:
    visits = Visits(Story(workers(1)).submit())
    pod = with_pod(visits)
    visits.story.pause()
    visits.knows()
    other: list[Manifest] = []
    visits.cluster.listed = lambda: other.append(visits.again(pod))
    assert await visits.visit() == 1.0
    assert "deletionTimestamp" not in visits.cluster.objects.get(Ref.of(other[0]))["metadata"]


@on_simulated_time
async def test_a_child_that_its_deleted_job_leaves_as_an_orphan_just_now_is_not_deleted() -> None:
    visits = Visits(Story(workers(1)).submit())
    service = visits.put(SERVICE)
    visits.story.delete()
    visits.knows()
    orphaned = {"metadata": {"ownerReferences": None}}
    visits.cluster.listed = lambda: visits.cluster.objects.patch(Ref.of(service), orphaned)
    assert await visits.visit() == 1.0
    assert visits.cluster.objects.peek(Ref.of(service)) is not None


@on_simulated_time
async def test_an_object_is_updated_by_its_uid() -> None:
    visits = Visits(Story(workers(1, **BOARD)).submit())
    board = visits.put("TensorBoard/mnist-7ac1b")
    visits.story.edit(tensorboardSpec={"image": "newer"})
    visits.knows()
    await visits.visit()
    (call,) = visits.cluster.made("patch", "TensorBoard")
    assert call.uid == board["metadata"]["uid"]


@on_simulated_time
async def test_a_pod_is_released_by_its_uid() -> None:
    visits = Visits(Story(workers(1, policy="OnFailure")).submit())
    pod = with_pod(visits)
    visits.cluster.objects.patch(Ref.of(pod), {"metadata": {"finalizers": [EVIDENCE]}})
    visits.story.pod("worker-0", "Failed", exit_code=137)
    visits.knows()
    await visits.visit()
    assert [call.uid for call in visits.cluster.made("release")] == [pod["metadata"]["uid"]]


@on_simulated_time
async def test_a_deletion_that_is_refused_is_reported_and_tried_again() -> None:
    visits = Visits(Story(workers(1)).submit())
    with_pod(visits)
    visits.story.pause()
    visits.knows()
    visits.cluster.faults.fail_next(Refused(403, "Forbidden", "no right"), verbs=("delete",))
    with pytest.raises(ClusterUnavailable, match="no right"):
        await visits.visit()
    assert [(refusal.verb, refusal.status, refusal.retryable) for refusal in refusals(visits)] == [
        ("delete", 403, True)
    ]


@pytest.mark.parametrize("is_another", [False, True])
def test_a_pod_of_a_later_attempt_is_reported_if_it_is_still_that_one(is_another: bool) -> None:
    @on_simulated_time
    async def whole() -> None:
        visits = Visits(Story(workers(1)).submit())
        pod = visits.put(POD, **{ATTEMPT: "2"})
        if is_another:
            visits.cluster.listed = lambda: visits.again(pod)
        assert await visits.visit() == 1.0
        uids = [observation.uid for observation in visits.reported if isinstance(observation, PodObserved)]
        assert uids == ([] if is_another else [pod["metadata"]["uid"]])

    whole()


@on_simulated_time
async def test_a_pod_that_somebody_else_controls_by_now_is_not_taken_back() -> None:
    visits = Visits(Story(workers(1)).submit())
    pod = with_pod(visits)
    visits.cluster.objects.patch(Ref.of(pod), {"metadata": {"ownerReferences": None}})
    taken = {"metadata": {"ownerReferences": [STRANGER]}}
    visits.cluster.listed = lambda: visits.cluster.objects.patch(Ref.of(pod), taken)
    await visits.visit()
    assert visits.cluster.objects.get(Ref.of(pod))["metadata"]["ownerReferences"] == [STRANGER]


@pytest.mark.parametrize("is_terminating", [False, True])
def test_a_pod_without_a_controller_is_taken_back_unless_it_is_being_deleted(is_terminating: bool) -> None:
    """The last pod of a job of the same name: its end is none of this job's, and the name is free soon."""

    @on_simulated_time
    async def whole() -> None:
        visits = Visits(Story(workers(1)).submit())
        pod = visits.put(POD)
        orphan = {"ownerReferences": None, "finalizers": ["example.com/wait"]}
        visits.cluster.objects.patch(Ref.of(pod), {"metadata": orphan})
        if is_terminating:
            visits.cluster.objects.delete(Ref.of(pod))
        await visits.visit()
        assert len(visits.cluster.made("patch")) == (not is_terminating)
        assert [refusal.name_taken for refusal in refusals(visits)] == [True] * is_terminating

    whole()


async def taken_back(visits: Visits, pod: Manifest, attempt: int = 0) -> dict[str, Any] | None:
    """The metadata of the patch that takes the pod back; None if it is left."""
    if not await take_back(visits.cluster, visits.story.state, pod, attempt, evidence=True):
        return None
    (call,) = visits.cluster.made("patch")
    assert call.uid == pod["metadata"]["uid"]
    metadata: dict[str, Any] = call.merge["metadata"]
    return metadata


@on_simulated_time
async def test_a_pod_is_taken_back_as_it_was_read() -> None:
    visits = Visits(Story(workers(1)).submit())
    pod = visits.put(POD, **{ATTEMPT: "1"})
    metadata = await taken_back(visits, pod, attempt=2)
    assert metadata is not None
    assert metadata["resourceVersion"] == pod["metadata"]["resourceVersion"]
    assert metadata["finalizers"] == [EVIDENCE]
    assert metadata["annotations"] == {ATTEMPT: "2"}


@on_simulated_time
async def test_a_pod_that_says_a_later_attempt_keeps_it() -> None:
    visits = Visits(Story(workers(1)).submit())
    metadata = await taken_back(visits, visits.put(POD, **{ATTEMPT: "3"}), attempt=2)
    assert metadata is not None
    assert "annotations" not in metadata


@on_simulated_time
async def test_a_terminating_pod_gets_no_finalizer_when_it_is_taken_back() -> None:
    """An API server refuses one that is added by then."""
    visits = Visits(Story(workers(1)).submit())
    pod = visits.put(POD, **{ATTEMPT: "1"})
    visits.cluster.objects.delete(Ref.of(pod))
    metadata = await taken_back(visits, visits.cluster.objects.get(Ref.of(pod)))
    assert metadata is not None
    assert "finalizers" not in metadata


@on_simulated_time
async def test_a_pod_whose_end_the_log_has_gets_no_finalizer_when_it_is_taken_back() -> None:
    """It was released, and nothing may ask for another visit."""
    visits = Visits(Story(workers(2)).submit())
    pod = with_pod(visits)
    visits.story.pod("worker-1", "Running").pod("worker-0", "Succeeded", uid=pod["metadata"]["uid"])
    visits.knows()
    visits.cluster.objects.patch(Ref.of(pod), {"metadata": {"ownerReferences": None}})
    await visits.visit()
    (call,) = visits.cluster.made("patch")
    assert call.merge["metadata"]["ownerReferences"]
    assert "finalizers" not in call.merge["metadata"]


@on_simulated_time
async def test_a_job_that_is_being_deleted_takes_no_pod_back() -> None:
    visits = Visits(Story(workers(1)).submit())
    pod = visits.put(POD, **{ATTEMPT: "1"})
    job = next(iter(visits.cluster.objects.peek_all("PyTorchTrainingJob")))
    visits.cluster.objects.patch(Ref.of(job), {"metadata": {"finalizers": ["example.com/wait"]}})
    visits.cluster.objects.delete(Ref.of(job))
    assert await taken_back(visits, pod) is None


@pytest.mark.parametrize("uid", [UID, "another"])
def test_a_quarantined_job_has_pods_as_long_as_its_own_object_exists(uid: str) -> None:
    @on_simulated_time
    async def whole() -> None:
        visits = Visits(Story(workers(1)).submit())
        pod = visits.put(POD, **{ATTEMPT: "1"})
        visits.states.quarantine = Quarantine(visits.story.state, "its history cannot be folded")
        visits.states.now = None
        if uid != UID:
            visits.again(next(iter(visits.cluster.objects.peek_all("PyTorchTrainingJob"))))
        await visits.visit()
        stays = "deletionTimestamp" not in visits.cluster.objects.get(Ref.of(pod))["metadata"]
        assert stays is (uid == UID)

    whole()


@on_simulated_time
async def test_a_pod_gets_no_values_of_another_job_of_the_name() -> None:
    """The log has references in the places of secrets; what they stand for is read from the job's own object."""
    visits = Visits(Story(workers(2)).submit())
    (job,) = visits.cluster.objects.peek_all("PyTorchTrainingJob")
    visits.again(job)
    with pytest.raises(Missing, match="another job by now"):
        await visits.children._writer._with_values(visits.story.state, {})
