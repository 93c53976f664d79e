"""Public events read from a partition of a topic, over one that is in memory: stretches, places, what is gone."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

import pytest

from jobledger.program.errors import CursorRefused
from jobledger.publishing import topical
from jobledger.publishing.cursors import LogPlace, TopicPlace
from jobledger.publishing.topical import TopicStretch, _first, _Followed, _Gone, _resumed
from jobledger.publishing.topics import first_late
from projectors.contract.binding import position_of, record
from projectors.contract.envelope import structured
from projectors.contract.page import PublicEvent
from statemachine.log.kafka.reading import Partition
from statemachine.log.kafka.records import Message
from tests.support.published_lives import published

ENTRIES = published(0, 2)
EVENTS = [event for entry in ENTRIES for event in entry.events][:60]


class _Message:
    """A record as a consumer gives it."""

    def __init__(self, offset: int, event: PublicEvent) -> None:
        self.offset = offset
        self.key, self.value, self.headers = record(event)


class MemoryPartition:
    """A partition: every third offset has the marker of a transaction."""

    def __init__(self, events: Sequence[PublicEvent]) -> None:
        offsets = (offset for offset in range(len(events) * 2) if offset % 3 != 2)
        self.messages = [_Message(offset, event) for offset, event in zip(offsets, events, strict=False)]
        self.first = 0
        self.last = self.messages[-1].offset + 2
        self.reads = 0

    async def begin(self) -> int:
        return self.first

    async def end(self) -> int:
        return self.last

    async def read(self, start: int, end: int) -> AsyncIterator[Sequence[_Message]]:
        self.reads += 1
        batch = [message for message in self.messages if max(start, self.first) <= message.offset < end]
        if batch:
            yield batch


def followed(partition: MemoryPartition) -> _Followed:
    return _Followed(cast(Partition, partition))


def behind(position: int) -> Callable[[PublicEvent], bool]:
    return lambda event: event.position > position


async def whole(stretch: TopicStretch, place: TopicPlace) -> list[Any]:
    """What the stretch gives behind the place, portion by portion."""
    events: list[Any] = []
    while True:
        some = stretch.behind(place, 4)
        events += some
        if some:
            place = some[-1].place
        elif not await stretch.advance():
            return events
        else:
            place = max(place, TopicPlace(stretch.end)) if not stretch.behind(place, 1) else place


def lines(placed: Sequence[Any]) -> list[bytes]:
    return [placed_event.line for placed_event in placed]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topical, "_AT_ONCE", 7)
    monkeypatch.setattr(topical, "_LOOKED_AT", 2)


async def test_a_stretch_gives_all_events_behind_a_place_in_their_order() -> None:
    partition = MemoryPartition(EVENTS)
    stretch = TopicStretch(followed(partition), TopicPlace(), 1 << 20)
    given = await whole(stretch, TopicPlace())
    assert lines(given) == [structured(event) for event in EVENTS]
    assert [placed_event.place for placed_event in given] == [
        TopicPlace(message.offset + 1, event.position)
        for message, event in zip(partition.messages, EVENTS, strict=True)
    ]
    assert stretch.place == TopicPlace(partition.last, EVENTS[-1].position)
    for number, placed_event in enumerate(given):
        assert lines(stretch.behind(placed_event.place, 1000)) == lines(given[number + 1 :])
        assert lines(stretch.behind(placed_event.place, 3)) == lines(given[number + 1 : number + 4])


async def test_a_stretch_that_is_full_begins_later() -> None:
    partition = MemoryPartition(EVENTS)
    stretch = TopicStretch(followed(partition), TopicPlace(), 40_000)
    await whole(stretch, TopicPlace())
    assert not stretch.covers(0)
    assert stretch.covers(stretch.end)
    kept = stretch.behind(TopicPlace(), 1000)
    assert 0 < sum(len(line.line) * 2 for line in kept) <= 40_000
    first = kept[0].place.offset - 1
    before = max(message.offset for message in partition.messages if message.offset < first)
    assert stretch.covers(before + 1)
    assert not stretch.covers(before)


async def test_at_the_end_nothing_is_read() -> None:
    partition = MemoryPartition(EVENTS)
    stretch = TopicStretch(followed(partition), TopicPlace(partition.last), 1 << 20)
    assert not await stretch.advance()
    assert not partition.reads


async def test_what_retention_removed_is_no_gap() -> None:
    partition = MemoryPartition(EVENTS)
    stretch = TopicStretch(followed(partition), TopicPlace(9), 1 << 20)
    partition.first = 9
    assert await stretch.advance()
    partition.first = stretch.end + 1
    with pytest.raises(_Gone):
        await stretch.advance()


async def test_the_first_event_that_is_late_is_looked_for_by_halving() -> None:
    partition = MemoryPartition(EVENTS)
    for position in range(EVENTS[-1].position + 2):
        expected = next(
            (message.offset for message, event in zip(partition.messages, EVENTS, strict=True)
             if event.position > position),
            None,
        )  # fmt: skip
        place = await _first(cast(Partition, partition), behind(position))
        if expected is None:
            assert place.offset > partition.messages[-1].offset
        else:
            last = max((m.offset for m in partition.messages if m.offset < expected), default=-1)
            assert last < place.offset <= expected
    partition.reads = 0
    await _first(cast(Partition, partition), behind(EVENTS[30].position))
    assert partition.reads < 20


async def test_a_whole_read_passes_over_no_late_event_where_many_of_held_jobs_came_together() -> None:
    start = EVENTS[30].position
    early = [event for event in EVENTS if event.position < start]
    late = [event for event in EVENTS if event.position >= start]
    partition = MemoryPartition([*early[:5], *late[:3], *early[5:], *late[3:]])

    def is_late(message: Message) -> bool:
        return position_of(message.headers) >= start

    first = partition.messages[5].offset
    assert await first_late(cast(Partition, partition), is_late) == first
    assert await first_late(cast(Partition, partition), is_late, looked_at=2) > first
    few_held = MemoryPartition([*early[:-2], *late[:3], *early[-2:], *late[3:]])
    first = few_held.messages[len(early) - 2].offset
    assert await first_late(cast(Partition, few_held), is_late, looked_at=6) == first


async def test_without_a_late_record_the_first_late_one_is_the_next_to_come() -> None:
    partition = MemoryPartition(EVENTS)
    for looked_at in (0, 2):
        assert await first_late(cast(Partition, partition), lambda _: False, looked_at) >= partition.last - 2
    assert await first_late(cast(Partition, partition), lambda _: False) == partition.last


async def test_a_place_in_the_log_is_located_also_within_an_entry() -> None:
    partition = MemoryPartition(EVENTS)
    for number, event in enumerate(EVENTS[:-1]):
        index = int(str(event.attributes["id"]).rpartition("/")[2])
        place = await _resumed(followed(partition), LogPlace(event.position, index))
        stretch = TopicStretch(followed(partition), place, 1 << 20)
        assert lines(await whole(stretch, place)) == [structured(event) for event in EVENTS[number + 1 :]]


async def test_a_place_in_the_topic_is_good_where_the_event_before_it_is_the_same() -> None:
    partition = MemoryPartition(EVENTS)
    fed = followed(partition)
    place = TopicPlace(partition.messages[5].offset + 1, EVENTS[5].position)
    assert await _resumed(fed, place) == place
    assert await _resumed(fed, TopicPlace(place.offset)) == TopicPlace(place.offset)
    assert await _resumed(fed, TopicPlace(partition.last)) == TopicPlace(partition.last)
    for wrong in (place._replace(position=EVENTS[5].position + 1), TopicPlace(partition.last + 1)):
        with pytest.raises(CursorRefused) as refused:
            await _resumed(fed, wrong)
        assert refused.value.code == "cursor-of-another-ledger"
    partition.first = place.offset  # nobody can tell any more
    assert await _resumed(fed, place) == place
