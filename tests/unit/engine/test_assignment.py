"""The assignment of a process: observations by partition and place, decided once, in order, or not acknowledged."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any

import pytest

from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.processor import BATCH, QUEUE, ProcessorContext
from statemachine.engine.step import Delivery, Owner
from statemachine.errors import Hole, LogUnavailable, OwnerLost
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode, encode_observation
from statemachine.log.inbox import Post, posted
from statemachine.log.port import DeadLetter, EntryDraft, Record, Saved, Snapshot
from statemachine.log.reader import Reader
from statemachine.observations import Observation, TimerFired
from tests.support.logs import records
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock, run_simulated


class Log(MemoryLog):
    """A log that can be full, be taken by somebody else, and says how it was written."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: Exception | None = None
        self.takes = 0.0
        self.appends: list[int] = []
        self.opened = self.closed = 0

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        if self.takes:
            await asyncio.sleep(self.takes)
        if self.broken:
            raise self.broken
        self.appends.append(len(drafts))
        return await super().append(drafts)

    async def confirm_writer(self) -> None:
        if self.broken:
            raise self.broken

    async def save_snapshots(
        self, position: Position, snapshots: Sequence[Snapshot], source: Position = 0
    ) -> None:
        if self.broken:
            raise self.broken
        await super().save_snapshots(position, snapshots, source)

    async def add_dead_letter(self, letter: DeadLetter) -> None:
        if self.broken:
            raise self.broken
        await super().add_dead_letter(letter)

    async def close(self) -> None:
        self.closed += 1


class World:
    """Logs by partition, and assignment over them; a job is at home where its name says: `<partition>-…`."""

    def __init__(self) -> None:
        self.logs = {partition: Log() for partition in range(3)}
        self.assignment = self.another()

    def another(self) -> Assignment:
        return Assignment(ProcessorContext(self.open, LoopClock(START), lambda job: int(job.split("-")[0])))

    async def open(self, partition: int) -> Log:
        log = self.logs[partition]
        if isinstance(log.broken, LogUnavailable):
            raise log.broken
        log.broken = None
        log.opened += 1
        return log

    async def put(self, observations: Sequence[Observation], partition: int = 0, after: Position = 0) -> None:
        for place, observation in enumerate(observations, after + 1):
            await self.assignment.put(partition, place, [posted(observation)])

    async def sources(self, partition: int = 0) -> list[Position]:
        return [decode(record.body).source for record in await records(self.logs[partition])]


def play(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """`story` on simulated time; its assignment are closed at the end."""

    async def whole() -> None:
        world = World()
        await story(world)
        await world.assignment.close()

    run_simulated(whole(), 1)


def life(uid: str = "0-a") -> list[Observation]:
    story = Story(workers(2), uid=uid).submit().at(5).all_pods("Running")
    story.at(9).pod("worker-0", "Succeeded").delete().gone("worker-0").gone("worker-1")
    return [entry.cause for entry in story.entries]


def births(count: int, partition: int = 0) -> list[Observation]:
    first = life(f"{partition}-0")[0]
    return [first.changed(job=JobUid(f"{partition}-{number}")) for number in range(count)]


# ---- what is put is decided ----


def test_what_is_put_becomes_the_entries_that_an_owner_makes_of_it() -> None:
    async def story(world: World) -> None:
        single = MemoryLog()
        await Owner(single, Reader(), LoopClock(START)).take(
            [Delivery(observation, place) for place, observation in enumerate(life(), 1)]
        )
        await world.assignment.own([0])
        await world.put(life())
        await asyncio.sleep(1)
        assert [record.body for record in await records(world.logs[0])] == [
            record.body for record in await records(single)
        ]
        assert world.assignment.acked(0) == len(life())

    play(story)


def test_partitions_are_decided_beside_each_other_each_in_its_own_log() -> None:
    async def story(world: World) -> None:
        world.logs[0].takes = 5.0
        await world.assignment.own([0, 2])
        await world.put(life("0-a"), 0)
        await world.put(life("2-a"), 2)
        await asyncio.sleep(1)
        assert (world.assignment.acked(0), world.assignment.acked(2)) == (0, len(life()))
        assert not await records(world.logs[1])

    play(story)


def test_nothing_is_acknowledged_before_it_is_durable() -> None:
    async def story(world: World) -> None:
        heard: list[tuple[int, Position]] = []
        world.assignment.ack_listeners.append(lambda *said: heard.append(said))
        world.logs[0].takes = 2.0
        await world.assignment.own([0])
        await world.put(life()[:1])
        await asyncio.sleep(1.9)
        assert (world.assignment.acked(0), heard, world.assignment.lag) == (0, [], {0: 1})
        await asyncio.sleep(0.2)
        assert (world.assignment.acked(0), heard, world.assignment.lag) == (1, [(0, 1)], {0: 0})

    play(story)


def test_what_changes_nothing_is_acknowledged_once_the_log_has_confirmed_its_writer() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        await world.put(life()[:3])
        await asyncio.sleep(0.5)
        await world.assignment.put(0, 4, [posted(life()[2])])
        await asyncio.sleep(0.2)
        assert world.assignment.acked(0) == 3
        await asyncio.sleep(1)
        assert world.assignment.acked(0) == 4

    play(story)


def test_what_changes_nothing_in_a_state_that_others_have_gone_beyond_is_not_acknowledged() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        await world.put(life()[:3])
        await asyncio.sleep(0.5)
        await world.assignment.put(0, 4, [posted(life()[2])])
        world.logs[0].broken = OwnerLost("fenced")
        with pytest.raises(OwnerLost, match="fenced"):
            async with asyncio.timeout(5):
                await world.assignment.failure()
        assert world.assignment.acked(0) == 3

    play(story)


def test_alone_an_observation_is_decided_at_once() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        for place, observation in enumerate(life(), 1):
            await world.assignment.put(0, place, [posted(observation)])
            await asyncio.sleep(0.001)
            assert world.assignment.acked(0) == place

    play(story)


def test_a_crowd_is_appended_in_few_batches_and_none_is_larger_than_a_batch() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        many = births(1200)
        for start in range(0, 200, 10):
            await world.put(many[start : start + 10], after=start)
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)
        assert world.assignment.acked(0) == 200
        assert len(world.logs[0].appends) < 13
        await world.put(many[200:], after=200)
        await asyncio.sleep(1)
        assert world.assignment.acked(0) == 1200
        assert max(world.logs[0].appends) == BATCH

    play(story)


def test_timers_of_a_partition_fire_in_the_engine_that_owns_it() -> None:
    async def story(world: World) -> None:
        timed = Story(workers(1, runPolicy={"activeDeadlineSeconds": 60}), uid="0-a").submit()
        timed.at(1).all_pods("Running")
        await world.assignment.own([0])
        await world.put([entry.cause for entry in timed.entries])
        await asyncio.sleep(2)
        await world.assignment.close()
        world.assignment = world.another()
        await world.assignment.own([0])
        await asyncio.sleep(120)
        last = decode((await records(world.logs[0]))[-1].body)
        assert isinstance(last.cause, TimerFired)

    play(story)


# ---- places ----


def test_one_that_is_left_out_is_a_hole() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        await world.put(life()[:2], after=10)
        with pytest.raises(Hole) as failure:
            await world.assignment.put(0, 14, [posted(life()[3])])
        assert (failure.value.partition, failure.value.expected, failure.value.found) == (0, 13, 14)

    play(story)


@pytest.mark.parametrize("place", [5, 3])
def test_a_feed_that_does_not_begin_where_it_said_leaves_a_hole(place: Position) -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        world.assignment.begin(0, 3, 8)
        with pytest.raises(Hole):
            await world.assignment.put(0, place, [posted(life()[0])])

    play(story)


def test_what_comes_again_is_decided_once_and_what_lies_before_the_beginning_is_a_hole() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        await world.put(life(), after=20)
        await asyncio.sleep(1)
        await world.put(life(), after=20)
        await asyncio.sleep(1)
        assert world.assignment.context.counts["repeats"] == len(life())
        assert await world.sources() == list(range(21, 21 + len(life())))
        with pytest.raises(Hole):
            await world.assignment.put(0, 20, [posted(life()[0])])

    play(story)


def test_a_processor_that_goes_on_is_not_begun_again() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        world.assignment.begin(0, 0, 2)
        await world.put(life()[:2])
        await world.assignment.own([0, 1])
        world.assignment.begin(0, 1, 2)
        await world.assignment.put(0, 3, [posted(life()[2])])
        await asyncio.sleep(1)
        assert await world.sources() == [1, 2, 3]

    play(story)


def test_a_topic_that_was_made_anew_gives_new_places(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        await world.put(life()[:3], after=100)
        await asyncio.sleep(1)
        await world.assignment.close()
        for again in range(2):  # the second time the states come from the snapshots of the first
            world.assignment = world.another()
            await world.assignment.own([0])
            world.assignment.begin(0, again, 7)
            await world.put(life()[3 + again : 4 + again], after=again)
            await asyncio.sleep(1)
            await world.assignment.close()
        assert await world.sources() == [101, 102, 103, 1, 2]

    play(story)
    assert [record.getMessage()[:37] for record in caplog.records if record.levelname == "WARNING"] == [
        "the topic of observations was made an"
    ]
    caplog.clear()


def test_what_is_put_into_a_partition_of_others_is_left_to_them() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        await world.assignment.put(1, 5, [posted(life("1-a")[0])])
        owned = world.assignment
        assert (owned.acked(1), owned.room(1), owned.context.counts["strays"]) == (None, 0, 1)

    play(story)


def test_lag_is_what_the_partition_has_and_nobody_has_decided() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        assert world.assignment.lag == {}, "nothing is known of its places yet"
        world.assignment.begin(0, 2, 10)
        assert world.assignment.lag == {0: 8}
        await world.put(life()[:1], after=2)
        await asyncio.sleep(1)
        world.assignment.processors[0].end = 11
        assert world.assignment.lag == {0: 8}

    play(story)


def test_what_was_counted_and_when_a_partition_was_taken_over_stays_when_it_is_let_go() -> None:
    async def story(world: World) -> None:
        assert world.assignment.taken_over_at is None
        await world.assignment.own([0, 1])
        await world.put(life())
        await asyncio.sleep(60)
        await world.assignment.own([1])
        assert +world.assignment.context.counts == {"takeovers": 2, "decided": len(life())}
        assert world.assignment.taken_over_at == START
        await world.assignment.own([0, 1])
        assert world.assignment.context.counts["takeovers"] == 3
        assert world.assignment.taken_over_at == START + timedelta(seconds=60)

    play(story)


def test_a_partition_that_nothing_comes_of_is_named_until_something_does() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0, 1])
        world.assignment.begin(0, 0, 9)
        world.assignment.processors[0].stalled = "nothing of partition 0 comes"
        assert world.assignment.stalls == ["nothing of partition 0 comes"]
        await world.put(life()[:1])
        assert world.assignment.stalls == []

    play(story)


# ---- what cannot be decided ----


def test_what_cannot_be_read_is_a_dead_letter_and_holds_nothing_up() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        await world.assignment.put(0, 1, [Post(JobUid("0-x"), b"\xff")])
        await world.assignment.put(0, 2, [Post(JobUid(""), b"")])
        await world.put(life(), after=2)
        await asyncio.sleep(1)
        assert [letter.observation for letter in await world.logs[0].dead_letters()] == [b"\xff", b""]
        assert world.assignment.acked(0) == 2 + len(life())
        assert world.assignment.context.counts["letters"] == 2

    play(story)


def test_a_job_gets_no_second_history_in_a_partition_that_is_not_its_own() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0, 1])
        await world.put(life("1-a"), partition=0)
        await asyncio.sleep(1)
        assert not await records(world.logs[0])
        letters = await world.logs[0].dead_letters()
        assert [letter.observation for letter in letters] == [
            encode_observation(observation) for observation in life("1-a")
        ]
        assert "the job's partition is 1" in letters[0].error

    play(story)


def test_a_log_that_cannot_be_written_is_tried_again_and_says_why() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        world.logs[0].broken = LogUnavailable("disk full")
        await world.put(life())
        await world.assignment.put(0, len(life()) + 1, [Post(JobUid("0-x"), b"poison")])
        await asyncio.sleep(3)
        before = world.assignment.pulses()["processor 0"]
        await asyncio.sleep(3)
        assert (world.assignment.acked(0), world.assignment.log_error) == (0, "disk full")
        assert world.assignment.pulses()["processor 0"].beats > before.beats, "trying again is progress"
        world.logs[0].broken = None
        await asyncio.sleep(1)
        assert (world.assignment.acked(0), world.assignment.log_error) == (len(life()) + 1, "")
        assert await world.sources() == list(range(1, len(life()) + 1))

    play(story)


def test_of_many_that_are_put_at_once_those_that_were_put_before_are_repeats() -> None:
    async def story(world: World) -> None:
        whole = [posted(observation) for observation in life()]
        await world.assignment.own([0])
        await world.assignment.put(0, 1, whole[:3])
        await world.assignment.put(0, 2, whole[1:])
        await world.assignment.put(0, 1, whole[:2])
        with pytest.raises(Hole):
            await world.assignment.put(0, len(whole) + 2, whole)
        await asyncio.sleep(1)
        assert world.assignment.context.counts["repeats"] == 4
        assert await world.sources() == list(range(1, len(whole) + 1))
        assert world.assignment.acked(0) == len(whole)

    play(story)


def test_many_are_put_at_once_though_there_is_no_room_for_all_of_them() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        world.logs[0].takes = 1.0
        many = [posted(observation) for observation in births(QUEUE + 10)]
        await world.assignment.put(0, 1, many)
        assert world.assignment.room(0) == 0
        await asyncio.sleep(60)
        assert world.assignment.acked(0) == len(many)

    play(story)


def test_put_waits_while_the_processor_is_full_and_only_for_that_processor() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0, 1])
        world.logs[0].broken = LogUnavailable("disk full")
        putting = asyncio.create_task(world.put(life()[:1] * (QUEUE + BATCH + 10)))
        await asyncio.sleep(1)
        assert not putting.done()
        assert world.assignment.room(0) == 0
        await world.put(life("1-a"), 1)
        await asyncio.sleep(1)
        assert world.assignment.acked(1) == len(life())
        world.logs[0].broken = None
        await asyncio.sleep(5)
        assert putting.done()
        assert world.assignment.acked(0) == QUEUE + BATCH + 10

    play(story)


# ---- owners come and go ----


def test_a_processor_that_cannot_go_on_ends_all_of_it() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0, 1])
        failing = asyncio.create_task(world.assignment.failure())
        await asyncio.sleep(1)
        assert not failing.done()
        world.logs[1].broken = OwnerLost("fenced")
        await world.put(life("1-a"), 1)
        with pytest.raises(OwnerLost, match="fenced"):
            await failing
        assert world.assignment.acked(1) == 0

    play(story)


def test_a_timer_that_finds_the_log_taken_ends_all_of_it_too() -> None:
    async def story(world: World) -> None:
        timed = Story(workers(1, runPolicy={"activeDeadlineSeconds": 60}), uid="0-a").submit()
        timed.at(1).all_pods("Running")
        await world.assignment.own([0])
        await world.put([entry.cause for entry in timed.entries])
        await asyncio.sleep(1)
        world.logs[0].broken = OwnerLost("fenced")
        with pytest.raises(OwnerLost):
            await asyncio.wait_for(world.assignment.failure(), 120)

    play(story)


def test_while_partitions_are_dealt_out_one_that_is_taken_is_no_failure() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0, 1])
        failing = asyncio.create_task(world.assignment.failure())
        world.assignment.unsettled()
        world.logs[1].broken = OwnerLost("fenced")
        await world.put(life("1-a"), 1)
        await asyncio.sleep(1)
        assert not failing.done()
        await world.assignment.own([0, 1])
        assert (world.logs[0].opened, world.logs[1].opened) == (1, 2)
        await world.put(life("1-a"), 1)
        await asyncio.sleep(1)
        assert world.assignment.acked(1) == len(life())
        world.logs[1].broken = OwnerLost("fenced again")
        await world.assignment.put(1, len(life()) + 1, [posted(births(1, 1)[0])])
        with pytest.raises(OwnerLost, match="fenced again"):
            await failing

    play(story)


def test_a_partition_that_others_had_meanwhile_is_recovered_anew() -> None:
    """As after a time in which the process stood still: the partition comes back and was never let go here."""

    async def story(world: World) -> None:
        await world.assignment.own([0])
        others = world.another()
        await others.own([0])
        for place, observation in enumerate(life()[:3], 1):
            await others.put(0, place, [posted(observation)])
        await asyncio.sleep(1)
        await others.close()
        world.logs[0].broken = OwnerLost("fenced")
        world.assignment.unsettled()
        await world.assignment.own([0])
        world.assignment.begin(0, 3, len(life()))
        await world.put(life()[3:], after=3)
        await asyncio.sleep(2)
        assert await world.sources() == list(range(1, len(life()) + 1))
        assert world.assignment.acked(0) == len(life())

    play(story)


def test_one_that_is_kept_and_turns_out_taken_while_another_is_given_up_is_taken_back() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0, 1])
        world.assignment.unsettled()
        world.logs[0].takes, world.logs[1].takes = 1.5, 0.5
        world.logs[1].broken = OwnerLost("fenced")
        await world.put(life("0-a"), 0)
        await world.put(life("1-a"), 1)
        await asyncio.sleep(0.2)  # both have a decision in hand
        await world.assignment.own([1])
        assert world.logs[1].opened == 2
        world.logs[1].takes = 0.0
        await world.put(life("1-a"), 1)
        await asyncio.sleep(1)
        assert world.assignment.acked(1) == len(life())

    play(story)


def test_who_lets_go_decides_what_is_in_hand_drops_the_rest_and_saves() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0, 1])
        world.logs[0].takes = 1.0
        await world.put(births(1))
        await asyncio.sleep(0.5)
        await world.put(births(QUEUE)[1:], after=1)
        heard: list[tuple[int, Position]] = []
        world.assignment.ack_listeners.append(lambda *said: heard.append(said))
        await world.assignment.own([1])
        assert heard == [(0, 1)]
        assert await world.sources() == [1]
        covered, snapshots = await world.logs[0].snapshots()
        assert (covered, [snapshot.job for snapshot in snapshots]) == (1, ["0-0"])
        assert (world.logs[0].closed, world.logs[1].closed) == (1, 0)
        assert list(world.assignment.processors) == [1]

    play(story)


def test_what_could_not_be_decided_before_the_partition_was_let_go_is_not_acknowledged() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        world.logs[0].broken = LogUnavailable("disk full")
        acknowledged: list[tuple[int, Position]] = []
        world.assignment.ack_listeners.append(lambda *acknowledgement: acknowledged.append(acknowledgement))
        await world.put(births(3))
        await asyncio.sleep(1)
        await world.assignment.own([])
        assert (acknowledged, world.assignment.context.counts["decided"]) == ([], 0)

    play(story)


def test_letting_go_takes_no_longer_than_its_grace_and_frees_who_waits_to_put() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        world.logs[0].takes = 3600.0
        putting = asyncio.create_task(world.put(life()[:1] * (QUEUE + BATCH + 10)))
        await asyncio.sleep(1)
        before = asyncio.get_running_loop().time()
        await world.assignment.own([])
        assert asyncio.get_running_loop().time() - before < 2.5
        await asyncio.sleep(1)
        assert putting.done()
        assert (world.logs[0].closed, await world.sources()) == (1, [])

    play(story)


def test_a_partition_that_comes_back_goes_on_where_its_log_is() -> None:
    async def story(world: World) -> None:
        await world.assignment.own([0])
        await world.put(life()[:3])
        await asyncio.sleep(1)
        await world.assignment.own([])
        await world.assignment.own([0])
        await world.put(life(), after=0)
        await asyncio.sleep(1)
        assert await world.sources() == list(range(1, len(life()) + 1))

    play(story)


def test_a_log_that_cannot_be_opened_keeps_the_partition_from_being_owned() -> None:
    async def story(world: World) -> None:
        world.logs[1].broken = LogUnavailable("no broker")
        with pytest.raises(LogUnavailable, match="no broker"):
            await world.assignment.own([0, 1])
        assert 1 not in world.assignment.processors
        assert not world.assignment.is_ready

    play(story)


def test_being_broken_off_while_opening_leaves_no_log_open() -> None:
    class Slow(Log):
        async def saved(self) -> Saved:
            await asyncio.sleep(60)
            return await super().saved()

    async def story(world: World) -> None:
        world.logs[0] = Slow()
        owning = asyncio.create_task(world.assignment.own([0]))
        await asyncio.sleep(1)
        owning.cancel()
        await asyncio.wait([owning])
        assert (world.logs[0].opened, world.logs[0].closed) == (1, 1)
        assert not world.assignment.processors

    play(story)


def test_listeners_hear_every_entry_of_every_processor() -> None:
    async def story(world: World) -> None:
        heard: list[JobUid] = []
        world.assignment.context.listeners.append(lambda folded: heard.append(folded.record.job))
        await world.assignment.own([0, 1])
        await world.put(life("0-a"), 0)
        await world.put(life("1-a"), 1)
        await asyncio.sleep(timedelta(seconds=1).total_seconds())
        assert sorted(heard) == ["0-a"] * len(life()) + ["1-a"] * len(life())

    play(story)


def test_what_is_being_taken_over_is_not_believed_to_have_been_taken_away() -> None:
    async def story(world: World) -> None:
        opened = asyncio.Event()

        async def slowly(partition: int) -> Log:
            await opened.wait()
            return await world.open(partition)

        world.assignment = assignment = Assignment(ProcessorContext(slowly, LoopClock(START), lambda _: 0))
        owning = asyncio.create_task(assignment.own([0]))
        await asyncio.sleep(60)
        assert not assignment.processors
        assert not assignment.is_bereft
        opened.set()
        await owning
        assert not assignment.is_bereft
        await assignment.own([])
        assert assignment.is_bereft

    play(story)
