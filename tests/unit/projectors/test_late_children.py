"""Children that are made, or looked for, while the job goes on: a write takes time, and a look may be late."""

import asyncio
from collections.abc import Collection, Sequence

from jobledger.wiring.roles import ALL
from k8s_bridge.port import Manifest
from statemachine.ids import ReplicaName
from statemachine.phases import Phase
from tests.unit.projectors.test_children import REF, World, lives

WORKER = ReplicaName("worker-0")


def test_a_pod_that_was_withdrawn_while_its_service_was_made_is_not_made() -> None:
    async def story(world: World) -> None:
        create, pods = world.cluster.create, list[str]()

        async def slow(manifest: Manifest) -> Manifest:
            if manifest["kind"] == "Service":
                world.cluster.objects.patch(REF, {"spec": {"runMode": {"pause": {"enabled": True}}}})
                await asyncio.sleep(5)
            elif manifest["kind"] == "Pod":
                pods.append(manifest["metadata"]["name"])
            return await create(manifest)

        world.cluster.create = slow  # type: ignore[method-assign]
        await world.submit()
        await asyncio.sleep(60)
        assert (world.state.phase, pods) == (Phase.PAUSED, [])
        condition = world.state.condition("Paused")
        assert condition is not None
        assert condition.status == "True", "nothing is waited for that was never made"
        world.cluster.objects.patch(REF, {"spec": {"runMode": {"pause": {"enabled": False}}}})
        await asyncio.sleep(60)
        assert (world.state.phase, len(pods)) == (Phase.RUNNING, 1)

    lives([ALL], story)


def test_a_pod_that_a_late_look_does_not_show_is_asked_for_before_it_is_said_to_be_absent() -> None:
    async def story(world: World) -> None:
        children, late = world.cluster.children, True

        async def looked(namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
            live = await children(namespace, owner, also)
            return [manifest for manifest in live if manifest["kind"] != "Pod"] if late else live

        await world.submit()
        world.close_eyes()
        await asyncio.sleep(3)
        assert (world.number("Pod"), world.state.replicas[WORKER].uid) == (1, ""), "nobody has reported it"
        world.cluster.children = looked  # type: ignore[method-assign]
        world.edit(runMode={"pause": {"enabled": True}})
        await asyncio.sleep(20)
        assert world.state.phase is Phase.PAUSED
        assert world.state.replicas[WORKER].has_pod, "it is there: only the look was late"
        late = False
        await world.open_eyes()
        assert (world.number("Pod"), world.state.replicas[WORKER].has_pod) == (0, False)

    lives([ALL], story)
