"""Pods that no job will ever ask about: released at the second look, and only those."""

from collections.abc import Callable, Container

import pytest

from k8s_bridge.port import EVIDENCE, Manifest, Ref
from projectors.sweeper import Sweeper
from statemachine.errors import Conflict, Missing, Refused
from statemachine.ids import JobUid, PodUid, Seq
from statemachine.state import JobState
from tests.support.memory_cluster import MemoryCluster

JOB = JobUid("job-1")


class Known:
    """The states of a log, and the pods that its jobs ask about: counted by it, or awaited."""

    def __init__(
        self, *states: JobState, counted: Container[PodUid] = (), awaited: Container[Ref] = ()
    ) -> None:
        self._states = {state.uid: state for state in states}
        self._counted, self._awaited = counted, awaited

    def pods(self) -> Container[PodUid]:
        return self._counted

    def awaited_pods(self) -> Container[Ref]:
        return self._awaited

    def state(self, job: JobUid) -> JobState | None:
        return self._states.get(job)

    def seq(self, _: JobUid) -> Seq:
        raise AssertionError

    def is_forgotten(self, _: JobUid) -> bool:
        raise AssertionError

    def quarantined(self, _: JobUid) -> None:
        raise AssertionError

    async def fresh(self, _: JobUid) -> None:
        raise AssertionError


def orphan(cluster: MemoryCluster, name: str = "p", job: str = JOB) -> Manifest:
    """A pod of a job whose object is gone, with the evidence finalizer."""
    owner = {"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": job, "controller": True}
    meta = {"name": name, "namespace": "demo", "finalizers": [EVIDENCE], "ownerReferences": [owner]}
    spec = {"containers": [{"name": "main", "image": "x"}]}
    return cluster.objects.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def is_held(cluster: MemoryCluster, pod: Manifest) -> bool:
    return EVIDENCE in (cluster.objects.get(Ref.of(pod))["metadata"].get("finalizers") or ())


def sweeper(cluster: MemoryCluster, *states: JobState, mine: Callable[[JobUid], bool] = bool) -> Sweeper:
    return Sweeper(Known(*states), cluster, mine)


async def test_an_orphan_is_released_at_the_second_look() -> None:
    """At the first its job may be a new one, of which the watch of jobs has not spoken yet."""
    cluster = MemoryCluster()
    pod, sweeps = orphan(cluster), sweeper(cluster)
    await sweeps.sweep()
    assert (is_held(cluster, pod), sweeps.orphans, sweeps.released) == (True, 1, 0)
    await sweeps.sweep()
    assert (is_held(cluster, pod), sweeps.orphans, sweeps.released) == (False, 1, 1)
    await sweeps.sweep()
    assert (sweeps.orphans, sweeps.released) == (0, 1)


async def test_two_looks_that_do_not_follow_each_other_are_not_two() -> None:
    cluster = MemoryCluster()
    pod, states = orphan(cluster), Known()
    sweeps = Sweeper(states, cluster)
    await sweeps.sweep()
    states._states[JOB] = JobState(JOB)
    await sweeps.sweep()
    del states._states[JOB]
    await sweeps.sweep()
    assert is_held(cluster, pod)
    await sweeps.sweep()
    assert not is_held(cluster, pod)


@pytest.mark.parametrize(("closed", "stays"), [(False, True), (True, False)])
async def test_a_pod_of_a_job_that_the_log_still_follows_is_left_to_that(closed: bool, stays: bool) -> None:
    cluster = MemoryCluster()
    pod, sweeps = orphan(cluster), sweeper(cluster, JobState(JOB, deleted=closed, closed=closed))
    for _ in range(3):
        await sweeps.sweep()
    assert is_held(cluster, pod) is stays


async def test_a_pod_without_a_controller_that_the_log_has_is_held_for_its_evidence() -> None:
    """Somebody took its owner references away; the children projector takes it back when it can."""
    cluster = MemoryCluster()
    known, other = orphan(cluster, "a"), orphan(cluster, "b")
    for manifest in (known, other):
        cluster.objects.patch(Ref.of(manifest), {"metadata": {"ownerReferences": None}})
    sweeps = Sweeper(Known(counted={known["metadata"]["uid"]}), cluster)
    for _ in range(3):
        await sweeps.sweep()
    assert (is_held(cluster, known), is_held(cluster, other)) == (True, False)


async def test_a_pod_without_a_controller_that_a_job_waits_for_is_held_until_it_is_being_deleted() -> None:
    """The log does not have it yet. One that is being deleted is not taken back, and has to make way."""
    cluster = MemoryCluster()
    waits, going, owned = orphan(cluster, "a"), orphan(cluster, "b"), orphan(cluster, "c")
    for manifest in (waits, going):
        cluster.objects.patch(Ref.of(manifest), {"metadata": {"ownerReferences": None}})
    cluster.objects.delete(Ref.of(going), "", None, "")
    sweeps = Sweeper(Known(awaited={*map(Ref.of, (waits, going, owned))}), cluster)
    for _ in range(3):
        await sweeps.sweep()
    assert is_held(cluster, waits)
    assert not is_held(cluster, owned)
    assert sweeps.released == 2


async def test_a_pod_of_a_job_of_another_process_is_left_to_that() -> None:
    cluster = MemoryCluster()
    pod, sweeps = orphan(cluster), sweeper(cluster, mine=lambda job: job != JOB)
    for _ in range(3):
        await sweeps.sweep()
    assert is_held(cluster, pod)
    assert sweeps.orphans == 0


async def test_an_orphan_is_released_by_its_uid() -> None:
    cluster, uids = MemoryCluster(), []

    async def release(ref: Ref, uid: str) -> None:
        uids.append(uid)

    cluster.release = release  # type: ignore[method-assign]
    pod, sweeps = orphan(cluster), sweeper(cluster)
    for _ in range(2):
        await sweeps.sweep()
    assert uids == [pod["metadata"]["uid"]]


@pytest.mark.parametrize("error", [Missing("gone"), Conflict("another uid"), Refused(403, "Forbidden", "no")])
async def test_an_orphan_that_cannot_be_released_does_not_keep_the_others(error: Exception) -> None:
    cluster = MemoryCluster()
    first, second, sweeps = orphan(cluster, "a"), orphan(cluster, "b"), sweeper(cluster)
    await sweeps.sweep()
    cluster.faults.fail_next(error, verbs=("release",))  # type: ignore[arg-type]
    await sweeps.sweep()
    assert (is_held(cluster, first), is_held(cluster, second), sweeps.released) == (True, False, 1)
