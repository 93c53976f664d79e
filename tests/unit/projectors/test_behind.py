"""A projector that is behind the log: what it does to children that it has not heard of yet."""

from datetime import UTC, datetime

from projectors.children import Children
from statemachine.ids import ATTEMPT, JobUid, Seq
from statemachine.observations import Observation
from statemachine.state import JobState
from tests.support.memory_cluster import MemoryCluster
from tests.support.pytorchjob import TorchStory, training
from tests.support.simulated import LoopClock, run_simulated


class Behind:
    """States of which one is older than the log, until somebody asks for what is there by now."""

    def __init__(self, story: TorchStory, old: JobState) -> None:
        self._story, self._state = story, old

    def state(self, _: JobUid) -> JobState:
        return self._state

    def seq(self, _: JobUid) -> Seq:
        return Seq(1)

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> None:
        return None

    async def fresh(self, _: JobUid) -> None:
        self._state = self._story.state


async def unheard(_: Observation) -> None:
    return


def left_after_a_visit(story: TorchStory, old: JobState) -> set[str]:
    """Of the children that the job has by now, those that are there after a visit with a state that is `old`."""
    left: set[str] = set()

    async def whole() -> None:
        clock = LoopClock(datetime(2024, 1, 9, 15, tzinfo=UTC))
        cluster = MemoryCluster(clock=clock.now)
        cluster.disturbance = lambda _: ()
        for child in story.children.values():
            if child["kind"] == "Pod":
                child["metadata"]["annotations"] = {ATTEMPT: "1"}
            await cluster.create(child)
        await Children(Behind(story, old), cluster, unheard, clock).visit(story.uid)
        left.update(
            f"{kind}/{object_['metadata']['name']}"
            for kind in ("Pod", "Service")
            for object_ in cluster.objects.peek_all(kind)
            if "deletionTimestamp" not in object_["metadata"]
        )

    run_simulated(whole(), 0)
    return left


def test_nothing_is_deleted_that_was_asked_for_since() -> None:
    story = TorchStory(training(workers=1)).submit()
    old = story.state
    story.scale(2)
    there = left_after_a_visit(story, old)
    assert {"Pod/retry-worker-1", "Service/retry-worker-1"} <= there
