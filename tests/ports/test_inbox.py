"""What every Inbox has to do, on every adapter: the sentences of `statemachine/log/inbox.py`, one by one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from statemachine.ids import JobUid
from statemachine.log.codec import decode_observation
from statemachine.log.inbox import Inbox, MemoryInbox, Taken
from statemachine.log.sqlite_inbox import SqliteInbox
from statemachine.log.store import SqliteStore
from statemachine.observations import Observation, TimerFired
from tests.support.logs import JOB, OTHER, START

Again = Callable[[], Awaitable[Inbox]]
"""The same inbox as another process finds it."""


@pytest.fixture(params=["memory", "sqlite"])
async def again(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Again]:
    opened: list[SqliteStore] = []
    memory = MemoryInbox()

    async def in_memory() -> Inbox:
        return memory

    async def in_a_file() -> Inbox:
        opened.append(await SqliteStore.open(tmp_path / "store.db", beside=True))
        return await SqliteInbox.open(opened[-1])

    yield in_memory if request.param == "memory" else in_a_file
    for store in opened:
        await store.close()


@pytest.fixture
async def inbox(again: Again) -> Inbox:
    return await again()


def observed(number: int, job: JobUid = JOB) -> Observation:
    at = START + timedelta(seconds=number)
    return TimerFired(job=job, at=at, timer=f"t{number}", due_at=at)


def read(taken: Taken) -> list[Observation]:
    return [decode_observation(post.body) for post in taken.posts]


async def test_a_new_inbox_is_empty(inbox: Inbox) -> None:
    assert (await inbox.take(10)).posts == []
    assert await inbox.waiting() == 0


async def test_what_was_put_is_taken_whole_and_in_its_order(inbox: Inbox) -> None:
    await inbox.put([observed(1), observed(2, OTHER)])
    await inbox.put([observed(3)])
    taken = await inbox.take(10)
    assert read(taken) == [observed(1), observed(2, OTHER), observed(3)]
    assert [post.job for post in taken.posts] == [JOB, OTHER, JOB]


async def test_no_more_is_taken_than_was_asked_for_and_the_oldest_first(inbox: Inbox) -> None:
    await inbox.put([observed(number) for number in range(5)])
    assert read(await inbox.take(2)) == [observed(0), observed(1)]


async def test_what_is_not_acknowledged_is_taken_again(inbox: Inbox) -> None:
    await inbox.put([observed(1), observed(2)])
    first = await inbox.take(10)
    assert await inbox.take(10) == first
    assert await inbox.waiting() == 2


async def test_what_is_acknowledged_is_not_taken_again(inbox: Inbox) -> None:
    await inbox.put([observed(1), observed(2), observed(3)])
    await inbox.ack((await inbox.take(2)).token)
    assert read(await inbox.take(10)) == [observed(3)]
    assert await inbox.waiting() == 1


async def test_an_acknowledgement_that_comes_twice_takes_nothing_else_away(inbox: Inbox) -> None:
    await inbox.put([observed(1)])
    token = (await inbox.take(10)).token
    await inbox.ack(token)
    await inbox.put([observed(2)])
    await inbox.ack(token)
    assert read(await inbox.take(10)) == [observed(2)]


async def test_acknowledgements_that_come_late_and_out_of_order_take_nothing_else_away(inbox: Inbox) -> None:
    await inbox.put([observed(1), observed(2)])
    early, late = (await inbox.take(1)).token, (await inbox.take(2)).token
    for token in (late, early):
        await inbox.ack(token)
    await inbox.put([observed(3), observed(4)])
    await inbox.ack(late)
    assert read(await inbox.take(10)) == [observed(3), observed(4)]


async def test_what_is_put_between_take_and_acknowledgement_stays(inbox: Inbox) -> None:
    await inbox.put([observed(1)])
    taken = await inbox.take(10)
    await inbox.put([observed(2)])
    await inbox.ack(taken.token)
    assert read(await inbox.take(10)) == [observed(2)]


async def test_the_token_of_an_empty_inbox_acknowledges_nothing(inbox: Inbox) -> None:
    token = (await inbox.take(10)).token
    await inbox.put([observed(1)])
    await inbox.ack(token)
    assert read(await inbox.take(10)) == [observed(1)]


async def test_putting_nothing_changes_nothing(inbox: Inbox) -> None:
    await inbox.put([])
    assert await inbox.waiting() == 0


async def test_the_observations_of_one_writer_keep_their_order_though_others_write(again: Again) -> None:
    async def write(job: JobUid) -> None:
        mine = await again()
        for number in range(20):
            await mine.put([observed(number, job)])

    jobs = [JobUid(f"job-{number}") for number in range(4)]
    await asyncio.gather(*map(write, jobs))
    observations = read(await (await again()).take(1000))
    assert len(observations) == 80
    for job in jobs:
        assert [observation for observation in observations if observation.job == job] == [
            observed(number, job) for number in range(20)
        ]


async def test_another_process_takes_what_one_had_taken_and_did_not_acknowledge(again: Again) -> None:
    one, other = await again(), await again()
    await one.put([observed(1), observed(2)])
    await one.ack((await one.take(1)).token)
    await one.take(1)
    assert read(await other.take(10)) == [observed(2)]
