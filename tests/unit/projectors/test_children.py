"""Children that came and went while nobody looked: a whole controller over a cluster in memory, on simulated time."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from jobledger.wiring.roles import ALL, Role
from k8s_bridge.admission import admit
from k8s_bridge.port import Change, Manifest, Ref
from statemachine.desired import desired
from statemachine.errors import Refused
from statemachine.ids import JobUid, ReplicaName
from statemachine.log.inbox import MemoryInbox
from statemachine.phases import Phase
from statemachine.state import JobState
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.simulated import LoopClock, run_simulated
from tests.unit.api.words import job

REF: Final = Ref("batch.tensorstack.dev/v1beta1", "PyTorchTrainingJob", "demo", "train")

Processes = list[frozenset[Role]]

by_processes = pytest.mark.parametrize(
    "processes",
    [[ALL], [frozenset({Role.BRIDGE, Role.ENGINE}), frozenset({Role.PROJECTORS})]],
    ids=["together", "apart"],
)


class World:
    """A job called `train` in a cluster whose watches can be made to tell nothing."""

    def __init__(self, processes: Processes) -> None:
        clock = LoopClock(datetime(2024, 1, 9, 15, tzinfo=UTC))
        self.cluster = MemoryCluster(admit=admit, clock=clock.now)
        self.log, inbox = MemoryLog(), MemoryInbox()
        self.controllers = [
            controller_of(self.log, self.cluster, clock, roles=process, inbox=inbox) for process in processes
        ]

    async def submit(self, workers: int = 1) -> None:
        """The job is there, and the watches have reported it."""
        wish = job(REF.name)
        wish["metadata"]["namespace"] = REF.namespace
        wish["spec"]["replicaSpecs"][0]["replicas"] = workers
        await self.cluster.create(wish)
        await asyncio.sleep(0)

    async def entries(self) -> int:
        """How many entries the log has."""
        return sum([len(batch) async for batch in self.log.scan()])

    def close_eyes(self) -> None:
        """The watches are as open as ever, and bring nothing."""
        self.cluster.disturbance = lambda _: ()

    async def open_eyes(self) -> None:
        """The watches begin anew, and whatever follows from what they tell is done."""
        self.cluster.disturbance = None
        self.cluster.drop_watches()
        await asyncio.sleep(30)

    def edit(self, **spec: Any) -> None:
        """A user has a wish, of which the controller learns before all else."""
        self.cluster.disturbance = None
        self.cluster.objects.patch(REF, {"spec": spec})
        self.close_eyes()

    def remove(self, kind: str) -> None:
        """The only object of a kind is gone at once, whatever held it."""
        (manifest,) = self.cluster.objects.peek_all(kind)
        if kind == "Pod":
            self.cluster.delete_pod(REF.namespace, manifest["metadata"]["name"], force=True)
        else:
            self.cluster.objects.delete(Ref.of(manifest))

    async def begins_to_go(self, kind: str) -> None:
        """Somebody deletes the only object of a kind, which does not go at once."""
        begun = asyncio.Event()

        def look(change: Change) -> None:
            if change.object["kind"] == kind and "deletionTimestamp" in change.object["metadata"]:
                begun.set()

        self.cluster.objects.subscribe(look)
        await begun.wait()

    def number(self, kind: str) -> int:
        """How many objects of a kind there are."""
        return len(list(self.cluster.objects.peek_all(kind)))

    @property
    def state(self) -> JobState:
        """The job as the log has it."""
        manifest = self.cluster.objects.peek(REF)
        assert manifest is not None
        state = self.controllers[0].states.state(JobUid(manifest["metadata"]["uid"]))
        assert state is not None
        return state


def lives(processes: Processes, story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """The story of a world, on simulated time."""

    async def whole() -> None:
        world = World(processes)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(controller.run()) for controller in world.controllers]
            await asyncio.sleep(1)
            try:
                await story(world)
            finally:
                for task in running:
                    task.cancel()

    run_simulated(whole(), seed=1)


@by_processes
def test_a_pod_that_vanished_before_any_watch_showed_it_is_made_again(processes: Processes) -> None:
    async def story(world: World) -> None:
        await world.submit()
        world.close_eyes()
        await asyncio.sleep(3)
        world.remove("Pod")
        await world.open_eyes()
        assert (world.number("Pod"), world.state.phase) == (1, Phase.RUNNING)
        assert world.state.replicas[ReplicaName("worker-0")].attempt == 2, "no attempt has two pods"

    lives(processes, story)


@by_processes
def test_a_deletion_that_is_refused_again_and_again_is_said_once_and_tried_later_and_later(
    processes: Processes,
) -> None:
    async def story(world: World) -> None:
        await world.submit()
        await asyncio.sleep(3)
        refused = Refused(403, "Forbidden", "pods may not be deleted here")
        world.cluster.faults.fail_next(refused, times=15, verbs=("delete",), kinds=("Pod",))
        before = await world.entries()
        world.cluster.objects.patch(REF, {"spec": {"runMode": {"pause": {"enabled": True}}}})
        await asyncio.sleep(60)
        assert world.number("Pod") == 1
        assert await world.entries() - before == 2, "the pause, and that its deletion is refused"
        await asyncio.sleep(300)
        assert (world.number("Pod"), world.state.refused) == (0, ())
        condition = world.state.condition("Paused")
        assert condition is not None
        assert condition.status == "True"

    lives(processes, story)


def test_what_is_refused_is_asked_for_one_by_one_until_it_is_accepted_again() -> None:
    """A quota that is full would be asked for all of them at each try."""

    async def story(world: World) -> None:
        create, tries = world.cluster.create, Counter[float]()

        async def counted(manifest: Manifest) -> Manifest:
            if manifest["kind"] == "Pod":
                tries[asyncio.get_running_loop().time()] += 1
            return await create(manifest)

        world.cluster.create = counted  # type: ignore[method-assign]
        world.cluster.faults.fail_next(
            Refused(403, "Forbidden", "quota"), times=10, verbs=("create",), kinds=("Pod",)
        )
        await world.submit(workers=11)
        await asyncio.sleep(60)
        assert world.number("Pod") == 11
        together = list(tries.values())
        assert together[:3] == [8, 1, 1], "eight at first, then one a try"
        assert sum(together) == 21

    lives([ALL], story)


def test_a_pod_whose_name_is_taken_holds_no_other_back() -> None:
    """The quota that was full before says nothing of names: the other pods are not asked for behind that one."""

    async def story(world: World) -> None:
        world.cluster.faults.fail_next(
            Refused(403, "Forbidden", "quota"), times=6, verbs=("create",), kinds=("Pod",)
        )
        await world.submit(workers=3)
        await asyncio.sleep(1)
        first = next(child for child in desired(world.state) if child.kind == "Pod").build()
        world.cluster.objects.create(
            {**first, "metadata": {"name": first["metadata"]["name"], "namespace": "demo"}}
        )
        await asyncio.sleep(60)
        assert world.number("Pod") == 3

    lives([ALL], story)


@by_processes
def test_a_dismissed_pod_that_vanished_before_any_watch_showed_it_is_not_waited_for(
    processes: Processes,
) -> None:
    async def story(world: World) -> None:
        await world.submit()
        world.close_eyes()
        await asyncio.sleep(3)
        world.edit(runMode={"pause": {"enabled": True}})
        await world.begins_to_go("Pod")
        world.remove("Pod")
        await world.open_eyes()
        assert [replica.has_pod for replica in world.state.replicas.values()] == [False]
        await asyncio.sleep(1)
        world.cluster.objects.patch(REF, {"spec": {"runMode": {"pause": {"enabled": False}}}})
        await asyncio.sleep(30)
        assert (world.number("Pod"), world.state.phase) == (1, Phase.RUNNING)

    lives(processes, story)


@by_processes
def test_a_tensorboard_that_vanished_before_any_watch_showed_it_is_made_again(processes: Processes) -> None:
    async def story(world: World) -> None:
        await world.submit()
        await asyncio.sleep(30)
        world.edit(tensorboardSpec={"image": "tensorboard"})
        await asyncio.sleep(3)
        world.remove("TensorBoard")
        await world.open_eyes()
        assert world.number("TensorBoard") == 1

    lives(processes, story)


@pytest.mark.parametrize(
    ("wish", "phase"),
    [
        ({}, Phase.RUNNING),
        ({"runMode": {"pause": {"enabled": True}}}, Phase.PAUSED),
        ({"runPolicy": {"activeDeadlineSeconds": 40}}, Phase.FAILED),
    ],
)
def test_a_job_of_whose_children_everything_is_known_is_left_alone(
    wish: dict[str, Any], phase: Phase
) -> None:
    async def story(world: World) -> None:
        await world.submit()
        await asyncio.sleep(30)
        world.cluster.objects.patch(REF, {"spec": {**wish, "tensorboardSpec": {"image": "tensorboard"}}})
        await asyncio.sleep(90)
        children = world.controllers[0].queues["children"]
        before = children.visits
        await asyncio.sleep(3600)
        assert (children.visits, world.state.phase) == (before, phase)

    lives([ALL], story)
