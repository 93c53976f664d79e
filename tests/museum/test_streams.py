"""Observations from partitions: none is left out, none counts twice, and a feed that brings nothing is given up."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from aiokafka import TopicPartition

from statemachine.engine.kafka import offsets as offsets_module
from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.offsets import Offsets
from statemachine.engine.kafka.processor import PartitionProcessor, ProcessorContext
from statemachine.engine.step import Owner
from statemachine.errors import Hole, LogUnavailable
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode
from statemachine.log.inbox import Post, posted
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Row
from statemachine.log.port import EntryDraft, EventLog, Record
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from tests.museum.exhibit import exhibit, given, swap
from tests.support.kafka_model.installed import brokers_at, installed
from tests.support.logs import records
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock, on_simulated_time, run_simulated


class Log(MemoryLog):
    """A log that can be out of reach."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False

    async def append(self, drafts: Sequence[EntryDraft]) -> Sequence[Record]:
        """The entries are durable, if the log can be reached."""
        if self.away:
            raise LogUnavailable("the log is away")
        return await super().append(drafts)


def assignment_over(log: EventLog) -> Assignment:
    """Assignment of a process; every job is at home in partition 0, which is written to `log`."""

    async def open_log(_: int) -> EventLog:
        return log

    return Assignment(ProcessorContext(open_log, LoopClock(START), lambda _: 0))


def births(number: int) -> list[Observation]:
    """So many new jobs."""
    first = Story(workers(1)).submit().entries[0].cause
    return [first.changed(job=JobUid(f"job-{place}")) for place in range(1, number + 1)]


async def put(assignment: Assignment, observations: Sequence[Observation], first: Position = 1) -> bool:
    """They were put at places from `first` on; False if one of them was turned away as the end of a hole."""
    try:
        for place, observation in enumerate(observations, first):
            await assignment.put(0, place, [posted(observation)])
    except Hole:
        return False
    await asyncio.sleep(1)
    return True


async def anywhere(self: PartitionProcessor, place: Position, posts: Sequence[Post]) -> None:
    """What comes is taken, wherever it lies."""
    self.reached = None
    await RIGHT_PUT(self, place, posts)


RIGHT_PUT = PartitionProcessor.put


@exhibit(
    "faust-streaming/faust#216",
    "In a rebalance reading went on before the place to go on from was known, and events in between were skipped.",
    wrong=(swap(PartitionProcessor, "put", anywhere),),
)
@on_simulated_time
async def test_faust_streaming_faust_216_a_place_that_is_left_out_is_an_error() -> None:
    assignment = assignment_over(Log())
    await assignment.own([0])
    first, _, third = births(3)
    given(await put(assignment, [first]), "the first is taken")
    taken = await put(assignment, [third], first=3)
    await assignment.close()
    assert not taken


@exhibit(
    "faust-streaming/faust#221",
    "An event that had been fetched before a rebalance came after it, with an offset far behind the committed one.",
    wrong=(swap(PartitionProcessor, "put", anywhere),),
)
@on_simulated_time
async def test_faust_streaming_faust_221_a_partition_begins_where_the_group_stands() -> None:
    assignment = assignment_over(Log())
    await assignment.own([0])
    assignment.begin(0, 4, 20)
    taken = await put(assignment, births(1), first=17)
    await assignment.close()
    assert not taken


async def done_at_once(self: PartitionProcessor, batch: Sequence[object]) -> bool:
    """What was handed on is taken for decided."""
    DECISIONS.append(asyncio.ensure_future(RIGHT_DECISION(self, batch)))  # type: ignore[arg-type]
    return True


DECISIONS: list[asyncio.Future[bool]] = []
RIGHT_DECISION = PartitionProcessor._decide


@exhibit(
    "faust-streaming/faust#312",
    "An offset was committed beyond messages that were still being processed; after a restart they were lost.",
    wrong=(swap(PartitionProcessor, "_decide", done_at_once),),
)
@on_simulated_time
async def test_faust_streaming_faust_312_what_is_acknowledged_is_in_the_log() -> None:
    log = Log()
    assignment = assignment_over(log)
    acked: list[Position] = []
    assignment.ack_listeners.append(lambda _, place: acked.append(place))
    await assignment.own([0])
    log.away = True
    await put(assignment, births(3))
    before = list(acked)
    log.away = False
    await asyncio.sleep(2)
    await assignment.close()
    given(len(await records(log)) == 3, "all are decided in the end")
    assert (before, acked[-1]) == ([], 3)


def as_if_new(self: Owner, head: object, report: object) -> object:
    return RIGHT_ONE(self, head._replace(source=0), report)  # type: ignore[arg-type,attr-defined]


RIGHT_ONE = Owner._decide_one


@exhibit(
    "faust-streaming/faust#502",
    "Messages that one worker had processed were processed again by the one that got their partition.",
    wrong=(swap(Owner, "_decide_one", as_if_new),),
)
@on_simulated_time
async def test_faust_streaming_faust_502_the_next_owner_does_not_count_again() -> None:
    story = Story(workers(1)).submit().refused(status_=403)
    observations = [entry.cause for entry in story.entries]
    log = Log()
    for _ in range(2):  # the second owner begins where nothing was committed
        assignment = assignment_over(log)
        await assignment.own([0])
        await put(assignment, observations)
        await assignment.close()
    sources = [decode(record.body).source for record in await records(log)]
    assert [source for source in sources if source] == [1, 2]


async def refused_twice(self: PartitionProcessor, place: Position, posts: Sequence[Post]) -> None:
    if self.reached is not None and place <= self.reached:
        raise Hole(self.partition, self.reached + 1, place)
    await RIGHT_PUT(self, place, posts)


@exhibit(
    "robinhood/faust#625",
    "A message that came twice was twice in the list of acknowledged ones, and no offset was committed any more.",
    wrong=(swap(PartitionProcessor, "put", refused_twice),),
)
@on_simulated_time
async def test_robinhood_faust_625_a_repeat_holds_up_nothing() -> None:
    assignment = assignment_over(Log())
    acked: list[Position] = []
    assignment.ack_listeners.append(lambda _, place: acked.append(place))
    await assignment.own([0])
    first, second = births(2)
    taken = [await put(assignment, [birth], place) for birth, place in ((first, 1), (first, 1), (second, 2))]
    await assignment.close()
    assert (taken, acked[-1:]) == ([True, True, True], [2])


# ---- feeds that bring nothing --------------------------------------------------------------------------------------


class KnownEnds(Offsets):
    """The partitions end at known places, without a broker."""

    def __init__(self, end: Position) -> None:
        super().__init__(Address(("127.0.0.1:1",)))
        self.end = end

    async def ends(self, partitions: Iterable[int]) -> dict[int, Position]:
        """Every partition ends there."""
        return dict.fromkeys(partitions, self.end)


async def watched(end: Position, happens: Callable[[Assignment], Awaitable[None]]) -> str:
    """Why a feed that is at place 2 of its partition is given up within ten minutes; empty if it is not."""
    assignment = assignment_over(Log())
    await assignment.own([0])
    assignment.begin(0, 2, end)
    await happens(assignment)
    watching = asyncio.create_task(KnownEnds(end).watch(assignment))
    await asyncio.wait([watching], timeout=600)
    given_up = watching.exception() if watching.done() else None
    watching.cancel()
    await asyncio.wait([watching])
    await assignment.close()
    return str(given_up or "")


async def nothing(_: Assignment) -> None:
    """Nothing happens."""


async def taken_away(assignment: Assignment) -> None:
    """The group has dealt the partition out to others."""
    await assignment.own([])


async def forgotten(assignment: Assignment) -> None:
    """The group deals out anew, and this member hears no more of it."""
    assignment.unsettled()


@exhibit(
    "faust-streaming/faust#629",
    "After a rebalance a partition was assigned and nothing of it was fetched; the worker looked healthy.",
    wrong=(swap(offsets_module, "_look", lambda *_: offsets_module._Look(None, 0)),),
)
@on_simulated_time
async def test_faust_streaming_faust_629_a_partition_that_is_not_fetched_ends_the_feed() -> None:
    assert "is fetched behind 2, though it goes on to 9" in await watched(9, nothing)


@exhibit(
    "faust-streaming/faust#523",
    "After the brokers had been away a worker was in no group any more, got no partitions, and waited for ever.",
    wrong=(swap(offsets_module, "_WAITING", 10**9),),
)
@on_simulated_time
async def test_faust_streaming_faust_523_a_member_that_gets_no_partitions_joins_anew() -> None:
    assert "are not dealt out" in await watched(2, forgotten)


async def unless_bereft(self: Offsets, assignment: Assignment) -> None:
    assignment.is_bereft = False
    await RIGHT_WATCH(self, assignment)


RIGHT_WATCH = Offsets.watch


@exhibit(
    "faust-streaming/faust#175",
    "Consumers stopped one after the other, until a process was left that lived and read nothing.",
    wrong=(swap(Offsets, "watch", unless_bereft),),
)
@on_simulated_time
async def test_faust_streaming_faust_175_a_process_without_partitions_does_not_stay() -> None:
    assert "is left to this process" in await watched(2, taken_away)


@exhibit(
    "faust-streaming/faust#158",
    "A stored offset was higher than the last one of a topic that was made anew, and the worker trusted it.",
    wrong=(swap(Reader, "forget_places", lambda _: None),),
)
@on_simulated_time
async def test_faust_streaming_faust_158_places_of_a_new_topic_are_not_those_of_the_old() -> None:
    story = (
        Story(workers(1)).submit().refused(status_=403, message="no").refused(status_=429, message="later")
    )
    first, second, third = (entry.cause for entry in story.entries)
    log = Log()
    for observations in (
        [first, second],
        [third],
    ):  # the second time the topic is new, and holds one observation
        assignment = assignment_over(log)
        await assignment.own([0])
        assignment.begin(0, 0, len(observations))
        await put(assignment, observations)
        await assignment.close()
    causes = [decode(record.body).cause for record in await records(log)]
    assert third in causes


# ---- records that are gone -----------------------------------------------------------------------------------------


async def from_the_end(self: Partition, reader: Any) -> None:
    reader.seek(self._tp, await self._bound(reader.end_offsets))


@exhibit(
    "faust-streaming/faust#651",
    "While a worker read its changelog the brokers deleted what it was to read next; it went on at the end, and "
    "waited for ever for what lay in between.",
    wrong=(swap(Partition, "_skip_what_is_gone", from_the_end),),
)
def test_faust_streaming_faust_651_reading_goes_on_with_the_first_record_that_is_left() -> None:
    async def offsets() -> list[int]:
        brokers = brokers_at("model:9092")
        tp = TopicPartition("changelog", 0)
        brokers.create(tp.topic, 1, {})
        stored = brokers.partition(tp)
        for number in range(6):
            stored.append([Row(b"key", b"%d" % number, ())], number, 0, transactional=False)
        stored.begin, stored.log = 3, stored.log[3:]
        partition = Partition(Address(("model:9092",)), tp.topic, 0)
        batches = [batch async for batch in partition.read(1, 6)]
        await partition.close()
        return [message.offset for batch in batches for message in batch]

    with installed():
        assert run_simulated(offsets(), 1) == [3, 4, 5]
