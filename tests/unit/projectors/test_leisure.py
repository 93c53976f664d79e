"""Writes that nobody waits for: they let the others pass, and go in the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from k8s_bridge.port import EVIDENCE, Ref
from projectors.leisure import QUIET, Leisure, Patience, Rush
from statemachine.ids import ATTEMPT, JobUid
from tests.support.scenario import Story, workers
from tests.support.simulated import on_simulated_time
from tests.unit.projectors.visits import Visits

A, B = JobUid("a"), JobUid("b")
MOST, CROWDED = 20.0, 50.0
PATIENCE = Patience(MOST, CROWDED)


async def waited(leisure: Leisure, job: JobUid, rush: Rush | None = None) -> float:
    """Seconds until the job's write may go; with a `rush`, somebody waits for something all the time."""
    began = asyncio.get_running_loop().time()
    while True:
        if rush is not None:
            rush.write()
        if not (remaining := leisure.remaining(job)):
            return asyncio.get_running_loop().time() - began
        await asyncio.sleep(remaining)


@asynccontextmanager
async def writing(rush: Rush, every: float) -> AsyncIterator[None]:
    """Somebody waits for a write so often, in seconds, from now on."""

    async def write() -> None:
        while True:
            rush.write()
            await asyncio.sleep(every)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(write())
        await asyncio.sleep(0)
        try:
            yield
        finally:
            task.cancel()


@on_simulated_time
async def test_a_write_goes_at_once_where_nothing_urgent_was_written() -> None:
    assert await waited(Leisure(Rush(), PATIENCE), A) == 0


@on_simulated_time
async def test_a_write_waits_until_nothing_urgent_was_written_for_a_second() -> None:
    rush = Rush()
    rush.write()
    assert await waited(Leisure(rush, PATIENCE), A) == 1
    assert await waited(Leisure(rush, PATIENCE), A) == 0


@on_simulated_time
async def test_a_write_goes_in_the_end_and_looks_less_and_less_often() -> None:
    rush = Rush()
    leisure = Leisure(rush, PATIENCE)
    looks: list[float] = []
    rush.write()
    while remaining := leisure.remaining(A):
        looks.append(remaining)
        await asyncio.sleep(remaining)
        rush.write()
    assert looks == [1, 1, 2, 4, 8, 4]
    assert await waited(leisure, A, rush) == MOST, "the next write of the job waits as long"


@on_simulated_time
async def test_jobs_wait_for_themselves_and_a_dropped_write_begins_anew() -> None:
    rush = Rush()
    leisure = Leisure(rush, PATIENCE)
    rush.write()
    leisure.remaining(A)
    await asyncio.sleep(MOST / 2)
    assert await waited(leisure, B, rush) == MOST
    rush.write()
    assert not leisure.remaining(A)
    leisure.remaining(A)
    leisure.drop(A)
    assert await waited(leisure, A, rush) == MOST


@on_simulated_time
async def test_a_rush_is_waited_for_but_not_for_ever() -> None:
    rush, now = Rush(), asyncio.get_running_loop().time
    began = now()
    await rush.over(PATIENCE)
    assert now() == began, "there was none"
    rush.write()
    await asyncio.sleep(0.5)
    await rush.over(PATIENCE)
    assert now() == began + QUIET

    async with writing(rush, QUIET / 2):
        began = now()
        async with asyncio.timeout(MOST + QUIET):
            await rush.over(PATIENCE)
        assert now() == began + MOST


@on_simulated_time
async def test_a_crowd_is_let_pass_for_longer() -> None:
    """Fifty urgent writes a second; two a second, as above, are none."""
    rush, now = Rush(), asyncio.get_running_loop().time
    async with writing(rush, 0.02):
        await asyncio.sleep(5)
        began = now()
        async with asyncio.timeout(CROWDED + QUIET):
            await rush.over(PATIENCE)
        assert now() == began + CROWDED
        assert await waited(Leisure(rush, PATIENCE), A) == CROWDED


@on_simulated_time
async def test_a_crowd_that_is_over_is_an_ordinary_rush() -> None:
    rush, now = Rush(), asyncio.get_running_loop().time
    async with writing(rush, 0.02):
        await asyncio.sleep(5)
        began = now()
        waiting = asyncio.create_task(rush.over(PATIENCE))
        await asyncio.sleep(MOST)
        assert not waiting.done()
    async with writing(rush, QUIET / 2):
        async with asyncio.timeout(10):
            await waiting
    assert MOST < now() - began < CROWDED


def with_ended_pod() -> tuple[Visits, Ref]:
    """A job of two workers: the pod of worker-1 has ended well, and stays, held; worker-0 runs."""
    visits = Visits(Story(workers(2)).submit())
    for key in [key for key in visits.story.children if not key.startswith("Pod/")]:
        visits.put(key)
    for replica, phase, exit_code in (("worker-0", "Running", None), ("worker-1", "Succeeded", 0)):
        pod = visits.put(f"Pod/mnist-7ac1b-{replica}", **{ATTEMPT: "1"})
        visits.cluster.objects.patch(Ref.of(pod), {"metadata": {"finalizers": [EVIDENCE]}})
        visits.story.pod(replica, phase, uid=pod["metadata"]["uid"], exit_code=exit_code)
    visits.knows()
    return visits, Ref.of(pod)


@on_simulated_time
async def test_a_pod_that_stays_is_released_at_once_in_a_quiet_process() -> None:
    visits, pod = with_ended_pod()
    await visits.visit()
    assert [call.ref for call in visits.cluster.made("release")] == [pod]


@on_simulated_time
async def test_a_pod_that_stays_is_released_when_others_have_what_they_wait_for() -> None:
    visits, pod = with_ended_pod()
    visits.rush.write()
    remaining = await visits.visit()
    assert (remaining, visits.cluster.made("release")) == (QUIET, [])
    await asyncio.sleep(QUIET)
    await visits.visit()
    assert [call.ref for call in visits.cluster.made("release")] == [pod]


@on_simulated_time
async def test_a_pod_whose_deletion_is_asked_for_is_released_at_once() -> None:
    visits, pod = with_ended_pod()
    visits.rush.write()
    await visits.visit()
    visits.cluster.delete_pod(pod.namespace, pod.name)
    await visits.visit()
    assert [call.ref for call in visits.cluster.made("release")] == [pod]


@on_simulated_time
async def test_releases_are_no_rush_for_each_other_and_what_is_made_is_one() -> None:
    visits, _ = with_ended_pod()
    await visits.visit()
    assert visits.rush.is_over
    visits.story.pause()
    visits.knows()
    await visits.visit()
    assert not visits.rush.is_over
