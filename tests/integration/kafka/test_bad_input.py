"""A full disk, topics that are deleted, events of the future, a log whose beginning is gone: all else goes on."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from statemachine.errors import LogUnavailable
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.port import EntryDraft
from statemachine.log.reader import Reader
from statemachine.observations import Observation
from tests.harness import wait_for
from tests.harness.fixtures import LEDGER_PARTITIONS, ledger_topics_on, own_kafka
from tests.integration.kafka.test_controller import Engine, engine, lives
from tests.integration.kafka.test_log import admin, delete
from tests.support.logs import JOB, OTHER, history, records

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

DISK: Final = 192
"""MiB of the small disk: Kafka's own topics and a ledger of little fit in."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk for one broker; skips where none can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(place)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> Path:
    """There is no room any more, until this file is deleted."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    assert shutil.disk_usage(disk).free == 0
    return ballast


async def put(address: Address, observations: list[Observation], within: float = 120) -> None:
    """All of it is there, parts of it perhaps twice: a client without an answer sends it again."""
    async with asyncio.timeout(within):
        outbox = await opened(address)
        try:
            while True:
                try:
                    return await outbox.put(observations)
                except LogUnavailable:
                    await asyncio.sleep(0.2)
        finally:
            await outbox.close()


async def opened(address: Address) -> KafkaOutbox:
    """As soon as a broker answers: one without room may have ended by itself."""
    while True:
        try:
            return await KafkaOutbox.open(address)
        except LogUnavailable:
            await asyncio.sleep(0.2)


async def put_for_ever(address: Address, observations: list[Observation]) -> None:
    """Repeats, which change nothing. Raises TimeoutError: no broker takes them."""
    while True:
        await put(address, observations, within=15)


@asynccontextmanager
async def reading(address: Address) -> AsyncIterator[list[KafkaLog]]:
    """The logs of all partitions."""
    logs = [await KafkaLog.open(address, number, read_only=True) for number in range(LEDGER_PARTITIONS)]
    try:
        yield logs
    finally:
        for log in logs:
            await log.close()


async def folded(address: Address) -> dict[str, int]:
    """By job, how many entries it has; nothing in the log was skipped."""
    seqs: dict[str, int] = {}
    async with reading(address) as logs:
        for log in logs:
            reader = Reader()
            async for _ in reader.catch_up(log):
                pass
            assert not reader.skipped, reader.last_skipped
            seqs |= {job: reader.tracked(job).seq for job in reader.jobs}
    return seqs


def wait_decided(address: Address, observations: list[Observation]) -> None:
    """Every observation has its entry, one and no more."""
    expected: dict[str, int] = {}
    for observation in observations:
        expected[observation.job] = expected.get(observation.job, 0) + 1
    wait_for("all is decided", lambda: asyncio.run(folded(address)) == expected)


def writable(deciding: Engine) -> bool:
    return deciding.metrics().get("log_writable") == 1.0


@pytest.mark.slow
def test_a_full_disk_is_said_and_with_room_again_all_goes_on(disk: Path, tmp_path: Path) -> None:
    story = lives(200)
    with (
        own_kafka(disk / "kafka") as kafka,
        ledger_topics_on(kafka) as address,
        engine(tmp_path, str(address)) as deciding,
    ):
        deciding.becomes(200)
        asyncio.run(put(address, story[:200]))
        wait_decided(address, story[:200])
        ballast = fill(disk)
        with pytest.raises(TimeoutError):
            asyncio.run(put_for_ever(address, story[:200]))
        deciding.becomes(503, "the log cannot be reached")
        wait_for("the metric says so", lambda: not writable(deciding))
        ballast.unlink()
        kafka.start()
        asyncio.run(put(address, story[200:]))
        wait_decided(address, story)
        deciding.becomes(200)
        wait_for("the metric says so", lambda: writable(deciding))
        assert "the log cannot be" in deciding.said or "begun anew" in deciding.said
        assert deciding.process.poll() is None


def test_without_the_topic_of_snapshots_an_engine_goes_on_and_ends_in_order(
    ledger_topics: Address, tmp_path: Path
) -> None:
    story = lives(200)
    with engine(tmp_path, str(ledger_topics)) as deciding:
        asyncio.run(put(ledger_topics, story[:200]))
        wait_decided(ledger_topics, story[:200])
        asyncio.run(delete(ledger_topics, "jobs"))
        asyncio.run(put(ledger_topics, story[200:]))
        wait_decided(ledger_topics, story)
        deciding.process.terminate()
        assert deciding.process.wait(90) == 0, deciding.said
        assert "action=hand-over" in deciding.said, "that states were not saved is said"


@pytest.mark.slow
def test_when_the_log_itself_is_deleted_an_engine_ends_with_a_sentence(
    ledger_topics: Address, tmp_path: Path
) -> None:
    story = lives(10)
    with engine(tmp_path, str(ledger_topics)) as deciding:
        asyncio.run(put(ledger_topics, story[:10]))
        wait_decided(ledger_topics, story[:10])
        asyncio.run(delete(ledger_topics, "events"))
        asyncio.run(put(ledger_topics, story[10:]))
        assert deciding.process.wait(150) != 0
        assert f"topics apply --log {ledger_topics}" in deciding.said
        assert "Traceback" not in deciding.said


def test_a_job_with_events_of_the_future_is_set_aside_and_the_others_are_decided(
    ledger_topics: Address, tmp_path: Path
) -> None:
    story = lives(20)
    strange, well = story[0].job, [observation for observation in story if observation.job != story[0].job]
    future = history(1, strange)[0].body.replace(b'"type":"JobAdmitted"', b'"type":"JobDreamtOf"')
    assert b"JobDreamtOf" in future

    async def foresee() -> None:
        log = await KafkaLog.open(ledger_topics, partition_of(strange, LEDGER_PARTITIONS))
        await log.append([EntryDraft(strange, 1, future)])
        await log.close()

    async def letters() -> list[str]:
        async with reading(ledger_topics) as logs:
            return [
                letter.error for log in logs for letter in await log.dead_letters() if letter.job == strange
            ]

    async def others() -> set[str]:
        async with reading(ledger_topics) as logs:
            return {record.job for log in logs for record in await records(log) if record.seq > 1}

    asyncio.run(foresee())
    with engine(tmp_path, str(ledger_topics)) as deciding:
        asyncio.run(put(ledger_topics, story))
        wait_for(
            "others are decided", lambda: asyncio.run(others()) == {observation.job for observation in well}
        )
        mine = len(story) - len(well)
        wait_for("what it cannot decide is kept", lambda: len(asyncio.run(letters())) == mine)
        assert all("the history of this job cannot be folded" in letter for letter in asyncio.run(letters()))
        wait_for("they are counted", lambda: deciding.metrics().get("dead_letters_written_total") == mine)
        assert "dead-letter" in deciding.said


# ---- a log whose beginning is gone -------------------------------------------------------------------------------


async def expire(address: Address, before: int) -> None:
    """Retention has taken what stands before that offset of partition 0."""
    async with admin(address) as client:
        place = TopicPartition(address.topic("events"), 0)
        await client.delete_records({place: RecordsToDelete(before_offset=before)})


@pytest.mark.parametrize("kept", [True, False], ids=["with snapshots", "without"])
async def test_when_the_beginning_has_expired_snapshots_stand_for_it_and_else_only_its_jobs_are_lost(
    ledger_topics: Address, caplog: pytest.LogCaptureFixture, kept: bool
) -> None:
    log = await KafkaLog.open(ledger_topics, 0)
    old, new = history(6, JOB), history(6, OTHER)
    await log.append(old[:3])
    before = Reader()
    await before.recover(log)
    if kept:
        await log.save_snapshots(before.position, before.unsaved())
    await log.append([*old[3:], *new])
    await expire(ledger_topics, before.position)
    await log.close()
    log, reader = await KafkaLog.open(ledger_topics, 0), Reader()
    await reader.recover(log)
    assert reader.tracked(OTHER).seq == 6
    assert reader.tracked(JOB).seq == (6 if kept else 0)
    assert reader.skipped == (0 if kept else 3)
    assert ("the beginning of a topic is gone" in caplog.text) is not kept
    assert [record.seq for record in await log.append(history(7, OTHER)[6:])] == [7]
    await log.close()
