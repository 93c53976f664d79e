"""Announcements become Events: each once, in spite of a cluster that does not always take them."""

import asyncio
from typing import cast

import pytest

from k8s_bridge.port import Cluster, JobEvent
from projectors.kube_events import READER, KubeEvents
from statemachine.errors import ClusterUnavailable, Conflict, Missing, Refused
from statemachine.ids import JobUid, Seq
from statemachine.log.port import EntryDraft
from statemachine.state import JobState
from tests.support.memory_log import MemoryLog
from tests.support.scenario import UID, Story, workers

POD = {"spec": {"containers": [{"name": "worker", "image": "deepspeed:1"}]}}


class Taking:
    """A cluster that takes Events, but for those that `errors` names."""

    def __init__(self) -> None:
        self.events: dict[str, JobEvent] = {}
        self.asked: list[str] = []
        self.errors: dict[str, Exception] = {}

    async def emit(self, event: JobEvent) -> None:
        self.asked.append(event.reason)
        await asyncio.sleep(0)
        if event.reason in self.errors:
            raise self.errors[event.reason]
        self.events.setdefault(event.name, event)


class One:
    """The states of a log with one job."""

    def __init__(self, state: JobState | None) -> None:
        self._state = state

    def state(self, _: JobUid) -> JobState | None:
        return self._state

    def seq(self, _: JobUid) -> Seq:
        raise AssertionError

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> None:
        return None

    async def fresh(self, _: JobUid) -> None:
        raise AssertionError


@pytest.fixture
def story() -> Story:
    """A job that was made, ran and succeeded."""
    return Story(workers(2)).submit().all_pods("Running").all_pods("Succeeded", exit_code=0)


@pytest.fixture
async def log(story: Story) -> MemoryLog:
    log = MemoryLog()
    await log.append(
        [EntryDraft(story.uid, Seq(seq), body) for seq, body in enumerate(story.bodies, start=1)]
    )
    return log


@pytest.fixture
def cluster() -> Taking:
    return Taking()


def projector(log: MemoryLog, cluster: Taking, state: JobState | None) -> KubeEvents:
    return KubeEvents(log, One(state), cast(Cluster, cluster))


@pytest.mark.parametrize("behind", [False, True])
async def test_an_event_is_about_the_object_under_the_kind_that_it_has(cluster: Taking, behind: bool) -> None:
    story = Story({"worker": {"replicas": 1, "template": POD}}, kind="DeepspeedJob").submit()
    log = MemoryLog()
    await log.append(
        [EntryDraft(story.uid, Seq(seq), body) for seq, body in enumerate(story.bodies, start=1)]
    )
    await projector(log, cluster, None if behind else story.state).advance()
    assert {event.about.kind for event in cluster.events.values()} == {"DeepspeedJob"}


async def test_every_announcement_is_an_event_once(story: Story, log: MemoryLog, cluster: Taking) -> None:
    for _ in range(2):
        await projector(log, cluster, story.state).advance()
    said = sorted((event.reason, event.message) for event in cluster.events.values())
    assert said == sorted(story.announced())
    assert len(said) > 3
    assert len(cluster.asked) == len(said)


async def test_events_written_again_after_a_crash_have_the_same_names(
    story: Story, log: MemoryLog, cluster: Taking
) -> None:
    await projector(log, cluster, story.state).advance()
    before = dict(cluster.events)
    await log.save_checkpoint(READER, 0)
    await projector(log, cluster, story.state).advance()
    assert len(cluster.asked) == 2 * len(before)
    assert cluster.events == before


async def test_events_of_a_job_that_is_not_folded_yet_are_about_it_all_the_same(
    story: Story, log: MemoryLog, cluster: Taking
) -> None:
    await projector(log, cluster, None).advance()
    assert {(event.about.name, event.uid) for event in cluster.events.values()} == {("mnist", UID)}


async def test_who_takes_over_again_does_not_repeat_what_somebody_else_has_said_meanwhile(
    story: Story, cluster: Taking
) -> None:
    drafts = [EntryDraft(story.uid, Seq(seq), body) for seq, body in enumerate(story.bodies, start=1)]
    log = MemoryLog()
    await log.append(drafts[:1])
    events = projector(log, cluster, story.state)
    await events.advance()
    await log.append(drafts[1:])
    await projector(log, cluster, story.state).advance()
    asked = list(cluster.asked)
    events.forget()
    await events.advance()
    assert cluster.asked == asked


async def test_a_cluster_out_of_reach_is_said_as_such_and_nothing_is_lost(
    story: Story, log: MemoryLog, cluster: Taking
) -> None:
    last = list(story.announced())[-1][0]
    cluster.errors[last] = ClusterUnavailable("no answer")
    events = projector(log, cluster, story.state)
    with pytest.raises(ClusterUnavailable):
        await events.advance()
    cluster.errors.clear()
    await events.advance()
    assert len(cluster.events) == len(list(story.announced()))


@pytest.mark.parametrize(
    "error",
    [
        Missing('namespaces "demo" not found'),
        Refused(403, "Forbidden", "the namespace is being terminated"),
        Conflict("no"),
    ],
)
async def test_an_event_that_the_cluster_will_never_take_holds_up_nothing(
    story: Story, log: MemoryLog, cluster: Taking, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    first = next(iter(story.announced()))[0]
    cluster.errors[first] = error
    await projector(log, cluster, story.state).advance()
    taken = {event.reason for event in cluster.events.values()}
    assert first not in taken
    assert taken
    assert "does not take an Event" in caplog.text
