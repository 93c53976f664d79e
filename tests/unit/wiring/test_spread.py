"""The roles of a controller in processes of their own, over one log, one inbox and one cluster.

All of it on simulated time: where nothing is to happen, it has an hour to happen in.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobledger.wiring import Controller, running
from jobledger.wiring.roles import ALL, Role
from k8s_bridge.admission import admit
from k8s_bridge.attended import Attended
from k8s_bridge.nowhere import NoCluster
from k8s_bridge.observe import is_controlled
from k8s_bridge.port import EVIDENCE, Change, Cluster, Manifest, Ref
from statemachine.errors import LeaseLost
from statemachine.ids import PodUid, ReplicaName
from statemachine.log.audit import verify
from statemachine.log.inbox import MemoryInbox
from statemachine.observations import PodGone, PodObserved, PodPhase
from statemachine.phases import Phase
from tests.support.controllers import controller_of
from tests.support.logs import records
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START, Story, workers
from tests.support.simulated import LoopClock, on_simulated_time
from tests.unit.api.words import job

HOUR = 3600.0
"""Simulated seconds in which whatever is going to happen happens."""

ALONE = [frozenset({role}) for role in Role]
PAIRS = [frozenset({Role.BRIDGE, Role.PROJECTORS}), frozenset({Role.ENGINE, Role.FRONT})]
OTHER_PAIRS = [frozenset({Role.BRIDGE, Role.ENGINE}), frozenset({Role.PROJECTORS})]


class World:
    """A log, an inbox and a cluster that processes share."""

    def __init__(self) -> None:
        self.log, self.inbox = MemoryLog(), MemoryInbox()
        self.clock = LoopClock(START)
        self.cluster = MemoryCluster(clock=self.clock.now, admit=admit)

    def controller(self, roles: frozenset[Role], **more: Any) -> Controller:
        cluster: Cluster = NoCluster() if roles == {Role.ENGINE} else self.cluster
        return controller_of(self.log, cluster, self.clock, roles=roles, inbox=self.inbox, **more)

    async def create(self, name: str, **spec: Any) -> Manifest:
        wanted = job(name, **spec)
        wanted["metadata"]["namespace"] = "default"
        return await self.cluster.create(wanted)

    def pods(self) -> list[Manifest]:
        return list(self.cluster.objects.peek_all("Pod"))


@asynccontextmanager
async def processes(world: World, *roles: frozenset[Role]) -> AsyncIterator[list[Controller]]:
    """A controller for each of `roles`, all running."""
    made = [world.controller(role) for role in roles]
    tasks = [asyncio.create_task(controller.run()) for controller in made]
    try:
        yield made
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await world.cluster.close()
    for task in tasks:
        assert task.cancelled() or task.exception() is None, task


async def until(claim: Callable[[], bool | Awaitable[bool]]) -> None:
    async with asyncio.timeout(HOUR):
        while True:
            outcome = claim()
            if outcome is True or (not isinstance(outcome, bool) and await outcome):
                return
            await asyncio.sleep(0.01)


def phase_of(controller: Controller, uid: str) -> Phase | None:
    state = controller.states.state(uid)  # type: ignore[arg-type]
    return state.phase if state else None


@pytest.mark.parametrize("roles", [ALONE, PAIRS, OTHER_PAIRS], ids=["alone", "pairs", "other pairs"])
@on_simulated_time
async def test_a_job_goes_its_way_through_processes_that_share_only_the_log(
    roles: list[frozenset[Role]],
) -> None:
    world = World()
    async with processes(world, *roles) as made:
        stored = await world.create("train", replicas=2, run_seconds="0.2")
        uid = stored["metadata"]["uid"]
        await until(lambda: all(phase_of(controller, uid) is Phase.SUCCEEDED for controller in made))

        async def shown() -> bool:
            manifest = await world.cluster.get(Ref.of(stored))
            return bool(manifest.get("status", {}).get("phase") == "Succeeded")

        await until(shown)
    written = await records(world.log)
    assert verify(written) == []
    assert await world.inbox.waiting() == 0


@on_simulated_time
async def test_a_pod_that_nobody_asked_for_is_deleted_by_projectors_that_do_not_decide() -> None:
    world = World()
    async with processes(world, frozenset({Role.BRIDGE, Role.ENGINE}), frozenset({Role.PROJECTORS})):
        await world.create("train")
        await until(
            lambda: bool(world.pods()) and world.pods()[0].get("status", {}).get("phase") == "Running"
        )
        await asyncio.sleep(HOUR)  # whatever its start had to be followed by has been done
        extra = {
            **world.pods()[0],
            "metadata": {**world.pods()[0]["metadata"], "name": "train-extra-worker-7"},
        }
        extra["metadata"]["labels"] = {**extra["metadata"]["labels"], "replica-index": "7"}
        for key in ("uid", "resourceVersion", "creationTimestamp", "finalizers"):
            extra["metadata"].pop(key, None)
        await world.cluster.create(extra)
        assert len(world.pods()) == 2
        await until(lambda: len(world.pods()) == 1)
        assert world.pods()[0]["metadata"]["name"] != "train-extra-worker-7"


@on_simulated_time
async def test_what_is_put_into_the_inbox_of_a_process_of_all_roles_is_decided_while_it_runs() -> None:
    world = World()
    observation = Story(workers(1), uid="job-put").submit().entries[0].cause
    controller = world.controller(ALL)
    async with running(controller):
        await world.inbox.put([observation])
        await until(lambda: observation.job in controller.reader)
        assert await world.inbox.waiting() == 0
        assert "inbox" in controller.pulses()


@on_simulated_time
async def test_what_was_left_in_the_inbox_is_decided_by_a_process_of_all_roles() -> None:
    world = World()
    stored = await world.create("train")
    async with running(world.controller(frozenset({Role.BRIDGE}))):
        await until(lambda: world.inbox._posts != [])
    assert await records(world.log) == []
    controller = world.controller(ALL)
    async with running(controller):
        assert phase_of(controller, stored["metadata"]["uid"]) is not None
    assert await world.inbox.waiting() == 0
    await world.cluster.close()


@on_simulated_time
async def test_what_was_left_in_the_inbox_is_decided_before_anything_else_begins() -> None:
    world = World()
    observation = Story(workers(1), uid="job-put").submit().entries[0].cause
    await world.inbox.put([observation])
    controller = world.controller(ALL)
    at_start: list[bool] = []
    task = asyncio.create_task(controller.run(lambda: at_start.append(observation.job in controller.reader)))
    await until(lambda: bool(at_start))
    assert at_start == [True]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@on_simulated_time
async def test_nothing_is_written_before_the_cluster_has_been_listed() -> None:
    """A visit that took an incomplete list for what exists would make everything twice."""
    world = World()
    listed = asyncio.Event()

    class Slow(MemoryCluster):
        def watch(self) -> Any:
            inner = super().watch()

            async def items() -> AsyncIterator[Any]:
                await listed.wait()
                async for item in inner:
                    yield item

            return items()

    world.cluster = Slow(clock=world.clock.now, admit=admit)
    stored = await world.create("train")
    async with running(world.controller(ALL)) as _:
        pass  # the job is in the log now, or not
    first = world.controller(ALL)
    async with running(first):
        await first.engine.source.observe(await _observed(stored))
        await until(lambda: phase_of(first, stored["metadata"]["uid"]) is Phase.PENDING)
        await asyncio.sleep(HOUR)
        assert world.pods() == []
        listed.set()
        await until(lambda: len(world.pods()) == 1)
    await world.cluster.close()


async def _observed(stored: Manifest) -> Any:
    from k8s_bridge.observe import observe
    from k8s_bridge.port import Change, Verb

    return next(iter(observe(Change(Verb.ADDED, stored, START))))


@on_simulated_time
async def test_jobs_of_other_namespaces_are_left_as_they_are() -> None:
    """A controller that is limited later sees their pods no more, and must not take them for gone."""
    world = World()
    stored = await world.create("train")
    async with running(world.controller(ALL)):
        await until(lambda: len(world.pods()) == 1)
    before = len(await records(world.log))

    class Elsewhere(MemoryCluster):
        """Nothing is seen of what there is in `default`."""

    limited = controller_of(
        world.log, Elsewhere(), world.clock, roles=ALL, inbox=world.inbox, attended=Attended(("team",))
    )
    async with running(limited):
        await until(lambda: limited.bridge is not None and limited.bridge.progress.synced)
        await asyncio.sleep(HOUR)
        assert limited.states.state(stored["metadata"]["uid"]) is None
    assert len(await records(world.log)) == before
    await world.cluster.close()


@on_simulated_time
async def test_a_bridge_watches_only_in_its_turn_and_anew_in_the_next() -> None:
    world = World()
    turns: asyncio.Queue[str] = asyncio.Queue()
    over = asyncio.Event()

    @asynccontextmanager
    async def turn() -> AsyncIterator[None]:
        await turns.get()
        task = asyncio.current_task()
        assert task is not None
        ending = asyncio.get_running_loop().create_task(over.wait())
        ending.add_done_callback(lambda _: task.cancel())
        try:
            yield
        except asyncio.CancelledError:
            if not over.is_set():
                raise
            over.clear()
            task.uncancel()
            raise LeaseLost("another has it") from None
        finally:
            ending.cancel()

    stored = await world.create("train")
    bridge = world.controller(frozenset({Role.BRIDGE}), turn=turn)
    async with running(bridge):
        await asyncio.sleep(HOUR)
        assert (bridge.bridge, world.inbox._posts, bridge.leads) == (None, [], False)
        turns.put_nowait("now")
        await until(lambda: len(world.inbox._posts) == 1)
        first = bridge.bridge
        over.set()
        await until(lambda: bridge.bridge is None)
        turns.put_nowait("again")
        await until(lambda: len(world.inbox._posts) == 2)  # it remembers nothing of what it has reported
        assert bridge.bridge is not first
        assert {post.job for post in world.inbox._posts} == {stored["metadata"]["uid"]}
    await world.cluster.close()


@on_simulated_time
async def test_a_late_report_of_a_pod_that_has_gone_is_contradicted() -> None:
    world = World()
    stored = await world.create("train")
    uid = stored["metadata"]["uid"]
    controller = world.controller(frozenset({Role.BRIDGE, Role.ENGINE}))
    async with running(controller):
        await until(lambda: bool(_replica(controller, uid)))
        now = world.clock.now()
        ghost = PodObserved(
            job=uid,
            at=now,
            replica=ReplicaName("worker-0"),
            attempt=1,
            pod="x",
            uid=PodUid("ghost"),
            phase=PodPhase.RUNNING,
        )
        await controller.engine.source.observe(ghost)
        await until(lambda: _replica(controller, uid).uid == "ghost")
        await until(lambda: _replica(controller, uid).uid != "ghost")
    assert [cause.uid for cause in await _causes(world) if isinstance(cause, PodGone)] == ["ghost"]
    await world.cluster.close()


@on_simulated_time
async def test_what_a_watch_has_missed_and_exists_is_not_taken_for_gone() -> None:
    world = World()
    await world.create("train")
    controller = world.controller(ALL)
    async with running(controller):
        await until(lambda: len(world.pods()) == 1)
        pod = world.pods()[0]["metadata"]["uid"]
        assert controller.bridge is not None
        bridge = controller.bridge
        await until(lambda: pod in bridge._tracks)
        await asyncio.sleep(HOUR)
        del bridge._tracks[pod]
        await asyncio.sleep(HOUR)
    assert not [cause for cause in await _causes(world) if isinstance(cause, PodGone)]
    await world.cluster.close()


@on_simulated_time
async def test_the_end_of_a_pod_that_only_the_log_can_place_is_observed() -> None:
    """Its labels were edited before the log had it, and a bridge that began meanwhile takes it for nobody's."""
    world = World()
    uid = (await world.create("train"))["metadata"]["uid"]
    controller = world.controller(ALL, silence=HOUR)
    async with running(controller):
        await until(lambda: phase_of(controller, uid) is Phase.RUNNING)
        (pod,), bridge = world.pods(), controller.bridge
        assert bridge is not None
        del bridge._tracks[pod["metadata"]["uid"]]
        world.cluster.objects.patch(Ref.of(pod), {"metadata": {"labels": {"replica-index": "7"}}})
        world.cluster.end_pod("default", pod["metadata"]["name"])
        await until(lambda: phase_of(controller, uid) is Phase.SUCCEEDED)
    assert not [cause for cause in await _causes(world) if isinstance(cause, PodGone)]
    await world.cluster.close()


@on_simulated_time
async def test_a_pod_without_a_controller_that_the_log_has_yet_to_get_keeps_its_finalizer() -> None:
    """The bridge is away, so no report of it comes; the projector takes it back, which takes some time."""
    world = World()
    stored = await world.create("train")
    held: list[bool] = []
    async with processes(world, frozenset({Role.ENGINE}), frozenset({Role.PROJECTORS})) as (engine, _):
        await engine.engine.source.observe(await _observed(stored))
        await until(lambda: len(world.pods()) == 1)
        (pod,) = world.pods()

        def changed(change: Change) -> None:
            if change.object["kind"] == "Pod":
                held.append(EVIDENCE in change.object["metadata"].get("finalizers", ()))

        world.cluster.objects.subscribe(changed)
        world.cluster.objects.patch(Ref.of(pod), {"metadata": {"ownerReferences": None}})
        await until(lambda: is_controlled(world.pods()[0]))
        await asyncio.sleep(60)
        assert [now["metadata"]["uid"] for now in world.pods()] == [pod["metadata"]["uid"]]
    assert held
    assert all(held)


def _replica(controller: Controller, uid: Any) -> Any:
    state = controller.states.state(uid)
    return next(iter(state.replicas.values()), None) if state else None


async def _causes(world: World) -> list[Any]:
    from statemachine.log.codec import decode

    return [decode(record.body).cause for record in await records(world.log)]


@on_simulated_time
async def test_a_controller_that_is_stopped_finishes_what_is_in_hand_and_takes_up_nothing_new() -> None:
    world = World()
    controller = world.controller(ALL)
    writing, go_on = asyncio.Event(), asyncio.Event()
    create = world.cluster.create

    async def slow(manifest: Manifest) -> Manifest:
        if manifest["kind"] == "Pod":
            writing.set()
            await go_on.wait()
        return await create(manifest)

    world.cluster.create = slow  # type: ignore[method-assign]
    async with running(controller):
        await create({**job("train", replicas=1), "metadata": {"name": "train", "namespace": "default"}})
        await writing.wait()
        stopping = asyncio.create_task(controller.stop())
        await asyncio.sleep(HOUR)
        assert not stopping.done()
        await create({**job("late"), "metadata": {"name": "late", "namespace": "default"}})
        go_on.set()
        await asyncio.wait_for(stopping, HOUR)
        assert len(world.pods()) == 1
    assert {record.job for record in await records(world.log)} == {
        object_["metadata"]["uid"]
        for object_ in world.cluster.objects.peek_all("PyTorchTrainingJob")
        if object_["metadata"]["name"] == "train"
    }
    assert not [cause for cause in await _causes(world) if isinstance(cause, PodObserved)]
    await world.cluster.close()
