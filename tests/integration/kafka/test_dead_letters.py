"""Dead letters in Kafka: found, retried by the command, and decided by an engine; and those that cannot be."""

import asyncio
import json

import pytest

from statemachine.engine.clock import WallClock
from statemachine.engine.kafka.worker import Worker
from statemachine.ids import JobUid
from statemachine.log.codec import decode, encode_observation
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.log import KafkaLog
from statemachine.log.kafka.partitioner import partition_of
from statemachine.log.port import DeadLetter
from tests.integration.kafka.test_copy import cli
from tests.support.logs import records
from tests.support.scenario import START, Story, workers

pytestmark = pytest.mark.integration


async def keep(address: Address, partition: int, *letters: DeadLetter) -> None:
    log = await KafkaLog.open(address, partition, read_only=True)
    for letter in letters:
        await log.add_dead_letter(letter)
    await log.close()


async def decided(address: Address, job: JobUid) -> list[str]:
    """What caused the entries of the job, by an engine that works until there are some."""
    log = await KafkaLog.open(address, partition_of(job, 2), read_only=True)
    working = asyncio.create_task(Worker(address, "aiokafka", WallClock(), session=6.0).run())
    try:
        async with asyncio.timeout(60):
            while not (decided_records := await records(log)):
                assert not working.done(), working.exception()
                await asyncio.sleep(0.1)
    finally:
        working.cancel()
        await asyncio.wait([working])
        await log.close()
    return [decode(record.body).cause.type for record in decided_records]


async def test_a_letter_that_is_retried_is_decided_where_its_job_is(ledger_topics: Address) -> None:
    observation = Story(workers(1), uid="job-late").submit().entries[0].cause
    elsewhere = 1 - partition_of(observation.job, 2)
    good = DeadLetter(
        START, observation.job, encode_observation(observation), "the job's partition is another"
    )
    await keep(ledger_topics, elsewhere, DeadLetter(START, JobUid("x"), b"\xff", "unreadable"), good)
    log = ("--log", str(ledger_topics))

    listed = await asyncio.to_thread(cli, "dead-letters", "list", "-o", "json", *log)
    poison, letter = (load["id"] for load in json.loads(listed[1]))
    assert [poison.split("-")[0], letter.split("-")[0]] == [str(elsewhere)] * 2
    refused = await asyncio.to_thread(cli, "dead-letters", "retry", poison, *log)
    assert refused[:2] == (1, "")
    assert refused[2].startswith(f"jobledger: dead letter {poison} is not sent, it would only come back: ")
    said = await asyncio.to_thread(cli, "dead-letters", "retry", letter, *log)
    assert said == (0, f"retried {letter}: JobObserved of job job-late\n", "")

    assert await decided(ledger_topics, observation.job) == ["JobObserved"]
    code, out, _ = await asyncio.to_thread(cli, "dead-letters", "list", "-o", "json", *log)
    assert (code, [load["retried"] is not None for load in json.loads(out)]) == (0, [False, True])
    shown = await asyncio.to_thread(cli, "dead-letters", "show", letter, *log)
    assert json.loads(shown[1].split("\n\n")[1])["type"] == "JobObserved"
    again = await asyncio.to_thread(cli, "dead-letters", "retry", "--all", *log)
    assert again[:2] == (1, "")
