"""Single events made again from the log: the newest one, and one by its id, and what is read for them."""

from collections.abc import AsyncIterator, Sequence

import pytest

from jobledger.publishing import looking
from jobledger.publishing.looking import entry_of, newest_of
from projectors.contract.page import PublicEvent
from projectors.contract.stream import PublishedEntry
from projectors.sinks.feeding import all_of
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft, Record
from tests.contract.lives import PUBLICATION
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story, workers
from tests.unit.contract.made import of_story


class Counting(MemoryLog):
    """A log that counts the records that it gives."""

    given = 0

    async def scan(
        self, after: Position = 0, *, job: JobUid | None = None, after_seq: Seq = 0
    ) -> AsyncIterator[Sequence[Record]]:
        async for records in super().scan(after, job=job, after_seq=after_seq):
            for record in records:
                self.given += 1
                yield [record]


def stories() -> list[Story]:
    return [
        Story(workers(1), name=f"job-{number}", uid=f"aaaa-{number:04}").submit().all_pods("Running")
        for number in range(6)
    ]


class CountingUnindexed(Counting):
    """The same of a log that finds no single jobs, as one in Kafka."""

    @property
    def finds_jobs(self) -> bool:
        return False


@pytest.fixture
async def log() -> Counting:
    return await filled(Counting())


async def filled(made: Counting) -> Counting:
    for story in stories():
        await made.append([EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)])
    return made


async def test_the_newest_event_is_made_of_the_end_of_the_log(
    log: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "_FIRST", 1)
    newest = await newest_of(Partitions([log]), PUBLICATION, all_of)
    assert newest is not None
    assert newest.attributes["id"] == of_story(stories()[-1])[-1].attributes["id"]
    assert log.given < await log.end() / 2


async def test_where_the_end_has_none_more_is_looked_at(
    log: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_the_first(published: PublishedEntry) -> Sequence[PublicEvent]:
        return published.events if published.state.name == "job-0" else ()

    monkeypatch.setattr(looking, "_FIRST", 1)
    newest = await newest_of(Partitions([log]), PUBLICATION, of_the_first)
    assert newest is not None
    assert newest.attributes["id"] == of_story(stories()[0])[-1].attributes["id"]
    assert await newest_of(Partitions([log]), PUBLICATION, lambda _: ()) is None


async def test_of_several_partitions_it_is_the_one_recorded_last(log: Counting) -> None:
    late = Story(workers(1), name="late", uid="bbbb-0000").at(90).submit()
    other = MemoryLog()
    await other.append([EntryDraft(late.uid, seq, body) for seq, body in enumerate(late.bodies, 1)])
    for logs in ([log, other], [other, log]):
        newest = await newest_of(Partitions(logs, lambda _: 0), PUBLICATION, all_of)
        assert newest is not None
        assert newest.attributes["name"] == "late"


async def test_an_entry_is_made_again_without_what_follows_it(log: Counting) -> None:
    story = stories()[2]
    for event in of_story(story):
        log.given = 0
        id_ = str(event.attributes["id"])
        published = await entry_of(id_, Partitions([log]), PUBLICATION)
        assert published is not None
        assert id_ in {made.attributes["id"] for made in published.events}
        assert log.given == published.entry.seq
    for wrong in (f"{story.uid}/999/0", "nobody/1/0", story.uid, f"{story.uid}/x/0", ""):
        assert await entry_of(wrong, Partitions([log]), PUBLICATION) is None


async def test_where_jobs_are_not_indexed_it_is_looked_for_from_the_end_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looking, "_FIRST", 1)
    monkeypatch.setattr(looking, "_WIDER", 2)
    log = await filled(CountingUnindexed())
    counts = []
    for story in stories():
        log.given = 0
        for event in of_story(story):
            id_ = str(event.attributes["id"])
            published = await entry_of(id_, Partitions([log]), PUBLICATION)
            assert published is not None
            assert (event.attributes, event.data) in [
                (made.attributes, made.data) for made in published.events
            ]
        counts.append(log.given / len(of_story(story)))
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0] / 2
    last = stories()[-1]
    for wrong in (f"{last.uid}/999/0", "nobody/1/0", f"{last.uid}/x/0"):
        assert await entry_of(wrong, Partitions([log]), PUBLICATION) is None


async def test_where_jobs_are_not_indexed_a_job_without_its_first_record_gives_no_event() -> None:
    log, story = CountingUnindexed(), stories()[0]
    await log.append([EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1)][1:])
    assert await entry_of(f"{story.uid}/2/0", Partitions([log]), PUBLICATION) is None
