"""How the entries of a log are put into batches for a sink."""

import asyncio

import pytest

from projectors.sinks import feeding
from projectors.sinks.feeding import Feeder
from projectors.sinks.port import Batch
from statemachine.log.port import EntryDraft
from tests.contract.lives import PUBLICATION, lives
from tests.support.memory_log import MemoryLog


class Gathering:
    """A sink that keeps its batches."""

    name = "gathering"

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    async def deliver(self, batch: Batch) -> None:
        self.batches.append(batch)

    async def close(self) -> None:
        """Nothing is open."""


def fed() -> list[Batch]:
    """The batches of a recorded life."""
    records = max((life.records for life in lives()[:100]), key=len)

    async def work() -> list[Batch]:
        log, sink = MemoryLog(), Gathering()
        await log.append([EntryDraft(record.job, record.seq, record.body) for record in records])
        await Feeder(log, 0, sink, PUBLICATION).advance()
        return sink.batches

    return asyncio.run(work())


def test_a_batch_is_full_at_a_size_and_no_entry_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = fed()
    monkeypatch.setattr(feeding, "_FULL", 3000)
    parts = fed()
    assert len(parts) > 2
    assert [event for batch in parts for event in batch.events] == list(whole.events)
    for batch in parts[:-1]:
        last = batch.events[-1].position
        assert sum(len(event.data) for event in batch.events) >= 3000
        assert sum(len(event.data) for event in batch.events if event.position < last) < 3000
    places = [{event.position for event in batch.events} for batch in parts]
    assert sum(map(len, places)) == len(set().union(*places))
    assert parts[-1].upto == whole.upto
