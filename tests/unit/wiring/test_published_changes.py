"""Changes of a job that follow each other faster than the API server takes them: a watch sees every one."""

import asyncio
from collections.abc import Mapping
from typing import Any

from jobledger.wiring import Controller, running
from k8s_bridge.admission import admit
from k8s_bridge.port import Ref
from statemachine.phases import Phase
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START
from tests.support.simulated import LoopClock, on_simulated_time
from tests.unit.api.words import job


class Recorded(MemoryCluster):
    """Remembers the phases that were written; while `open` is not set it takes no status."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__(clock=clock.now, admit=admit)
        self.phases: list[str] = []
        self.open = asyncio.Event()

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        await self.open.wait()
        await super().patch_status(ref, uid, status, seq)
        if self.phases[-1:] != [status["phase"]]:
            self.phases.append(status["phase"])


async def until_phase(controller: Controller, uid: str, phase: Phase) -> None:
    async with asyncio.timeout(3600):
        while (state := controller.states.state(uid)) is None or state.phase is not phase:  # type: ignore[arg-type]  # noqa: ASYNC110 - on simulated time
            await asyncio.sleep(0.01)


@on_simulated_time
async def test_every_phase_is_published_though_the_job_had_gone_on_before_the_first_write() -> None:
    clock = LoopClock(START)
    cluster = Recorded(clock)
    controller = controller_of(MemoryLog(), cluster, clock)
    async with running(controller):
        wanted = job("train")
        wanted["metadata"]["namespace"] = "default"
        stored = await cluster.create(wanted)
        uid, ref = stored["metadata"]["uid"], Ref.of(stored)
        await until_phase(controller, uid, Phase.RUNNING)
        for paused, phase in ((True, Phase.PAUSED), (False, Phase.RUNNING)):
            await cluster.patch(ref, {"spec": {"runMode": {"pause": {"enabled": paused}}}})
            await until_phase(controller, uid, phase)
        assert cluster.phases == []
        cluster.open.set()
        await asyncio.sleep(60)
    assert cluster.phases == ["Pending", "Running", "Paused", "Resuming", "Running"]
    await cluster.close()
