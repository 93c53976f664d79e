"""Projectors of an older release beside an engine of a newer one: events that they do not know.

The other order, projectors first, is every upgrade's: they read what older engines have written.
"""

import asyncio
from copy import deepcopy

import pytest

from jobledger.wiring.roles import Role
from k8s_bridge.port import Manifest, Ref
from statemachine.log.codec import entry_hash
from statemachine.log.port import EntryDraft
from statemachine.phases import Phase
from tests.support.logs import records
from tests.support.simulated import on_simulated_time
from tests.unit.wiring.test_spread import HOUR, World, phase_of, processes, until

NEWER = b'"events":[{"type":"Announced","v":1,"reason":"Rain","message":"m"},{"type":"ItRained","v":1}]}'


async def newer_entry(world: World, uid: str) -> None:
    """A newer engine has decided something about the job."""
    last = [record for record in await records(world.log) if record.job == uid][-1]
    head = last.body[: last.body.index(b'"events":[')]
    body = head.replace(b'"seq":%d,' % last.seq, b'"seq":%d,' % (last.seq + 1))
    before = body[body.index(b'"prev":"') :].split(b'"')[3]
    body = body.replace(before, entry_hash(last.body).encode()) + NEWER
    await world.log.append([EntryDraft(last.job, last.seq + 1, body)])


async def as_it_is(world: World, job: Manifest) -> tuple[Manifest, list[Manifest]]:
    pods = [
        pod for pod in world.pods() if pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    ]
    return deepcopy(await world.cluster.get(Ref.of(job))), deepcopy(pods)


@on_simulated_time
async def test_an_older_projector_leaves_that_job_as_it_is_and_goes_on_with_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    async with processes(world, frozenset({Role.PROJECTORS})) as (projectors,):
        engine = world.controller(frozenset({Role.BRIDGE, Role.ENGINE}))
        deciding = asyncio.create_task(engine.run())
        known, other = await world.create("known"), await world.create("other", run_seconds="7200")
        await until(lambda: phase_of(projectors, known["metadata"]["uid"]) is Phase.RUNNING)
        await until(lambda: phase_of(projectors, other["metadata"]["uid"]) is Phase.RUNNING)
        await asyncio.sleep(HOUR / 2)
        before, entries = await as_it_is(world, known), projectors.reader.position
        deciding.cancel()
        await asyncio.wait([deciding])

        await newer_entry(world, known["metadata"]["uid"])
        await asyncio.sleep(HOUR)
        assert await as_it_is(world, known) == before
        assert projectors.reader.position == entries + 1
        assert list(projectors.reader.quarantined) == [known["metadata"]["uid"]]
        assert not any(projectors.lags.values()), "a stream waits for what it cannot read"

        deciding = asyncio.create_task(world.controller(frozenset({Role.BRIDGE, Role.ENGINE})).run())
        await until(lambda: phase_of(projectors, other["metadata"]["uid"]) is Phase.SUCCEEDED)
        deciding.cancel()
        await asyncio.wait([deciding])
    caplog.clear()
