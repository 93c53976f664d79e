"""The level projectors behind their queues: whose jobs are visited, when, and with how much of the past."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from jobledger.telemetry.instruments import Instruments
from jobledger.wiring.levels import Levels
from jobledger.wiring.options import ControllerOptions
from k8s_bridge.port import Ref
from projectors.base import Quarantine
from statemachine.ids import JobUid, PodUid, ReplicaName, Seq
from statemachine.log.port import Record
from statemachine.log.reader import Folded, Reader
from statemachine.observations import JobGone, Observation, PodGone
from statemachine.state import JobState
from tests.support.memory_cluster import MemoryCluster, counted_uids
from tests.support.scenario import API, KIND, START, UID, Story, workers
from tests.support.simulated import LoopClock, on_simulated_time


class Latest:
    """The states of a reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def state(self, job: JobUid) -> JobState | None:
        tracked = self._reader.tracked(job)
        return tracked.state if tracked.seq else None

    def seq(self, job: JobUid) -> Seq:
        return self._reader.tracked(job).seq

    def is_forgotten(self, _: JobUid) -> bool:
        return False

    def quarantined(self, _: JobUid) -> Quarantine | None:
        return None

    async def fresh(self, _: JobUid) -> None:
        return


class Written(MemoryCluster):
    """Writes down the phases of the statuses that are written."""

    def __init__(self, clock: LoopClock) -> None:
        uids, first = counted_uids(), [UID]
        super().__init__(clock=clock.now, new_uid=lambda: str(first.pop()) if first else uids())
        self.phases: list[str] = []

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        self.phases.append(status["phase"])
        await super().patch_status(ref, uid, status, seq)


class Scene:
    """A job in a cluster, and the levels of a process that has it, or has not."""

    def __init__(self, story: Story, *, mine: bool = True) -> None:
        self.story, self.reader = story, Reader()
        clock = LoopClock(START)
        self.cluster = Written(clock)
        meta = {"name": story.name, "namespace": "demo"}
        self.cluster.objects.create({"apiVersion": API, "kind": KIND, "metadata": meta, "spec": story.spec})
        self.levels = Levels(
            Latest(self.reader),
            self.cluster,
            self._observe,
            clock,
            lambda _: mine,
            options=ControllerOptions(workers=1, jitter=random.Random(1), generators={}),
            instruments=Instruments(),
        )

    async def _observe(self, _: Observation) -> None:
        return

    def fold(self) -> Folded:
        """The next entry of the story is folded in, and announced."""
        seq = self.reader.tracked(UID).seq + 1
        folded = self.reader.accept(Record(seq, UID, seq, self.story.bodies[seq - 1]))
        assert folded is not None
        self.levels.entry(folded)
        return folded

    def pods(self) -> int:
        return len(list(self.cluster.objects.peek_all("Pod")))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The queues work, as what exists is known."""
        self.levels.cluster_listed()
        tasks = [asyncio.create_task(loop) for _, loop in self.levels.loops()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@on_simulated_time
async def test_a_job_of_this_process_gets_its_pods_and_its_status() -> None:
    scene = Scene(Story(workers(1)).submit())
    scene.fold()
    async with scene.running():
        await asyncio.sleep(5)
    assert (scene.pods(), scene.cluster.phases) == (1, ["Pending"])


@on_simulated_time
async def test_a_job_of_another_process_is_left_to_that() -> None:
    scene = Scene(Story(workers(1)).submit(), mine=False)
    scene.fold()
    async with scene.running():
        await asyncio.sleep(5)
    assert (scene.pods(), scene.cluster.phases) == (0, [])
    assert scene.levels.children.visits == 1


@on_simulated_time
async def test_what_somebody_waits_for_is_visited_at_once_and_the_rest_in_a_moment() -> None:
    scene = Scene(Story(workers(2)).submit().all_pods("Running").pod("worker-1", "Succeeded"))
    scene.fold()
    assert scene.levels.children.depth == 1, "pods are waited for"
    async with scene.running():
        await asyncio.sleep(5)
        before = scene.levels.children.visits
        for _ in range(3):
            scene.fold()
        assert scene.levels.children.depth == 0, "that a finished pod is let go is not"
        await asyncio.sleep(0.5)
        assert scene.levels.children.visits == before
        await asyncio.sleep(1)
        assert scene.levels.children.visits == before + 1


@on_simulated_time
async def test_a_report_that_changes_nothing_is_a_reason_to_look_at_the_children() -> None:
    """It may be of a child that nobody asks for: at once where that is known, in a second where others decide."""
    story = Story(workers(1)).submit()
    scene = Scene(story)
    scene.levels.silent(story.pod_seen("worker-0", "Running"))
    assert scene.levels.children.depth == 1
    late = Scene(story)
    late.levels.observed(story.pod_seen("worker-0", "Running"))
    assert late.levels.children.depth == 0
    await asyncio.sleep(1.1)
    assert late.levels.children.depth == 1
    scene.levels.silent(story.entries[0].cause)
    assert scene.levels.statuses.depth == 0


@on_simulated_time
async def test_what_somebody_waits_for_is_a_rush_from_its_entry_on() -> None:
    story = Story(workers(1)).submit()
    ours, others = Scene(story), Scene(story, mine=False)
    for scene in (ours, others):
        scene.fold()
    assert (ours.levels.rush.is_over, others.levels.rush.is_over) == (False, True)


@on_simulated_time
async def test_a_report_of_the_pod_that_the_log_has_is_followed_by_a_look_in_a_second() -> None:
    story = Story(workers(1)).submit().pod("worker-0", "Running")
    scene = Scene(story)
    for _ in story.entries:
        scene.fold()
    async with scene.running():
        await asyncio.sleep(5)
        before = scene.levels.children.visits
        scene.levels.silent(story.pod_seen("worker-0", "Running"))
        assert scene.levels.children.depth == 0
        await asyncio.sleep(1.1)
        assert scene.levels.children.visits == before + 1
        scene.levels.silent(story.pod_seen("worker-0", "Running").changed(uid="another"))
        assert scene.levels.children.depth == 1, "it has a name that is needed, and has to go"


@on_simulated_time
async def test_that_a_pod_is_gone_which_no_state_has_is_a_reason_to_look_at_the_children() -> None:
    """Its name may be free for one that is asked for."""
    story = Story(workers(1)).submit()
    gone = PodGone(job=UID, at=START, replica=ReplicaName("worker-0"), attempt=1, uid=PodUid("another"))
    scene = Scene(story)
    scene.levels.silent(gone)
    assert scene.levels.children.depth == 1
    late = Scene(story)
    late.levels.observed(gone)
    assert late.levels.children.depth == 0
    await asyncio.sleep(1.1)
    assert late.levels.children.depth == 1


@on_simulated_time
async def test_that_a_job_is_gone_is_a_reason_to_look_at_its_children_where_nobody_may_decide_it() -> None:
    """As of a job in quarantine: no entry says that its object is gone."""
    scene = Scene(Story(workers(1)).submit())
    scene.levels.observed(JobGone(job=UID, at=START))
    await asyncio.sleep(1.1)
    assert scene.levels.children.depth == 1


@on_simulated_time
async def test_who_takes_a_job_over_shows_its_latest_status_alone() -> None:
    """Its holder may have shown the others."""
    story = Story(workers(1)).submit().pod("worker-0", "Running").pause()
    phases = []
    for is_taken in (False, True):
        scene = Scene(story)
        for _ in story.entries:
            scene.fold()
        if is_taken:
            scene.levels.shared([UID])
        async with scene.running():
            await asyncio.sleep(30)
        phases.append(scene.cluster.phases)
    assert phases[0][:2] == ["Pending", "Running"]
    assert phases[1] == phases[0][-1:]
