"""The memory cluster: how its pods move, and how it is broken."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Manifest, Ref, Verb
from statemachine.errors import ClusterUnavailable, Expired, Missing, Refused
from statemachine.observations import PodUnreadable
from tests.support.cluster_faults import invalid, quota, unavailable
from tests.support.memory_cluster import MemoryCluster
from tests.support.sim_pods import SimStep
from tests.unit.bridge.words import (
    AT,
    DEADLINE,
    code,
    config_map,
    gone,
    job,
    listed,
    next_change,
    phase,
    pod,
    until,
)

POD = Ref("v1", "Pod", "demo", "mnist-7ac1b-worker-0")


@pytest.fixture
async def cluster() -> AsyncIterator[MemoryCluster]:
    cluster = MemoryCluster(clock=lambda: AT)
    yield cluster
    await cluster.close()


def at_once(run_seconds: str = "1000", exit_code: str = "0") -> Manifest:
    return pod(start_seconds="0", stop_seconds="0", run_seconds=run_seconds, exit_code=exit_code)


async def test_uids_count_up(cluster: MemoryCluster) -> None:
    uids = [(await cluster.create(config_map(name)))["metadata"]["uid"] for name in "ab"]
    assert uids == ["u-1", "u-2"]


async def test_a_pod_without_run_seconds_runs_for_ever(cluster: MemoryCluster) -> None:
    assert len(cluster.script(pod())) == 1


async def test_a_pod_moves_by_script() -> None:
    steps = (SimStep(0.0, "Unknown"), SimStep(0.0, "Running"), SimStep(0.0, "Failed", (3,), "Evicted"))
    cluster = MemoryCluster(script=lambda _: steps)
    items = cluster.watch()
    await cluster.create(pod())
    phases: list[str] = []
    async with asyncio.timeout(DEADLINE):
        while not phases or phases[-1] != "Failed":
            change = await next_change(items, lambda change: "status" in change.object)
            phases.append(change.object["status"]["phase"])
    assert phases == ["Pending", "Unknown", "Running", "Failed"]
    ended = await cluster.get(POD)
    assert (code(ended), ended["status"]["reason"]) == (3, "Evicted")


async def test_a_pod_is_restarted_in_place_by_script() -> None:
    steps = (
        SimStep(0.0, "Running"),
        SimStep(0.0, "Running", restarts=1),
        SimStep(0.0, "Succeeded", restarts=2),
    )
    cluster = MemoryCluster(script=lambda _: steps)
    items = cluster.watch()
    await cluster.create(pod())
    counts: list[int] = []
    async with asyncio.timeout(DEADLINE):
        while counts[-1:] != [2]:
            change = await next_change(items, lambda change: "containerStatuses" in change.object["status"])
            counts += [change.object["status"]["containerStatuses"][0].get("restartCount", 0)]
    assert counts == [0, 1, 2]


async def test_run_seconds_written_on_a_running_pod_count_from_then(cluster: MemoryCluster) -> None:
    await cluster.create(at_once(run_seconds="1000", exit_code="7"))
    await phase(cluster, POD, "Running")
    await cluster.patch(POD, {"metadata": {"annotations": {"sim.jobledger.dev/run-seconds": "0"}}})
    assert code(await phase(cluster, POD, "Failed")) == 7


async def test_a_pod_deleted_by_somebody_else_ends_and_goes(cluster: MemoryCluster) -> None:
    await cluster.create(at_once())
    await phase(cluster, POD, "Running")
    cluster.delete_pod("demo", POD.name)
    await gone(cluster, POD)


async def test_a_pod_deleted_by_force_is_gone_at_once_whatever_holds_it(cluster: MemoryCluster) -> None:
    await cluster.create(pod(evidence=True))
    cluster.delete_pod("demo", POD.name, force=True)
    with pytest.raises(Missing):
        await cluster.get(POD)


@pytest.mark.parametrize("grace", [None, 0.0], ids=["while its processes end", "held by its evidence alone"])
async def test_a_pod_that_is_being_deleted_may_be_deleted_by_force(
    cluster: MemoryCluster, grace: float | None
) -> None:
    await cluster.create(pod(evidence=True, stop_seconds="1000"))
    await cluster.delete(POD, grace=grace)
    await asyncio.sleep(0.01)
    cluster.delete_pod("demo", POD.name, force=True)
    with pytest.raises(Missing):
        await cluster.get(POD)


async def test_an_evicted_pod_has_a_reason_and_no_exit_code(cluster: MemoryCluster) -> None:
    await cluster.create(at_once())
    await phase(cluster, POD, "Running")
    cluster.evict("demo", POD.name)
    status = (await cluster.get(POD))["status"]
    assert (status["phase"], status["reason"], status["containerStatuses"]) == ("Failed", "Evicted", [])


async def test_an_ended_pod_stays_as_it_ended(cluster: MemoryCluster) -> None:
    await cluster.create(at_once())
    cluster.end_pod("demo", POD.name, 9)
    cluster.evict("demo", POD.name)
    assert code(await cluster.get(POD)) == 9


@pytest.mark.parametrize(("ended", "grace"), [(True, 0), (False, 30)])
async def test_only_processes_that_run_are_given_time_to_end(
    cluster: MemoryCluster, ended: bool, grace: int
) -> None:
    await cluster.create(pod(evidence=True, start_seconds="0"))
    if ended:
        cluster.end_pod("demo", POD.name)
    await cluster.delete(POD)
    assert (await cluster.get(POD))["metadata"]["deletionGracePeriodSeconds"] == grace


async def test_a_destroyed_status_makes_a_pod_unreadable(cluster: MemoryCluster) -> None:
    owner = await cluster.create(job())
    await cluster.create(pod(owner))
    cluster.set_pod_status("demo", POD.name, {"conditions": None})
    change = Change(Verb.MODIFIED, await cluster.get(POD), AT)
    assert isinstance(observe(change)[0], PodUnreadable)


@pytest.mark.parametrize("error", [invalid(), quota()])
async def test_a_planned_refusal_meets_the_next_write(cluster: MemoryCluster, error: Refused) -> None:
    cluster.faults.fail_next(error)
    with pytest.raises(Refused):
        await cluster.create(job())
    assert not await cluster.list("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob")
    await cluster.create(job())


async def test_a_fault_meets_only_the_calls_it_was_planned_for(cluster: MemoryCluster) -> None:
    cluster.faults.fail_next(unavailable(), times=2, verbs=("create",), kinds=("Pod",))
    await cluster.create(job())
    for _ in range(2):
        with pytest.raises(ClusterUnavailable):
            await cluster.create(pod())
    await cluster.create(pod())


async def test_with_a_lost_reply_the_write_is_done(cluster: MemoryCluster) -> None:
    cluster.faults.lose_reply()
    with pytest.raises(ClusterUnavailable):
        await cluster.create(pod())
    assert (await cluster.get(POD))["metadata"]["uid"]


async def test_dropped_watches_expire(cluster: MemoryCluster) -> None:
    items = cluster.watch()
    await listed(items)
    cluster.drop_watches()
    with pytest.raises(Expired):
        await anext(items)


async def test_a_watch_that_falls_too_far_behind_expires() -> None:
    cluster = MemoryCluster(watch_limit=3)
    items = cluster.watch()
    for name in "abcd":
        await cluster.create(job(name))
    with pytest.raises(Expired):
        await listed(items)


async def test_changes_are_reported_twice_and_late_when_disturbed(cluster: MemoryCluster) -> None:
    items = cluster.watch()
    await listed(items)
    cluster.disturbance = lambda change: (0.01,) if change.object["metadata"]["name"] == "a" else (0.0, 0.02)
    for name in "ab":
        await cluster.create(job(name))
    names = [(await next_change(items, lambda _: True)).object["metadata"]["name"] for _ in range(3)]
    assert names == ["b", "a", "b"]


async def test_admission_refuses_what_it_is_given() -> None:
    def admit(new: Manifest, old: Manifest | None) -> None:
        if old is not None:
            raise Refused(422, "Invalid", f"{new['metadata']['name']} cannot change")

    cluster = MemoryCluster(admit=admit)
    await cluster.create(job())
    with pytest.raises(Refused):
        await cluster.patch(Ref.of(job()), {"spec": {"a": 1}})
    await cluster.patch(Ref.of(job()), {"metadata": {"labels": {"a": "b"}}})


async def test_thousands_of_pods_begin_and_end_within_seconds() -> None:
    cluster, count = MemoryCluster(), 4000
    began = time.process_time()
    for number in range(count):
        await cluster.create(pod(name=f"p-{number}", start_seconds="0", run_seconds="0"))
    pods = cluster.objects.peek_all
    await until(lambda: all(manifest["status"]["phase"] == "Succeeded" for manifest in pods("Pod")))
    assert time.process_time() - began < 20, "an order of magnitude above what it takes here"
