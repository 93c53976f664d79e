"""A log that was lost or restored, and pods whose owner somebody took away: whole controllers, on simulated time."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from jobledger.wiring import Controller
from k8s_bridge.admission import admit
from k8s_bridge.port import EVIDENCE, Manifest, Ref
from statemachine.ids import ATTEMPT, JobUid
from statemachine.log.inbox import MemoryInbox
from statemachine.log.port import EntryDraft
from statemachine.phases import Phase
from statemachine.state import JobState
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.simulated import LoopClock, run_simulated
from tests.unit.api.words import job

REF: Final = Ref("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob", "demo", "train")


class World:
    """A cluster with a job called `train`, and controllers that come and go."""

    def __init__(self) -> None:
        self.clock = LoopClock(datetime(2024, 1, 9, 15, tzinfo=UTC))
        self.cluster = MemoryCluster(admit=admit, clock=self.clock.now)
        self.log = MemoryLog()
        self.controller: Controller | None = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """A controller runs, with the log as it is."""
        self.controller = controller_of(self.log, self.cluster, self.clock, inbox=MemoryInbox())
        self._running = asyncio.create_task(self.controller.run())
        await asyncio.sleep(15)

    async def stop(self) -> None:
        """The controller is killed."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def begin(self, **spec: Any) -> None:
        """A controller runs, and the job's pod does."""
        wish = job(REF.name)
        wish["metadata"]["namespace"] = REF.namespace
        wish["spec"] |= spec
        await self.cluster.create(wish)
        await self.start()

    async def forget(self) -> None:
        """The controller is killed, its log is lost, and another one is started."""
        await self.stop()
        self.log = MemoryLog()
        await self.start()

    @property
    def pods(self) -> list[Manifest]:
        """Those that exist."""
        return list(self.cluster.objects.peek_all("Pod"))

    @property
    def uids(self) -> list[str]:
        """Of the pods."""
        return [pod["metadata"]["uid"] for pod in self.pods]

    def status(self) -> dict[str, Any]:
        """Of the job object."""
        manifest = self.cluster.objects.peek(REF)
        assert manifest is not None
        status: dict[str, Any] = manifest["status"]
        return status

    @property
    def state(self) -> JobState:
        """The job as the log has it."""
        manifest = self.cluster.objects.peek(REF)
        assert manifest is not None
        assert self.controller is not None
        state = self.controller.states.state(JobUid(manifest["metadata"]["uid"]))
        assert state is not None
        return state

    def strip(self, pod: Manifest) -> None:
        """Somebody takes the pod's owner references away."""
        self.cluster.objects.patch(Ref.of(pod), {"metadata": {"ownerReferences": None}})


def lives(story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """The story of a world, on simulated time."""

    async def whole() -> None:
        world = World()
        try:
            await story(world)
        finally:
            await world.stop()

    run_simulated(whole(), seed=1)


def test_a_running_job_whose_log_was_lost_keeps_its_pod() -> None:
    async def story(world: World) -> None:
        await world.begin()
        uids, status = world.uids, world.status()
        assert len(uids) == 1
        await world.forget()
        assert world.uids == uids
        assert world.status() == status
        assert world.state.phase is Phase.RUNNING

    lives(story)


def test_a_restarted_job_whose_log_was_lost_keeps_its_pod_and_its_count() -> None:
    async def story(world: World) -> None:
        await world.begin()
        [pod] = world.pods
        world.cluster.end_pod(REF.namespace, pod["metadata"]["name"], exit_code=137)
        await asyncio.sleep(15)
        uids = world.uids
        assert [pod["metadata"]["annotations"][ATTEMPT] for pod in world.pods] == ["2"]
        await world.forget()
        assert world.uids == uids
        assert (world.state.phase, world.state.spent) == (Phase.RUNNING, 1)

    lives(story)


@pytest.mark.parametrize("policy", ["None", "All"])
def test_a_job_that_has_ended_is_not_run_again_and_holds_nothing_up(policy: str) -> None:
    async def story(world: World) -> None:
        await world.begin(runPolicy={"cleanUpPolicy": policy})
        [pod] = world.pods
        world.cluster.end_pod(REF.namespace, pod["metadata"]["name"])
        await asyncio.sleep(15)
        status = world.status()
        assert status["phase"] == "Succeeded"
        await world.forget()
        assert world.status()["conditions"] == status["conditions"]
        assert (len(world.pods), world.state.phase) == (0 if policy == "All" else 1, Phase.SUCCEEDED)
        world.cluster.objects.delete(REF)
        await asyncio.sleep(60)
        assert world.pods == []

    lives(story)


def test_a_log_that_was_restored_goes_on_with_the_pods_that_there_are() -> None:
    async def story(world: World) -> None:
        await world.begin()
        await world.stop()
        old = [record async for batch in world.log.scan() for record in batch]
        await world.start()
        [pod] = world.pods
        world.cluster.end_pod(REF.namespace, pod["metadata"]["name"], exit_code=137)
        await asyncio.sleep(15)
        uids = world.uids
        await world.stop()
        world.log = MemoryLog()
        for past in old:
            await world.log.append([EntryDraft(past.job, past.seq, past.body)])
        await world.start()
        assert world.uids == uids
        assert world.state.phase is Phase.RUNNING

    lives(story)


def test_a_pod_whose_owner_was_taken_away_is_taken_back() -> None:
    async def story(world: World) -> None:
        await world.begin()
        [pod] = world.pods
        world.strip(pod)
        await asyncio.sleep(5)
        [manifest] = world.pods
        assert manifest["metadata"]["uid"] == pod["metadata"]["uid"]
        assert manifest["metadata"]["ownerReferences"] == pod["metadata"]["ownerReferences"]
        assert EVIDENCE in manifest["metadata"]["finalizers"]
        assert world.state.phase is Phase.RUNNING

    lives(story)


def test_a_pod_whose_owner_was_taken_away_while_nobody_looked_is_taken_back() -> None:
    async def story(world: World) -> None:
        await world.begin()
        await world.stop()
        [pod] = world.pods
        world.strip(pod)
        await world.start()
        [manifest] = world.pods
        assert manifest["metadata"]["uid"] == pod["metadata"]["uid"]
        assert manifest["metadata"]["ownerReferences"] == pod["metadata"]["ownerReferences"]

    lives(story)


@pytest.mark.parametrize("shown", [True, False])
def test_a_pod_that_lost_owner_and_labels_is_its_job_s_again_with_both(shown: bool) -> None:
    """Before a report of it as well: what made it knows its uid."""

    async def story(world: World) -> None:
        if not shown:
            world.cluster.disturbance = lambda change: () if change.object["kind"] == "Pod" else (0.0,)
        await world.begin()
        [pod] = world.pods
        world.strip(pod)
        world.cluster.objects.patch(Ref.of(pod), {"metadata": {"labels": None}})
        await asyncio.sleep(25)
        [manifest] = world.pods
        assert manifest["metadata"]["uid"] == pod["metadata"]["uid"]
        assert manifest["metadata"]["labels"] == pod["metadata"]["labels"]
        assert manifest["metadata"]["ownerReferences"] == pod["metadata"]["ownerReferences"]

    lives(story)


def test_a_pod_without_owner_whose_job_is_unknown_to_the_log_is_taken_back_as_the_attempt_that_it_is() -> (
    None
):
    async def story(world: World) -> None:
        await world.begin()
        await world.stop()
        [pod] = world.pods
        world.strip(pod)
        world.log = MemoryLog()
        await world.start()
        assert world.uids == [pod["metadata"]["uid"]]
        assert world.state.phase is Phase.RUNNING

    lives(story)


def test_somebody_elses_pod_of_the_name_is_left_alone_and_said_to_be_in_the_way() -> None:
    async def story(world: World) -> None:
        await world.begin()
        [pod] = world.pods
        other = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
        world.cluster.objects.patch(
            Ref.of(pod), {"metadata": {"ownerReferences": [other], "finalizers": None}}
        )
        await asyncio.sleep(30)
        assert world.pods[0]["metadata"]["ownerReferences"] == [other]
        [condition] = [
            condition for condition in world.status()["conditions"] if condition["type"] == "Initialized"
        ]
        assert condition["reason"] == "NameConflict"

    lives(story)


def test_pods_that_outlive_their_job_are_left_and_the_job_is_closed() -> None:
    """`kubectl delete --cascade=orphan`: the object waits until its pods have no owner."""

    async def story(world: World) -> None:
        await world.begin()
        [pod], uid = world.pods, world.state.uid
        world.cluster.objects.patch(REF, {"metadata": {"finalizers": ["orphan"]}})
        world.cluster.objects.delete(REF)
        await asyncio.sleep(5)
        world.strip(pod)
        await asyncio.sleep(5)
        assert "ownerReferences" not in world.pods[0]["metadata"], "it is not taken back"
        world.cluster.objects.patch(REF, {"metadata": {"finalizers": None}})
        await asyncio.sleep(60)
        [left] = world.pods
        assert left["metadata"]["uid"] == pod["metadata"]["uid"]
        assert "deletionTimestamp" not in left["metadata"]
        assert not left["metadata"].get("finalizers")
        assert world.controller is not None
        state = world.controller.states.state(uid)
        assert state is None or state.closed

    lives(story)


def test_a_job_that_somebodys_finalizer_holds_keeps_its_pods_until_it_is_gone() -> None:
    async def story(world: World) -> None:
        await world.begin()
        uids = world.uids
        world.cluster.objects.patch(REF, {"metadata": {"finalizers": ["example.com/wait"]}})
        world.cluster.objects.delete(REF)
        await asyncio.sleep(60)
        assert world.uids == uids
        assert world.state.terminating
        world.cluster.delete_pod(REF.namespace, world.pods[0]["metadata"]["name"])
        await asyncio.sleep(60)
        assert world.pods == [], "nothing new is made"
        world.cluster.objects.patch(REF, {"metadata": {"finalizers": None}})
        await asyncio.sleep(10)
        assert world.cluster.objects.peek(REF) is None

    lives(story)


def test_a_pod_that_lost_its_owner_before_any_watch_showed_it_is_taken_back_in_its_attempt() -> None:
    async def story(world: World) -> None:
        world.cluster.disturbance = lambda change: () if change.object["kind"] == "Pod" else (0.0,)
        await world.begin()
        [pod] = world.pods
        world.strip(pod)
        await asyncio.sleep(25)
        world.cluster.disturbance = None
        world.cluster.drop_watches()
        await asyncio.sleep(60)
        [there] = world.pods
        assert there["metadata"]["uid"] == pod["metadata"]["uid"]
        assert there["metadata"]["ownerReferences"]
        assert [(replica.uid, replica.attempt) for replica in world.state.replicas.values()] == [
            (pod["metadata"]["uid"], 1)
        ]

    lives(story)


@pytest.mark.parametrize("index", ["1", None])
def test_a_pod_whose_labels_were_edited_before_the_log_had_it_goes_on_as_the_replica_of_its_name(
    index: str | None,
) -> None:
    async def story(world: World) -> None:
        await world.begin()
        await world.stop()
        [pod] = world.pods
        world.cluster.objects.patch(Ref.of(pod), {"metadata": {"labels": {"replica-index": index}}})
        world.log = MemoryLog()
        await world.start()
        [there] = world.pods
        assert there["metadata"]["uid"] == pod["metadata"]["uid"]
        assert there["metadata"]["labels"] == pod["metadata"]["labels"]
        assert world.state.phase is Phase.RUNNING

    lives(story)
