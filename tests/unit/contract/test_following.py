"""A source that is followed gives what is appended while it is read."""

from collections.abc import Sequence

from jobledger.publishing.source import Source
from projectors.contract.envelope import structured
from statemachine.log.partitions import Partitions
from statemachine.log.port import EntryDraft
from tests.contract.lives import PUBLICATION, identified
from tests.support.memory_log import MemoryLog
from tests.support.scenario import Story, workers
from tests.unit.contract.made import of_story


def drafts(story: Story, after: int = 0) -> Sequence[EntryDraft]:
    return [EntryDraft(story.uid, seq, body) for seq, body in enumerate(story.bodies, 1) if seq > after]


async def test_a_log_of_several_partitions_is_followed_as_it_grows() -> None:
    stories = [Story(workers(1), uid=uid).submit() for uid in ("a", "b")]
    logs = [MemoryLog() for _ in stories]
    for log, story in zip(logs, stories, strict=True):
        await log.append(drafts(story))
    source, events = Source(Partitions(logs), PUBLICATION, identified), []
    grown = False
    async for published in source.published(follow=True):
        if published is not None:
            events += [structured(event) for event in published.events]
        elif not grown:
            grown = True
            await logs[1].append(drafts(stories[1].all_pods("Running"), 1))
        elif len(events) >= sum(len(of_story(story)) for story in stories):
            break
    assert sorted(events) == sorted(structured(event) for story in stories for event in of_story(story))
