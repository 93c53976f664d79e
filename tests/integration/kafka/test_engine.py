"""Engines on a real Kafka, by both feeds: every observation decided once, in its order, whatever happens to them."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.consumer.fetcher import Fetcher

from statemachine.engine import skew
from statemachine.engine.clock import Clock
from statemachine.engine.kafka.assignment import Assignment
from statemachine.engine.kafka.offsets import GROUP, Offsets
from statemachine.engine.kafka.worker import FeedName, Worker
from statemachine.engine.step import Delivery, Owner
from statemachine.ids import JobUid
from statemachine.log.codec import decode, encode_observation
from statemachine.log.entry import Entry
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import producer
from statemachine.log.kafka.layout import OBSERVATIONS
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.kafka.topics import apply
from statemachine.log.port import DeadLetter
from statemachine.log.reader import Reader
from statemachine.observations import Observation, TimerFired
from tests.harness.broker import Kafka
from tests.harness.fixtures import LEDGER_PARTITIONS, ledger_topics_on
from tests.integration.kafka.engine_process import EngineProcess, Still
from tests.support.logs import records
from tests.support.memory_log import MemoryLog
from tests.support.repetition import kills
from tests.support.scenario import START, Story, workers
from tests.support.seeds import chance

pytestmark = pytest.mark.integration

SESSION = 3.0
"""Seconds of silence after which an engine is believed dead, in these tests."""

PATIENT_SESSION = 12.0
"""Of engines that must not lose their partitions where a machine stands still for a moment."""

LONG_SESSION = 85.0
"""About as long as a feed allows: a member that left the group before has left it by itself."""

KILLS = kills(3)
BROKER_KILLS = kills(2)
TRIES = 10
"""How often so many kills may come too late: when everything was decided already."""

FEEDS: tuple[FeedName, ...] = ("aiokafka", "faust")
PARTITIONS = range(LEDGER_PARTITIONS)


@pytest.fixture(params=FEEDS)
def feed(request: pytest.FixtureRequest) -> FeedName:
    return request.param  # type: ignore[no-any-return]


# ---- words -------------------------------------------------------------------------------------------------------


def life(uid: str) -> list[Observation]:
    story = Story(workers(2), uid=uid).submit().at(5).all_pods("Running")
    story.at(9).pod("worker-0", "Succeeded").delete().gone("worker-0").gone("worker-1")
    return [entry.cause for entry in story.entries]


def placeless(entry: Entry) -> Entry:
    """The entry as it is where observations have no places: neither it nor the one before it names one."""
    return entry.changed(source=0, prev="")


def lives(count: int, name: str = "job") -> list[Observation]:
    """The lives of so many jobs, side by side."""
    one = life("model")
    jobs = [JobUid(f"{name}-{number}") for number in range(count)]
    return [observation.changed(job=job) for observation in one for job in jobs]


async def put(address: Address, observations: Sequence[Observation]) -> None:
    outbox = await KafkaOutbox.open(address)
    try:
        for start in range(0, len(observations), 500):
            await outbox.put(observations[start : start + 500])
    finally:
        await outbox.close()


async def put_bytes(address: Address, *records: tuple[bytes | None, bytes | None, int]) -> None:
    """Key, value and partition, as nobody of ours would."""
    made = producer(address)
    await made.start()
    try:
        for key, value, partition in records:
            await made.send_and_wait(address.topic(OBSERVATIONS.name), value, key=key, partition=partition)
    finally:
        await made.stop()


async def wanted(observations: Sequence[Observation]) -> dict[int, list[bytes]]:
    """By partition, the entries that one owner makes of them, if they are all that was ever put."""
    bodies_by_partition = {}
    for partition in PARTITIONS:
        log = MemoryLog()
        mine = [
            observation
            for observation in observations
            if partition_of(observation.job, len(PARTITIONS)) == partition
        ]
        await Owner(log, Reader(), Still()).take(
            [Delivery(observation, place) for place, observation in enumerate(mine, 1)]
        )
        bodies_by_partition[partition] = [record.body for record in await records(log)]
    return bodies_by_partition


@asynccontextmanager
async def reading(address: Address) -> AsyncIterator[list[KafkaLog]]:
    logs = [await KafkaLog.open(address, partition, read_only=True) for partition in PARTITIONS]
    try:
        yield logs
    finally:
        for log in logs:
            await log.close()


async def entries(address: Address) -> dict[int, list[bytes]]:
    """By partition, all that was decided."""
    async with reading(address) as logs:
        return {number: [record.body for record in await records(log)] for number, log in enumerate(logs)}


async def letters(address: Address) -> list[DeadLetter]:
    async with reading(address) as logs:
        return [letter for log in logs for letter in await log.dead_letters()]


async def ends(logs: Sequence[KafkaLog]) -> int:
    return sum([await log.end() for log in logs])


async def decided(address: Address, expected: dict[int, list[bytes]], within: float = 150.0) -> float:
    """Exactly `expected` is in the logs, and nothing is added; the seconds until that was so."""
    begun = time.monotonic()
    bodies_by_partition: dict[int, list[bytes]] = {partition: [] for partition in PARTITIONS}
    after = dict.fromkeys(PARTITIONS, 0)
    async with reading(address) as logs:

        async def read() -> None:
            for number, log in enumerate(logs):
                async for batch in log.scan(after[number]):
                    bodies_by_partition[number] += [record.body for record in batch]
                    after[number] = batch[-1].position
                assert bodies_by_partition[number] == expected[number][: len(bodies_by_partition[number])], (
                    "not once, or not in order"
                )

        async with asyncio.timeout(within):
            while bodies_by_partition != expected:
                await read()
                await asyncio.sleep(0.05)
        took = time.monotonic() - begun
        await asyncio.sleep(0.3)
        await read()
    assert bodies_by_partition == expected
    return took


@asynccontextmanager
async def working(address: Address, feed: FeedName, clock: Clock | None = None) -> AsyncIterator[Worker]:
    """An engine in this process; at the end it is stopped as a controller would be."""
    worker = Worker(address, feed, clock or Still(), session=PATIENT_SESSION)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()


async def until(look: Callable[[], Awaitable[bool]], within: float = 90.0) -> float:
    """`look` is true; the seconds until it was."""
    begun = time.monotonic()
    async with asyncio.timeout(within):
        while not await look():  # noqa: ASYNC110 - what other processes do is looked at
            await asyncio.sleep(0.02)
    return time.monotonic() - begun


async def has(address: Address, entries_: int) -> bool:
    return sum(map(len, (await entries(address)).values())) >= entries_


async def has_letters(address: Address, wanted_: int) -> bool:
    return len(await letters(address)) >= wanted_


async def moves(logs: Sequence[KafkaLog], before: int = 0) -> bool:
    return await ends(logs) > before


async def owns(worker: Worker, partitions: int) -> bool:
    return bool(
        worker.assignment and worker.assignment.is_ready and len(worker.assignment.processors) == partitions
    )


# ---- one engine --------------------------------------------------------------------------------------------------


async def test_what_is_put_becomes_the_entries_of_the_embedded_engine(
    ledger_topics: Address, feed: FeedName
) -> None:
    story = [observation for number in range(20) for observation in life(f"job-{number}")]
    await put(ledger_topics, story)
    async with working(ledger_topics, feed) as worker:
        await decided(ledger_topics, await wanted(story))
        assert worker.assignment is not None
        assert set(worker.assignment.lag.values()) == {0}
        assert worker.log_error == ""
    assert not await letters(ledger_topics)
    embedded = MemoryLog()
    await Owner(embedded, Reader(), Still()).take([Delivery(observation) for observation in life("job-7")])
    of_one = [decode(body) for bodies in (await entries(ledger_topics)).values() for body in bodies]
    assert [placeless(entry) for entry in of_one if entry.job == "job-7"] == [
        placeless(decode(record.body)) for record in await records(embedded)
    ]


async def test_a_restart_goes_on_where_the_last_one_stopped(ledger_topics: Address, feed: FeedName) -> None:
    story = lives(30)
    for start in range(0, len(story), 70):
        await put(ledger_topics, story[start : start + 70])
        async with working(ledger_topics, feed) as worker:
            await decided(ledger_topics, await wanted(story[: start + 70]))
            assert worker.assignment is not None
            assert worker.assignment.context.counts["repeats"] == 0


@pytest.mark.timeout(600)
async def test_a_topic_of_observations_that_was_made_anew_is_read_from_its_beginning(
    ledger_topics: Address, feed: FeedName
) -> None:
    admin, name = AIOKafkaAdminClient(**ledger_topics.options()), ledger_topics.topic(OBSERVATIONS.name)
    before, after = lives(10, "before"), lives(3, "after")
    async with working(ledger_topics, feed):
        await put(ledger_topics, before)
        await until(lambda: has(ledger_topics, len(before)))
        await admin.start()
        try:
            await admin.delete_topics([name])

            async def is_gone() -> bool:
                return name not in await admin.list_topics()

            await until(is_gone)
        finally:
            await admin.close()
        await apply(ledger_topics, partitions=LEDGER_PARTITIONS, replication=1)
        await put(ledger_topics, after)
        await until(lambda: has(ledger_topics, len(before) + len(after)), 90)
    bodies = [decode(body) for entry in (await entries(ledger_topics)).values() for body in entry]
    assert sorted(body.seq for body in bodies if body.job == "after-0") == list(range(1, len(life("x")) + 1))
    assert not await letters(ledger_topics)


async def test_poison_is_kept_as_dead_letters_and_the_rest_is_decided(
    ledger_topics: Address, feed: FeedName
) -> None:
    await put_bytes(
        ledger_topics,
        (b"job-1", b"\xff\x00", 0),
        (b"", None, 0),
        (b"\xff", b'{"type":"FromTheFuture"}', 1),
        (b"job-1", b"", 1),
    )
    stray = life("job-stray")[0]
    elsewhere = 1 - partition_of(stray.job, 2)
    await put_bytes(ledger_topics, (stray.job.encode(), encode_observation(stray), elsewhere))
    story = lives(3)
    await put(ledger_topics, story)
    async with working(ledger_topics, feed):
        await until(lambda: has(ledger_topics, len(story)))
        await until(lambda: has_letters(ledger_topics, 5))
    kept = await letters(ledger_topics)
    assert len(kept) == 5
    assert any("the job's partition is" in letter.error for letter in kept)


async def test_timers_fire_in_the_engine_that_takes_over(
    ledger_topics: Address, feed: FeedName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skew, "LIMIT", timedelta.max)  # these clocks are years from the brokers'
    timed = Story(workers(1, runPolicy={"activeDeadlineSeconds": 600}), uid="job-timed").submit()
    timed.at(1).all_pods("Running")
    story = [entry.cause for entry in timed.entries]
    await put(ledger_topics, story)
    async with working(ledger_topics, feed, Still()):
        await until(lambda: has(ledger_topics, len(story)))
        assert not await fired(ledger_topics)
    async with working(ledger_topics, feed, Later(timedelta(seconds=599))) as worker:
        await until(lambda: owns(worker, LEDGER_PARTITIONS))
        await until(lambda: fired(ledger_topics))


class Later:
    """A clock that goes on from so long after the beginning of all stories."""

    def __init__(self, passed: timedelta) -> None:
        self._shift = START + passed - datetime.now(UTC)

    def now(self) -> datetime:
        """See Clock."""
        return datetime.now(UTC) + self._shift


async def fired(address: Address) -> bool:
    return any(
        isinstance(decode(body).cause, TimerFired)
        for bodies in (await entries(address)).values()
        for body in bodies
    )


async def test_stopping_under_load_hands_over_before_the_session_ends(
    ledger_topics: Address, feed: FeedName, tmp_path: Path
) -> None:
    story = lives(400)
    with EngineProcess(ledger_topics, feed, tmp_path, session=LONG_SESSION, instance="one") as engine:
        async with reading(ledger_topics) as logs:
            await put(ledger_topics, story)
            await until(lambda: moves(logs))
        assert await members(ledger_topics) == 1
        took = await asyncio.to_thread(engine.stop)
        assert await members(ledger_topics) == 0, (
            "a member that stops leaves the group, though its name is known"
        )
    async with working(ledger_topics, feed) as worker:
        await until(lambda: owns(worker, 2))
        await decided(ledger_topics, await wanted(story))
    print(f"{feed}: stopped in {took:.2f} s")  # noqa: T201


async def members(address: Address) -> int:
    """How many are in the group of the engines, as the broker has it."""
    admin = AIOKafkaAdminClient(**address.options())
    await admin.start()
    try:
        (answer,) = await admin.describe_consumer_groups([address.topic(GROUP)])
    finally:
        await admin.close()
    ((_, _, _, _, _, group_members, *_),) = answer.groups
    return len(group_members)


# ---- several engines ---------------------------------------------------------------------------------------------


async def test_two_engines_share_and_a_killed_one_is_taken_over(
    ledger_topics: Address, feed: FeedName, tmp_path: Path
) -> None:
    story = lives(60)
    third = len(story) // 3
    with EngineProcess(ledger_topics, feed, tmp_path, session=SESSION) as other:
        async with working(ledger_topics, feed) as worker:
            await put(ledger_topics, story[:third])
            await until(lambda: owns(worker, 1))
            await put(ledger_topics, story[third : 2 * third])
            await decided(ledger_topics, await wanted(story[: 2 * third]))
            other.kill()
            begun = time.monotonic()
            await put(ledger_topics, story[2 * third :])
            await decided(ledger_topics, await wanted(story))
            took = time.monotonic() - begun
            assert not worker.endings.total(), "handing over is no failure"
    print(f"{feed}: taken over and all decided {took:.2f} s after the kill, session {SESSION} s")  # noqa: T201


async def test_what_comes_while_partitions_are_dealt_out_is_not_passed_over(
    ledger_topics: Address, feed: FeedName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is committed yet, so that no committed offset leads back to what a fetch under way brings meanwhile."""
    dealt: asyncio.Queue[Collection[int]] = asyncio.Queue()
    take_over = Offsets.take_over

    async def slowly(offsets: Offsets, assignment: Assignment, partitions: Collection[int]) -> dict[int, int]:
        dealt.put_nowait(partitions)
        if len(partitions) < LEDGER_PARTITIONS:
            await asyncio.sleep(1.5)  # a fetch that began before waits a second at most
        return await take_over(offsets, assignment, partitions)

    monkeypatch.setattr(Offsets, "take_over", slowly)
    story = lives(20)
    async with working(ledger_topics, feed) as worker:
        while len(await asyncio.wait_for(dealt.get(), 90)) < LEDGER_PARTITIONS:
            pass
        await until(lambda: owns(worker, LEDGER_PARTITIONS))
        with EngineProcess(ledger_topics, feed, tmp_path, session=SESSION) as other:
            while len(await asyncio.wait_for(dealt.get(), 90)) == LEDGER_PARTITIONS:
                pass
            await put(ledger_topics, story)
            await decided(ledger_topics, await wanted(story))
            assert other.process.poll() is None, other.said
        assert not worker.endings.total(), worker.log_error


async def test_an_engine_that_stood_still_for_longer_than_its_session_doubles_nothing(
    ledger_topics: Address, feed: FeedName, tmp_path: Path
) -> None:
    story = lives(400)
    third = len(story) // 3
    one, two = (EngineProcess(ledger_topics, feed, tmp_path, session=SESSION) for _ in range(2))
    with one:
        async with reading(ledger_topics) as logs:
            await put(ledger_topics, story[:third])
            await until(lambda: moves(logs))
        one.send(signal.SIGSTOP)
        before = losses(one)
        with two:
            await put(ledger_topics, story[third : 2 * third])
            await decided(ledger_topics, await wanted(story[: 2 * third]))
            one.send(signal.SIGCONT)
            await put(ledger_topics, story[2 * third :])
            await decided(ledger_topics, await wanted(story))

            async def it_says_so() -> bool:
                return losses(one) > before

            await until(it_says_so)  # else the engine that stood still had nothing to lose
            assert one.process.poll() is None, one.said
            assert two.process.poll() is None, two.said


def losses(engine: EngineProcess) -> int:
    """How often it says that its partitions were taken away."""
    return engine.said.count("begun anew") + engine.said.count("Heartbeat failed")


@pytest.mark.timeout(600)
async def test_kill_9_under_backlog_again_and_again_decides_everything_once_in_order(
    ledger_topics: Address, feed: FeedName, tmp_path: Path
) -> None:
    """A kill counts that came while the engine decided, and before it had decided everything."""
    choices = chance(9)
    story: list[Observation] = []
    engine = EngineProcess(ledger_topics, feed, tmp_path, session=10, instance="one")
    under_backlog = tries = 0
    async with reading(ledger_topics) as logs:
        while under_backlog < KILLS:
            tries += 1
            assert tries <= TRIES * KILLS, f"{under_backlog} kills came before everything was decided"
            before = await ends(logs)
            more = lives(150, f"job-{tries}")
            await put(ledger_topics, more)
            story += more
            with engine:
                await until(lambda before=before: moves(logs, before))  # type: ignore[misc]
                await asyncio.sleep(choices.uniform(0.0, 0.1))
                engine.kill()
            under_backlog += not await has(ledger_topics, len(story))
    with engine:
        await decided(ledger_topics, await wanted(story))


# ---- a consumer that lives and fetches nothing -------------------------------------------------------------------


# a thread of Faust's whose fetching is cancelled by its stop says so
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_feed_that_gets_nothing_is_named_and_another_one_gets_it(
    ledger_topics: Address, feed: FeedName, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, deaf = 0, False
    fetch = Fetcher._proc_fetch_request

    async def nothing(*request: object) -> object:
        nonlocal under_way
        if deaf:
            await asyncio.sleep(0.2)
            return False
        under_way += 1
        try:
            return await fetch(*request)
        finally:
            under_way -= 1

    async def all_are_answered() -> bool:
        return under_way == 0

    async def named(worker: Worker) -> bool:
        return any(f"{OBSERVATIONS.name} is fetched" in stall for stall in worker.report().stalls)

    monkeypatch.setattr(Fetcher, "_proc_fetch_request", nothing)
    story = lives(20)
    async with working(ledger_topics, feed) as worker:
        await until(lambda: owns(worker, LEDGER_PARTITIONS))
        deaf = True
        await until(all_are_answered)
        await put(ledger_topics, story)
        await until(lambda: named(worker))
        await until(lambda: ended(worker, 1))
        deaf = False
        await decided(ledger_topics, await wanted(story))
        assert not worker.report().stalls
        assert worker.report().counts["takeovers"] == 2 * LEDGER_PARTITIONS


# ---- brokers -----------------------------------------------------------------------------------------------------


@pytest.fixture
def brittle(killable_kafka: Kafka) -> Kafka:
    return killable_kafka


@pytest.mark.timeout(900)
async def test_a_broker_that_is_killed_and_comes_back_loses_and_doubles_nothing(
    brittle: Kafka, feed: FeedName, tmp_path: Path
) -> None:
    story: list[Observation] = []
    under_backlog = tries = 0
    with (
        ledger_topics_on(brittle) as address,
        EngineProcess(address, feed, tmp_path, session=SESSION) as engine,
    ):
        while tries < BROKER_KILLS or not under_backlog:
            tries += 1
            assert tries <= TRIES * BROKER_KILLS, "no kill came before everything was decided"
            more = lives(400, f"job-{tries}")
            async with reading(address) as logs:
                before = await ends(logs)
                await put(address, more)
                await until(lambda logs=logs, before=before: moves(logs, before))  # type: ignore[misc]
            brittle.kill()
            await asyncio.to_thread(brittle.start)
            story += more
            under_backlog += not await has(address, len(story))
            await decided(address, await wanted(story), within=240)
        assert engine.process.poll() is None, engine.said


@pytest.mark.timeout(300)
async def test_an_engine_ends_in_order_though_the_broker_is_gone(
    brittle: Kafka, feed: FeedName, tmp_path: Path
) -> None:
    with (
        ledger_topics_on(brittle) as address,
        EngineProcess(address, feed, tmp_path, session=SESSION) as engine,
    ):
        async with reading(address) as logs:
            await put(address, lives(20))
            await until(lambda: moves(logs))
        brittle.kill()
        try:
            await until(lambda: said(engine, "Unable connect to node", times=10))
            await asyncio.to_thread(engine.stop)
        finally:
            await asyncio.to_thread(brittle.start)


async def said(engine: EngineProcess, words: str, times: int) -> bool:
    return engine.said.count(words) >= times


@pytest.mark.timeout(300)
async def test_an_engine_that_joined_while_the_broker_was_away_gets_partitions_soon_after_it_is_back(
    brittle: Kafka, feed: FeedName, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with ledger_topics_on(brittle) as address:
        subscribe, kills = AIOKafkaConsumer.subscribe, iter([brittle.kill])

        def killing(consumer: AIOKafkaConsumer, *topics: object, **options: object) -> None:
            for kill in kills:
                kill()
            subscribe(consumer, *topics, **options)

        async def knows_no_topic() -> bool:
            return "Unable to update metadata" in caplog.text

        async with working(address, feed) as before:  # the brokers have a place for groups from now on
            await until(lambda: owns(before, LEDGER_PARTITIONS))
        monkeypatch.setattr(AIOKafkaConsumer, "subscribe", killing)
        async with working(address, feed) as worker:
            try:
                await until(knows_no_topic)
            finally:
                await asyncio.to_thread(brittle.start)
            await until(lambda: owns(worker, LEDGER_PARTITIONS))
            assert not worker.endings.total(), worker.log_error


async def test_brokers_out_of_reach_are_said_and_tried_again(feed: FeedName) -> None:
    async with working(Address(("127.0.0.1:1",)), feed) as worker:
        await until(lambda: ended(worker, 2))
        assert "127.0.0.1:1" in worker.log_error
        assert worker.endings["LogUnavailable"] == worker.endings.total()


async def ended(worker: Worker, times: int) -> bool:
    return worker.endings.total() >= times
