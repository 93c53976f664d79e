"""What a visit creates, in which order and how often, and what it reports of refusals."""

import asyncio
from collections import Counter
from typing import Final

import pytest

from k8s_bridge.port import EVIDENCE, Manifest, Ref
from statemachine.errors import ClusterError, Refused
from statemachine.ids import ATTEMPT
from statemachine.observations import PodGone, WriteRefused
from tests.support.cluster_faults import invalid, quota, unavailable
from tests.support.scenario import API, KIND, Story, workers
from tests.support.simulated import on_simulated_time
from tests.unit.kinds import deepspeed
from tests.unit.projectors.visits import Visits

POD: Final = "Pod/mnist-7ac1b-worker-0"
SERVICE: Final = "Service/mnist-7ac1b-worker-0"
JOB: Final = Ref(API, KIND, "demo", "mnist")
BOARD: Final = {"tensorboardSpec": {"image": "tensorboard"}}
STRANGER: Final = {"apiVersion": "v1", "kind": "ReplicaSet", "name": "x", "uid": "x", "controller": True}


def refusals(visits: Visits) -> list[WriteRefused]:
    return [observation for observation in visits.reported if isinstance(observation, WriteRefused)]


@on_simulated_time
async def test_pods_alone_are_held_by_the_evidence_finalizer() -> None:
    visits = Visits(Story(workers(1)).submit())
    await visits.visit()
    finalizers = {
        kind: [object_["metadata"].get("finalizers") for object_ in visits.cluster.objects.peek_all(kind)]
        for kind in ("Pod", "Service")
    }
    assert finalizers == {"Pod": [[EVIDENCE]], "Service": [None]}


@on_simulated_time
async def test_pods_are_created_eight_at_first_and_then_twice_as_many_at_a_time() -> None:
    visits = Visits(Story(workers(30)).submit())
    create, moments = visits.cluster.create, Counter[float]()

    async def slow(manifest: Manifest) -> Manifest:
        if manifest["kind"] == "Pod":
            moments[asyncio.get_running_loop().time()] += 1
        await asyncio.sleep(1)
        return await create(manifest)

    visits.cluster.create = slow  # type: ignore[method-assign]
    await visits.visit()
    assert list(moments.values()) == [8, 16, 6]


@on_simulated_time
async def test_after_a_refusal_no_more_pods_are_asked_for() -> None:
    visits = Visits(Story(workers(30)).submit())
    visits.cluster.faults.fail_next(quota(), times=30, verbs=("create",), kinds=("Pod",))
    await visits.visit()
    assert len(visits.cluster.made("create")) == 8


@on_simulated_time
async def test_of_several_refusals_the_one_that_cannot_pass_is_reported() -> None:
    visits = Visits(Story(workers(6)).submit())
    visits.cluster.faults.fail_next(quota(), times=3, verbs=("create",), kinds=("Pod",))
    visits.cluster.faults.fail_next(invalid(), verbs=("create",), kinds=("Pod",))
    await visits.visit()
    assert [(refusal.status, refusal.retryable) for refusal in refusals(visits)] == [(422, False)]


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        (quota(), 403, True),
        (Refused(404, "NotFound", "no such kind"), 404, True),
        (Refused(429, "TooManyRequests", "later"), 429, True),
        (Refused(500, "InternalError", "a webhook failed"), 500, True),
        (unavailable(), 503, True),
        (invalid(), 422, False),
        (Refused(400, "BadRequest", "what is that"), 400, False),
    ],
)
def test_a_refusal_is_reported_with_whether_it_may_pass(
    error: ClusterError, status: int, retryable: bool
) -> None:
    @on_simulated_time
    async def whole() -> None:
        visits = Visits(Story(workers(1)).submit())
        visits.cluster.faults.fail_next(error, verbs=("create",), kinds=("Pod",))
        await visits.visit()
        assert [(refusal.status, refusal.retryable) for refusal in refusals(visits)] == [(status, retryable)]

    whole()


@on_simulated_time
async def test_nothing_waits_for_an_optional_child_that_is_refused() -> None:
    visits = Visits(Story(workers(1, **BOARD)).submit())
    visits.cluster.faults.fail_next(quota(), verbs=("create",), kinds=("TensorBoard",))
    assert await visits.visit() == 60.0
    assert len(visits.cluster.made("create")) == 1


@on_simulated_time
async def test_a_pod_that_lost_its_labels_has_them_again() -> None:
    visits = Visits(Story(workers(1)).submit())
    pod = visits.put(POD, **{ATTEMPT: "1"})
    labels = pod["metadata"]["labels"]
    visits.cluster.objects.patch(Ref.of(pod), {"metadata": {"labels": None}})
    visits.cluster.stale = ()  # no watch by label shows it
    await visits.visit()
    (call,) = visits.cluster.made("patch")
    assert call.uid == pod["metadata"]["uid"]
    assert visits.cluster.objects.get(Ref.of(pod))["metadata"]["labels"] == labels


@on_simulated_time
async def test_a_pod_is_not_created_that_the_latest_state_knows() -> None:
    visits = Visits(Story(workers(1)).submit())
    visits.states.newest = visits.story.pod("worker-0", "Running").state
    await visits.visit()
    assert visits.cluster.made("create") == []


@on_simulated_time
async def test_a_pod_that_was_reported_while_children_were_listed_is_not_said_to_be_absent() -> None:
    visits = Visits(Story(workers(1)).submit().pause())
    visits.put(SERVICE)
    heard = visits.story.pod("worker-0", "Running").state
    visits.cluster.listed = lambda: visits.knows(heard)
    await visits.visit()
    assert visits.reported == []


@on_simulated_time
async def test_a_pod_that_vanished_unheard_is_reported_after_the_watches_had_time_to() -> None:
    visits = Visits(Story(workers(1)).submit())
    await visits.visit()
    (pod,) = visits.cluster.objects.peek_all("Pod")
    visits.cluster.delete_pod("demo", pod["metadata"]["name"], force=True)
    await visits.visit()
    assert visits.reported == []
    await asyncio.sleep(10)
    await visits.visit()
    (gone,) = visits.reported
    assert isinstance(gone, PodGone)
    assert (gone.replica, gone.attempt, gone.uid) == ("worker-0", 1, pod["metadata"]["uid"])
    assert len(visits.cluster.made("create")) == 1, "a second pod of the attempt would be its twin"


@on_simulated_time
async def test_a_pod_of_the_name_that_does_not_carry_the_labels_is_somebody_elses() -> None:
    visits = Visits(Story(workers(1)).submit())
    other = visits.put(POD)
    visits.cluster.objects.patch(Ref.of(other), {"metadata": {"labels": None, "ownerReferences": None}})
    await visits.visit()
    assert [(refusal.status, refusal.name_taken) for refusal in refusals(visits)] == [(409, True)]
    assert "ownerReferences" not in visits.cluster.objects.get(Ref.of(other))["metadata"]


@on_simulated_time
async def test_a_secret_that_was_deleted_unseen_is_made_again_before_the_pods_that_need_it() -> None:
    """Nobody watches Secrets, so what is listed may have gone."""
    visits = Visits(Story(deepspeed.spec(), name="gpt", kind=deepspeed.KIND).submit())
    secret = visits.put("Secret/gpt-ssh")
    visits.cluster.stale = [secret]
    visits.cluster.objects.delete(Ref.of(secret))
    await visits.visit()
    made = [call.ref.kind for call in visits.cluster.calls if call.verb == "create"]
    assert made.count("Secret") == 1
    assert made.index("Secret") < made.index("Pod")


@on_simulated_time
async def test_for_a_secret_that_is_not_listed_yet_no_keys_are_made() -> None:
    visits = Visits(Story(deepspeed.spec(), name="gpt", kind=deepspeed.KIND).submit())
    visits.put("Secret/gpt-ssh")
    visits.cluster.stale = ()
    await visits.visit()
    assert visits.keys == 0


@on_simulated_time
async def test_a_job_object_that_is_ahead_of_the_log_is_compared_again_soon() -> None:
    visits = Visits(Story(workers(1)).submit())
    visits.cluster.objects.patch(JOB, {"spec": workers(2)})
    assert await visits.visit() == 1.0
    assert visits.cluster.calls == []


@on_simulated_time
async def test_a_job_object_that_is_not_there_is_read_again_after_ten_seconds_and_then_every_minute() -> None:
    """Source: ADR 0021."""
    visits = Visits(Story(workers(1)).submit())
    visits.cluster.objects.delete(JOB)
    assert [await visits.visit() for _ in range(4)] == [10.0, 60.0, 60.0, 60.0]
    assert (visits.cluster.reads, visits.cluster.calls) == (4, [])


@on_simulated_time
async def test_a_confirmed_job_is_none_of_those_that_nothing_is_made_for() -> None:
    visits = Visits(Story(workers(1)).submit())
    await visits.visit()
    assert visits.confirming.refused == 0
    assert len(visits.cluster.made("create")) == 1
