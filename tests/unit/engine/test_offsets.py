"""A feed that lives and brings nothing: said in a sentence, then ended, for the worker to begin anew."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

import pytest
from aiokafka import TopicPartition

from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.offsets import Offsets
from statemachine.engine.kafka.processor import ProcessorContext
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid, Position
from statemachine.log.inbox import posted
from statemachine.log.kafka.address import Address
from statemachine.log.port import EntryDraft, EventLog, Record
from statemachine.observations import Observation
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock, run_simulated

SENTENCE = "nothing of partition 1 of jobledger.observations is fetched behind 2, though it goes on to 9"


class Known(Offsets):
    """The ends of all partitions are known without a broker."""

    def __init__(self) -> None:
        super().__init__(Address(("127.0.0.1:1",)))
        self.newest: dict[int, Position] = {0: 5, 1: 9}

    async def ends(self, partitions: Iterable[int]) -> dict[int, Position]:
        return {partition: self.newest[partition] for partition in partitions}


async def _open(_: int) -> EventLog:
    return MemoryLog()


def watched(story: Callable[[Known, Assignment, "asyncio.Task[None]"], Awaitable[None]]) -> None:
    """`story` on simulated time, over two partitions: of 0 all was read, of 1 two observations of nine."""

    async def whole() -> None:
        offsets, assignment = Known(), Assignment(ProcessorContext(_open, LoopClock(START), lambda _: 1))
        await assignment.own([0, 1])
        assignment.begin(0, 5, 5)
        assignment.begin(1, 2, 9)
        watching = asyncio.create_task(offsets.watch(assignment))
        await story(offsets, assignment, watching)
        watching.cancel()
        await assignment.close()

    run_simulated(whole(), 1)


def observed() -> Observation:
    return Story(workers(1), uid=JobUid("a")).submit().entries[0].cause


def test_a_partition_that_nothing_comes_of_though_there_is_more_is_named_before_the_feed_is_ended() -> None:
    async def story(_: Known, assignment: Assignment, watching: "asyncio.Task[None]") -> None:
        await asyncio.sleep(14.5)  # three looks that found no progress, one to know from where on
        assert assignment.stalls == [SENTENCE]
        assert not watching.done()
        await asyncio.wait([watching], timeout=60)
        with pytest.raises(LogUnavailable, match=SENTENCE):
            watching.result()

    watched(story)


def test_a_feed_that_gets_on_is_left_alone_however_much_there_is() -> None:
    async def story(offsets: Known, assignment: Assignment, watching: "asyncio.Task[None]") -> None:
        for place in range(3, 60):
            offsets.newest[1] = place + 100
            await assignment.put(1, place, [posted(observed())])
            await asyncio.sleep(5)
            assert not assignment.stalls
        assert not watching.done()

    watched(story)


def test_a_partition_that_was_named_is_well_again_when_something_comes() -> None:
    async def story(_: Known, assignment: Assignment, watching: "asyncio.Task[None]") -> None:
        await asyncio.sleep(14.5)  # three looks that found no progress, one to know from where on
        for place in range(3, 10):
            await assignment.put(1, place, [posted(observed())])
        await asyncio.sleep(60)
        assert (assignment.stalls, watching.done()) == ([], False)

    watched(story)


def test_a_member_to_which_nothing_is_dealt_out_joins_anew() -> None:
    async def story(_: Known, assignment: Assignment, watching: "asyncio.Task[None]") -> None:
        for place in range(3, 10):
            await assignment.put(1, place, [posted(observed())])
        assignment.unsettled()
        await asyncio.sleep(55)
        assert not watching.done()
        await asyncio.wait([watching], timeout=30)
        with pytest.raises(LogUnavailable, match="are not dealt out for 63 s: this process joins"):
            watching.result()

    watched(story)


def test_a_member_that_is_dealt_out_to_in_time_goes_on() -> None:
    async def story(_: Known, assignment: Assignment, watching: "asyncio.Task[None]") -> None:
        for place in range(3, 10):
            await assignment.put(1, place, [posted(observed())])
        for _round in range(5):
            assignment.unsettled()
            await asyncio.sleep(40)
            await assignment.own([0, 1])
            await asyncio.sleep(4)
        assert not watching.done()

    watched(story)


def test_a_member_that_takes_over_for_long_is_left_to_it() -> None:
    async def slow(_: int) -> EventLog:
        await asyncio.sleep(200)
        return MemoryLog()

    async def whole() -> None:
        offsets, assignment = Known(), Assignment(ProcessorContext(slow, LoopClock(START), lambda _: 1))
        watching = asyncio.create_task(offsets.watch(assignment))
        await assignment.own([0])
        assert not watching.done()
        watching.cancel()
        await assignment.close()

    run_simulated(whole(), 1)


def test_a_member_that_nothing_is_left_to_joins_anew() -> None:
    async def story(_: Known, assignment: Assignment, watching: "asyncio.Task[None]") -> None:
        await assignment.own([])
        await asyncio.wait([watching], timeout=10)
        with pytest.raises(LogUnavailable, match=r"no partition of jobledger\.observations is left"):
            watching.result()

    watched(story)


def test_a_topic_that_ends_before_what_was_read_was_made_anew() -> None:
    async def story(offsets: Known, _: Assignment, watching: "asyncio.Task[None]") -> None:
        offsets.newest[0] = 4
        await asyncio.wait([watching], timeout=10)
        with pytest.raises(LogUnavailable, match="ends at 4, and 5 was read already"):
            watching.result()

    watched(story)


def test_a_feed_that_waits_for_room_is_not_stuck() -> None:
    class Slow(MemoryLog):
        async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
            await asyncio.sleep(3600)
            return await super().append(drafts)

    async def slow(_: int) -> EventLog:
        return Slow()

    async def whole() -> None:
        offsets, assignment = Known(), Assignment(ProcessorContext(slow, LoopClock(START), lambda _: 1))
        offsets.newest[1] = 10_000
        await assignment.own([1])
        assignment.begin(1, 0, 10_000)

        async def feed() -> None:
            for place in range(1, 10_001):
                await assignment.put(1, place, [posted(again)])

        again = observed()
        feeding, watching = asyncio.create_task(feed()), asyncio.create_task(offsets.watch(assignment))
        await asyncio.sleep(120)
        assert (assignment.room(1), assignment.stalls, watching.done()) == (0, [], False)
        for task in (feeding, watching):
            task.cancel()
        await assignment.close()

    run_simulated(whole(), 1)


class Brokers:
    """What brokers say of a partition and of the place of a group in it."""

    def __init__(self, oldest: int, committed: int | None, newest: int) -> None:
        self.oldest, self.place, self.newest = oldest, committed, newest

    async def beginning_offsets(self, parts: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(parts, self.oldest)

    async def committed(self, _: TopicPartition) -> int | None:
        return self.place

    async def end_offsets(self, parts: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(parts, self.newest)


@pytest.mark.parametrize(
    ("oldest", "committed", "newest", "begins"),
    [
        pytest.param(3, 5, 9, 5, id="where the group stands"),
        pytest.param(3, 9, 9, 9, id="at the end"),
        pytest.param(3, 3, 9, 3, id="at the beginning"),
        pytest.param(3, 1, 9, 3, id="what lay before was deleted"),
        pytest.param(3, None, 9, 3, id="nobody has read it"),
        pytest.param(0, 50, 9, 0, id="the place is one of a topic that was deleted"),
    ],
)
async def test_a_partition_is_read_on_from_a_place_that_it_has(
    oldest: int, committed: int | None, newest: int, begins: int
) -> None:
    offsets = Offsets(Address(("127.0.0.1:1",)))
    offsets._consumer = Brokers(oldest, committed, newest)
    assert await offsets.begins([0]) == {0: begins}
