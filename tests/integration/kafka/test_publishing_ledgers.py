"""Ledgers in Kafka whose events are published while publishers and brokers are killed, and what readers make of them.

Source: spec events.md, section 19, E4, E5, E6. At full size: 200 kills of publishers, 20 of brokers, 200,000 entries;
5,000 jobs for readers.
"""

import asyncio
import json
import signal
import subprocess
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from examples.consumers.table import Table, take
from jobledger.program.exit_codes import UNAVAILABLE
from jobledger.settings.locations import socket_path
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.kafka.reading import Partition
from statemachine.log.port import EntryDraft
from tests.harness import Kafka, program
from tests.harness.fixtures import LEDGER_PARTITIONS, ledger_topics_on
from tests.integration.cli_words import ROOT, Place
from tests.integration.kafka.publisher_process import POINTS
from tests.support.random_lives import mixed, stories
from tests.support.repetition import kills, sized
from tests.support.seeds import chance

pytestmark = pytest.mark.integration

PARTITIONS = sized(LEDGER_PARTITIONS, 10)
JOBS = sized(24, 18_000)
"""With eleven entries each in the mean."""
KILLS, BROKER_KILLS = kills(sized(4, 200)), sized(1, 20)
READ_JOBS = sized(30, 5_000)
AT_ONCE = 500
"""Entries that are appended at a time."""


def drawn(jobs: int, seed: int) -> tuple[list[EntryDraft], Random]:
    random = chance(seed)
    return list(mixed(list(stories(jobs, random)), random)), random


class Writer:
    """Appends to a ledger, partition by partition."""

    def __init__(self, address: Address, partitions: int) -> None:
        self._address, self._partitions = address, partitions
        self._logs: dict[int, KafkaLog] = {}

    async def append(self, drafts: Sequence[EntryDraft]) -> None:
        rows: defaultdict[int, list[EntryDraft]] = defaultdict(list)
        for draft in drafts:
            rows[partition_of(draft.job, self._partitions)].append(draft)
        for number, own in rows.items():
            if number not in self._logs:
                self._logs[number] = await KafkaLog.open(self._address, number)
            for begin in range(0, len(own), AT_ONCE):
                await self._logs[number].append(own[begin : begin + AT_ONCE])

    async def close(self) -> None:
        for log in self._logs.values():
            await log.close()


async def events(address: Address, *words: str) -> subprocess.CompletedProcess[str]:
    """The command `jobledger events`, done."""
    return await asyncio.to_thread(program.run, "events", *words, "--log", str(address), within=3600)


# ---- E4 ----------------------------------------------------------------------------------------------------------


async def publish_until_killed(address: Address, random: Random, *, breaking: bool) -> bool:
    """A publisher came to its end, or to a point where it was killed; True if it was.

    Beside a broker that is `breaking` it may give up, as one that a supervisor starts again: with a sentence.
    """
    words = [random.choice(POINTS), str(random.randint(1, 6))]
    command = [*words, "events", "publish", "--to", "kafka:", "--once", "--log", str(address)]
    module = "tests.integration.kafka.killed_command"
    done = await asyncio.to_thread(program.run, *command, module=module, cwd=ROOT, within=3600)
    assert "Traceback" not in done.stderr, done.stderr
    gave_up = breaking and done.returncode == UNAVAILABLE and "jobledger: Kafka at " in done.stderr
    is_excused = gave_up or "another publisher has" in done.stderr
    assert done.returncode in {0, -signal.SIGKILL} or is_excused, done.stderr
    return done.returncode == -signal.SIGKILL


async def test_two_publishers_and_brokers_are_killed_and_every_event_is_there_once(
    killable_kafkas: Kafka,
) -> None:
    drafts, random = drawn(JOBS, 4)
    with ledger_topics_on(killable_kafkas, PARTITIONS) as address:
        writer = Writer(address, PARTITIONS)
        killed, broken, done = 0, 0, 0
        while killed < KILLS or broken < BROKER_KILLS:
            share = len(drafts) * (killed + 1) // (KILLS + 1)
            await writer.append(drafts[done:share])
            done = max(done, share)
            breaking = broken * KILLS <= killed * BROKER_KILLS and broken < BROKER_KILLS
            publishers = [publish_until_killed(address, random, breaking=breaking) for _ in range(2)]
            if breaking:
                killed += sum((await asyncio.gather(*publishers, broker_dies(killable_kafkas, random)))[:2])
                broken += 1
            else:
                killed += sum(await asyncio.gather(*publishers))
        await writer.append(drafts[done:])
        await writer.close()
        last = await events(address, "publish", "--to", "kafka:", "--once")
        assert last.returncode == 0, last.stderr
        verified = await events(address, "verify", "--in", "kafka:")
        assert (verified.returncode, verified.stderr) == (0, "")
        print(f"{killed} publishers and {broken} brokers were killed; {verified.stdout}")  # noqa: T201


async def broker_dies(kafka: Kafka, random: Random) -> bool:
    node = random.randint(1, 3)
    await asyncio.to_thread(kafka.kill, node)
    await asyncio.to_thread(kafka.start)
    return True


def test_a_projecting_process_takes_over_from_one_that_is_killed(
    ledger_topics: Address, tmp_path: Path
) -> None:
    drafts, _ = drawn(16, 41)
    module = "tests.integration.kafka.feeding"

    def start(*numbers: int) -> "subprocess.Popen[str]":
        words = [str(ledger_topics), str(tmp_path), *map(str, numbers)]
        pipe = subprocess.PIPE
        return program.start(
            *words, module=module, cwd=ROOT, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def write(some: Sequence[EntryDraft]) -> None:
        async def written() -> None:
            writer = Writer(ledger_topics, LEDGER_PARTITIONS)
            await writer.append(some)
            await writer.close()

        asyncio.run(written())

    def fed(process: "subprocess.Popen[str]") -> bool:
        assert process.stdout is not None
        return process.stdout.readline() == "fed\n"

    write(drafts[: len(drafts) // 2])
    with start(0) as one, start(1) as other:
        try:
            assert fed(one)
            assert fed(other)
            one.kill()
            write(drafts[len(drafts) // 2 :])
            with start(0, 1) as heir:
                try:
                    assert fed(heir)
                finally:
                    heir.kill()
        finally:
            one.kill()
            other.kill()
    verified = program.run("events", "verify", "--in", "kafka:", "--log", str(ledger_topics))
    assert (verified.returncode, verified.stderr) == (0, "")


# ---- E6 ----------------------------------------------------------------------------------------------------------


async def test_a_publisher_whose_committed_offsets_are_forgotten_goes_on_at_its_position(
    ledger_topics: Address,
) -> None:
    """As brokers do with groups that were away for a week: positions are none of theirs."""
    drafts, _ = drawn(12, 6)
    half = len(drafts) // 2
    writer = Writer(ledger_topics, LEDGER_PARTITIONS)
    await writer.append(drafts[:half])
    first = await events(ledger_topics, "publish", "--to", "kafka:", "--once")
    assert first.returncode == 0, first.stderr
    await asyncio.to_thread(forget_groups, ledger_topics)
    again = await events(ledger_topics, "publish", "--to", "kafka:", "--once")
    assert again.stdout.startswith("0 events more"), again.stderr
    await writer.append(drafts[half:])
    await writer.close()
    rest = await events(ledger_topics, "publish", "--to", "kafka:", "--once")
    assert rest.returncode == 0, rest.stderr
    verified = await events(ledger_topics, "verify", "--in", "kafka:")
    assert (verified.returncode, verified.stderr) == (0, "")


def forget_groups(address: Address) -> None:
    """Brokers have no offsets of this ledger's groups any more. There was one: a consumer's that stands beside it."""
    servers: dict[str, str | int | float | bool] = {"bootstrap.servers": ",".join(address.servers)}
    consumer = Consumer({**servers, "group.id": f"{address.prefix}-witness"})
    consumer.commit(offsets=[TopicPartition(address.topic("cloudevents"), 0, 0)], asynchronous=False)
    consumer.close()
    admin = AdminClient(servers)
    (group,) = groups_of(admin, address)
    for deleted in admin.delete_consumer_groups([group]).values():
        deleted.result(60)
    assert groups_of(admin, address) == []


def groups_of(admin: AdminClient, address: Address) -> list[str]:
    listed = admin.list_consumer_groups().result(60)
    return [group.group_id for group in listed.valid if group.group_id.startswith(address.prefix)]


# ---- E5 ----------------------------------------------------------------------------------------------------------


async def read(table: Table, address: Address, topic: str, since: Sequence[int] = ()) -> None:
    """What is committed in the topic is in the table; of each partition from its offset on."""
    for number in range(LEDGER_PARTITIONS):
        async for headers, data in _records(address, topic, number, since[number] if since else 0):
            take(table, headers, data)


async def _records(
    address: Address, topic: str, number: int, begin: int
) -> AsyncIterator[tuple[dict[str, str], dict[str, Any]]]:
    partition = Partition(address, topic, number)
    try:
        async for batch in partition.read(begin, await partition.settled_end()):
            for record in batch:
                yield (
                    {name: (value or b"").decode() for name, value in record.headers},
                    json.loads(record.value or b"null"),
                )
    finally:
        await partition.close()


async def test_tables_of_readers_from_the_beginning_and_by_backfill_are_what_the_server_lists(
    ledger_topics: Address, tmp_path: Path
) -> None:
    drafts = deleted(READ_JOBS)
    half, live, own = len(drafts) // 2, ledger_topics.topic("cloudevents"), f"{ledger_topics.prefix}-own"
    writer = Writer(ledger_topics, LEDGER_PARTITIONS)
    await writer.append(drafts[:half])
    await publish(ledger_topics, "kafka:")
    await create_topic(ledger_topics, own)
    backfill = await publish(ledger_topics, f"kafka://{','.join(ledger_topics.servers)}/{own}")
    offsets = [int(row.split()[1]) for row in backfill.splitlines()[-LEDGER_PARTITIONS:]]
    await writer.append(drafts[half:])
    await writer.close()
    listed = await asyncio.to_thread(served_phases, Place(tmp_path), ledger_topics)
    await publish(ledger_topics, "kafka:")
    whole: Table = {}
    joined: Table = {}
    await read(whole, ledger_topics, live)
    await read(joined, ledger_topics, own)
    await read(joined, ledger_topics, live, offsets)
    assert joined == whole
    assert {uid: row["phase"] for uid, row in whole.items()} == listed
    assert all(row["gone"] for row in whole.values())
    assert len(listed) == READ_JOBS


async def publish(address: Address, to: str) -> str:
    done = await events(address, "publish", "--to", to, "--once")
    assert done.returncode == 0, done.stderr
    return done.stdout


async def create_topic(address: Address, name: str) -> None:
    admin = AIOKafkaAdminClient(**address.options())
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, LEDGER_PARTITIONS, 1)])
        async with asyncio.timeout(60):
            while name not in await admin.list_topics():  # noqa: ASYNC110 - brokers set no event
                await asyncio.sleep(0.05)
    finally:
        await admin.close()


def deleted(jobs: int) -> list[EntryDraft]:
    """The entries of jobs whose objects are gone: a server of their ledger lists what the log says of them."""
    random = chance(5)
    several = list(stories(jobs, random))
    for story in several:
        if not story.state.deleted:
            story.at(story.clock + 1).delete()
    return list(mixed(several, random))


def served_phases(place: Place, address: Address) -> dict[str, str]:
    """Uid → phase, as a server of this ledger lists its jobs."""
    with place.server("--log", str(address)):
        transport = httpx.HTTPTransport(uds=str(socket_path(place.store)))
        with httpx.Client(transport=transport, timeout=600, base_url="http://localhost") as client:
            items = client.get("/v1/jobs", params={"gone": "true"}).raise_for_status().json()["items"]
    return {item["metadata"]["uid"]: item["status"]["phase"] for item in items}
