"""The work queue: coalescing, one visit at a time per key, back-off that holds up nobody else."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from projectors.workqueue import WorkQueue
from statemachine.errors import ClusterUnavailable
from statemachine.ids import JobUid
from tests.support.simulated import run_simulated

A, B = JobUid("a"), JobUid("b")
Visit = Callable[[JobUid], Awaitable[float | None]]


def visits_of(visit: Visit, use: Callable[[WorkQueue], Awaitable[None]]) -> WorkQueue:
    """The queue after `use` has been followed by an hour of simulated time."""

    async def main() -> WorkQueue:
        queue = WorkQueue("test", visit, workers=2, jitter=random.Random(1))
        task = asyncio.create_task(queue.run())
        await use(queue)
        await asyncio.sleep(3600)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return queue

    return run_simulated(main(), seed=1)


def test_a_burst_of_additions_is_one_visit() -> None:
    async def visit(_: JobUid) -> None:
        return None

    async def use(queue: WorkQueue) -> None:
        for _ in range(100):
            queue.add(A)

    assert visits_of(visit, use).visits == 1


def test_a_key_added_while_it_is_visited_is_visited_once_more_and_never_at_once() -> None:
    running, most = 0, 0

    async def visit(_: JobUid) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(1)
        running -= 1

    async def use(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(0.5)
        for _ in range(10):
            queue.add(A)

    assert visits_of(visit, use).visits == 2
    assert most == 1


def order_of(use: Callable[[WorkQueue], None]) -> list[str]:
    """The keys in the order in which one worker after the other visits them, all added before the first visit."""
    visited: list[str] = []

    async def visit(key: JobUid) -> None:
        visited.append(key)

    async def add(queue: WorkQueue) -> None:
        use(queue)

    visits_of(visit, add)
    return visited


def test_keys_behind_let_others_pass_and_get_every_fourth_visit() -> None:
    def use(queue: WorkQueue) -> None:
        for number in range(3):
            queue.add(JobUid(f"behind-{number}"), behind=True)
        for number in range(8):
            queue.add(JobUid(f"ready-{number}"))

    assert order_of(use) == [
        *("ready-0", "ready-1", "ready-2", "behind-0"),
        *("ready-3", "ready-4", "ready-5", "behind-1"),
        *("ready-6", "ready-7", "behind-2"),
    ]


def test_a_key_behind_comes_to_the_front_when_it_is_wanted() -> None:
    def use(queue: WorkQueue) -> None:
        for key in ("a", "b", "c"):
            queue.add(JobUid(key), behind=True)
        queue.add(JobUid("c"))
        queue.add(JobUid("c"), behind=True)

    assert order_of(use) == ["c", "a", "b"]


def test_a_failing_key_comes_back_later_and_later_and_does_not_block_others() -> None:
    times: dict[JobUid, list[float]] = {A: [], B: []}

    async def visit(key: JobUid) -> None:
        times[key].append(asyncio.get_running_loop().time())
        if key == A and len(times[A]) < 8:
            raise ClusterUnavailable("try again")

    async def use(queue: WorkQueue) -> None:
        queue.add(A)
        queue.add(B)

    visits_of(visit, use)
    gaps = [later - earlier for earlier, later in pairwise(times[A])]
    assert len(times[A]) == 8
    assert gaps == sorted(gaps)
    assert times[B] == [0.0]


def test_the_server_says_when_to_come_back() -> None:
    times: list[float] = []

    async def visit(_: JobUid) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) == 1:
            raise ClusterUnavailable("busy", retry_after=7.0)

    async def use(queue: WorkQueue) -> None:
        queue.add(A)

    visits_of(visit, use)
    assert times == [0.0, 7.0]


def test_an_unexpected_error_is_retried_too() -> None:
    async def visit(_: JobUid) -> None:
        if queue_visits() == 1:
            raise ZeroDivisionError

    queues: list[WorkQueue] = []

    def queue_visits() -> int:
        return queues[0].visits

    async def use(queue: WorkQueue) -> None:
        queues.append(queue)
        queue.add(A)

    assert visits_of(visit, use).visits == 2


def test_a_visit_may_ask_to_come_back() -> None:
    times: list[float] = []

    async def visit(_: JobUid) -> float | None:
        times.append(asyncio.get_running_loop().time())
        return 60.0 if len(times) < 3 else None

    async def use(queue: WorkQueue) -> None:
        queue.add(A)

    visits_of(visit, use)
    assert times == [0.0, 60.0, 120.0]


def times_of(use: Callable[[WorkQueue], Awaitable[None]], failures: int = 0) -> list[float]:
    """When A was visited, whose first `failures` visits fail."""
    times: list[float] = []

    async def visit(_: JobUid) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) <= failures:
            raise ClusterUnavailable("try again")

    visits_of(visit, use)
    return times


@pytest.mark.parametrize("delays", [(60.0, 5.0), (5.0, 60.0), (60.0, 5.0, 60.0)])
def test_of_several_wishes_the_earliest_counts_and_the_others_are_no_visits(
    delays: tuple[float, ...],
) -> None:
    async def use(queue: WorkQueue) -> None:
        for delay in delays:
            queue.add_after(A, delay)

    assert times_of(use) == [5.0]


def test_a_key_that_fails_for_ever_is_tried_at_least_every_thirty_seconds() -> None:
    async def use(queue: WorkQueue) -> None:
        queue.add(A)

    gaps = [later - earlier for earlier, later in pairwise(times_of(use, failures=60))]
    assert len(gaps) == 60
    assert all(15 <= gap <= 30 for gap in gaps[12:])


def test_a_visit_that_succeeds_begins_the_back_off_anew() -> None:
    times: list[float] = []

    async def visit(_: JobUid) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) not in (9, 11):
            raise ClusterUnavailable("try again")

    async def use(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(1000)
        queue.add(A)

    visits_of(visit, use)
    assert times[9] == 1000.0
    assert times[10] - times[9] <= 0.05


def test_finishing_waits_for_the_visit_in_hand_and_begins_no_other() -> None:
    visited: list[JobUid] = []

    async def visit(key: JobUid) -> None:
        await asyncio.sleep(10)
        visited.append(key)

    async def use(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(1)
        finishing = asyncio.create_task(queue.finish())
        await asyncio.sleep(1)
        queue.add(B)
        await finishing
        assert visited == [A]

    queue = visits_of(visit, use)
    assert (visited, queue.visits) == ([A], 1)
