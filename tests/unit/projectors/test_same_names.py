"""A job that was deleted and created again under its name: its pods may have the names of those that were."""

from datetime import UTC, datetime

import pytest

from projectors.children import Children
from statemachine.ids import ATTEMPT, JobUid, Seq
from statemachine.observations import Observation, PodGone
from statemachine.state import JobState
from tests.support.memory_cluster import MemoryCluster
from tests.support.scenario import UID, Story
from tests.support.simulated import LoopClock, run_simulated
from tests.unit.kinds.colossal import KIND, spec


class One:
    """The states of a log with one job."""

    def __init__(self, story: Story) -> None:
        self.story = story

    def state(self, _: JobUid) -> JobState | None:
        return self.story.state

    def seq(self, _: JobUid) -> Seq:
        return Seq(len(self.story.entries))

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> None:
        return None

    async def fresh(self, _: JobUid) -> None:
        return


def visited(owner: str) -> list[Observation]:
    """What a visit to a deleted job tells, whose first worker was never seen, beside a pod of that name."""
    observations: list[Observation] = []

    async def observe(observation: Observation) -> None:
        observations.append(observation)

    async def whole() -> None:
        story = Story(spec(), name="gpt", kind=KIND).submit()
        pod = story.children["Pod/gpt-worker-0"]
        pod["metadata"]["ownerReferences"][0]["uid"] = owner
        pod["metadata"]["annotations"] = {ATTEMPT: "1"}
        clock = LoopClock(datetime(2024, 1, 9, 15, tzinfo=UTC))
        cluster = MemoryCluster(clock=clock.now)
        cluster.disturbance = lambda _: ()
        await cluster.create(pod)
        story.delete()
        await Children(One(story), cluster, observe, clock).visit(UID)

    run_simulated(whole(), 0)
    return observations


@pytest.mark.parametrize(("owner", "absent"), [("another", ["worker-0", "worker-1"]), (UID, ["worker-1"])])
def test_only_a_pod_of_the_job_itself_may_have_come_late(owner: str, absent: list[str]) -> None:
    assert [
        observation.replica for observation in visited(owner) if isinstance(observation, PodGone)
    ] == absent
