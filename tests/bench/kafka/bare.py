"""What Kafka's client allows: consume, decide by the real rules, produce in a transaction with the offsets.

It owns nothing, fences nobody, folds nothing at its start and recognises no repeats: the shortest loop that decides.
"""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from statemachine.decide import POLICY, decided
from statemachine.engine.kafka.processor import BATCH
from statemachine.engine.source import WorkerReport
from statemachine.ids import JobUid, Seq
from statemachine.log.codec import decode_observation, encode, entry_hash
from statemachine.log.entry import GENESIS, Entry
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.clients import producer, started, stopped
from statemachine.log.kafka.layout import EVENTS, OBSERVATIONS
from statemachine.log.kafka.records import entry_row
from statemachine.log.port import EntryDraft
from statemachine.log.sharing import version
from statemachine.state import JobState

BARE: Final = "bare"


class Bare:
    """The loop, alone in its group. `late`: seconds from noticing to durable entry are added to it."""

    def __init__(self, address: Address, late: list[float]) -> None:
        self._address, self._late = address, late
        self._noticed: list[datetime] = []
        """When, of the entries in the transaction."""
        self._group, self._topic = address.topic("bare"), address.topic(OBSERVATIONS.name)
        self._jobs: dict[JobUid, tuple[JobState, Seq, str]] = {}
        self._decided = 0
        self._owned: Sequence[int] = ()

    def report(self) -> WorkerReport:
        """As a worker's."""
        return WorkerReport(waiting=dict.fromkeys(self._owned, 0), counts={"decided": self._decided})

    async def run(self) -> None:
        """For ever."""
        consumer = AIOKafkaConsumer(
            self._topic,
            **self._address.options(),
            group_id=self._group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
        )
        await started(consumer)
        writer = await started(producer(self._address, self._group))
        try:
            while True:
                self._owned = [part.partition for part in consumer.assignment()]
                batches = await consumer.getmany(timeout_ms=100, max_records=BATCH)
                if batches:
                    await self._take(writer, batches)
        finally:
            await stopped(consumer)
            await stopped(writer)

    async def _take(self, writer: Any, batches: dict[TopicPartition, Sequence[Any]]) -> None:
        await writer.begin_transaction()
        sent = []
        for part, messages in batches.items():
            batch = writer.create_batch()
            for message in messages:
                if (row := self._entry(message.value)) is not None:
                    headers = list(row.headers)
                    if batch.append(timestamp=None, key=row.key, value=row.value, headers=headers) is None:
                        sent.append(await self._send(writer, batch, part.partition))
                        batch = writer.create_batch()
                        batch.append(timestamp=None, key=row.key, value=row.value, headers=headers)
            sent.append(await self._send(writer, batch, part.partition))
        for future in sent:
            await future
        offsets = {part: messages[-1].offset + 1 for part, messages in batches.items()}
        await writer.send_offsets_to_transaction(offsets, self._group)
        await writer.commit_transaction()
        now = time.time()
        self._late += [now - at.timestamp() for at in self._noticed]
        self._noticed = []
        self._decided += sum(map(len, batches.values()))

    async def _send(self, writer: Any, batch: Any, partition: int) -> Any:
        return await writer.send_batch(batch, self._address.topic(EVENTS.name), partition=partition)

    def _entry(self, body: bytes) -> Any:
        observation = decode_observation(body)
        state, seq, head = self._jobs.get(observation.job) or (JobState(observation.job), 0, GENESIS)
        events, after = decided(state, observation)
        if not events:
            return None
        self._noticed.append(observation.at)
        entry = Entry(
            v=version(observation, events),
            job=observation.job,
            seq=seq + 1,
            prev=head,
            policy=POLICY,
            seen_at=observation.at,
            happened_at=observation.happened_at,
            cause=observation,
            events=events,
        )
        made = encode(entry)
        self._jobs[observation.job] = (after, entry.seq, entry_hash(made))
        return entry_row(EntryDraft(observation.job, entry.seq, made))
