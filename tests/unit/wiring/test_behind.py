"""A bridge in a process of its own whose log is behind the engine's, and users who edit labels of pods meanwhile."""

import asyncio

import pytest

from jobledger.wiring.roles import Role
from k8s_bridge.port import Change, Ref, Verb
from statemachine.ids import JobUid
from tests.support.controllers import controller_of
from tests.support.memory_log import MemoryLog
from tests.support.simulated import on_simulated_time
from tests.unit.wiring.test_spread import HOUR, World, processes, until

_REPLICAS = 2


@pytest.mark.parametrize("label", ["replica-index", "replica-type"])
@on_simulated_time
async def test_a_pod_that_was_relabelled_while_the_bridge_s_log_was_behind_is_taken_for_its_own_replica(
    label: str,
) -> None:
    world, uids = World(), dict[str, str]()
    bridge = controller_of(
        MemoryLog(), world.cluster, world.clock, roles=frozenset({Role.BRIDGE}), inbox=world.inbox
    )

    def edited(change: Change) -> None:
        meta = change.object["metadata"]
        if change.object["kind"] != "Pod" or change.verb is not Verb.ADDED:
            return
        uids[meta["name"]] = meta["uid"]
        if len(uids) == 1:  # another label of this pod is the first that the next list shows
            asyncio.get_running_loop().call_soon(edit, Ref.of(change.object))
            world.cluster.drop_watches()

    def edit(ref: Ref) -> None:
        index = world.cluster.objects.get(ref)["metadata"]["labels"]["replica-index"]
        value = str(1 - int(index)) if label == "replica-index" else "another"
        world.cluster.objects.patch(ref, {"metadata": {"labels": {label: value}}})

    world.cluster.objects.subscribe(edited)
    async with processes(world, frozenset({Role.ENGINE, Role.PROJECTORS})) as (other,):
        task = asyncio.create_task(bridge.run())
        job = (await world.create("train", replicas=_REPLICAS))["metadata"]["uid"]
        await until(lambda: len(uids) == _REPLICAS and set(other.states.pods()) == set(uids.values()))
        await asyncio.sleep(HOUR)
        assert JobUid(job) not in bridge.reader
        state = other.states.state(job)
        assert state is not None
        for replica in state.replicas.values():
            assert uids[other.states.pod_name(job, replica.name)] == replica.uid
            assert replica.attempt == 1
        task.cancel()
        await asyncio.wait([task])
