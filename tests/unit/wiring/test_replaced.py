"""How much work a replica that failed makes for its controller: every visit compares all children of the job."""

import asyncio
from typing import Any, Final

from jobledger.wiring.roles import ALL
from k8s_bridge.port import Change, Manifest, Ref, Verb
from tests.support.simulated import on_simulated_time
from tests.unit.wiring.test_spread import HOUR, World, processes, until

_REPLICAS: Final = 20


def _run(pods: list[Manifest]) -> bool:
    return len(pods) == _REPLICAS and all(pod["status"].get("phase") == "Running" for pod in pods)


@on_simulated_time
async def test_a_replica_is_replaced_by_two_visits_and_looked_at_by_one_more() -> None:
    """One visit releases the old pod, and one makes the other: no report between them is a reason for another one."""
    world = World()
    async with processes(world, ALL) as (controller,):
        assert controller.projectors is not None
        children: Any = controller.projectors.levels.children
        await world.create("train", replicas=_REPLICAS)
        await until(lambda: _run(world.pods()))
        await asyncio.sleep(HOUR)
        before, in_time = children.visits, []
        old = world.pods()[7]["metadata"]

        def noted(change: Change) -> None:
            if change.verb is Verb.ADDED and change.object["metadata"]["name"] == old["name"]:
                in_time.append(children.visits - before)

        world.cluster.objects.subscribe(noted)
        world.cluster.end_pod("default", old["name"], 137)
        await until(lambda: bool(in_time) and _run(world.pods()))
        await asyncio.sleep(HOUR)
        assert (in_time, children.visits - before) == ([2], 3)


@on_simulated_time
async def test_pods_of_a_pause_are_released_as_soon_as_their_ends_are_known() -> None:
    """Their release is waited for: it is no part of what has time."""
    world = World()
    async with processes(world, ALL):
        job = await world.create("train", replicas=_REPLICAS)
        await until(lambda: _run(world.pods()))
        await asyncio.sleep(HOUR)
        begun = world.clock.now()
        merge = {"spec": {"runMode": {"pause": {"enabled": True}}}}
        await world.cluster.patch(Ref.of(job), merge)
        await until(lambda: not world.pods())
        assert (world.clock.now() - begun).total_seconds() < 0.5
