"""How long a controller process takes to end, on simulated time: the ten seconds that it has, whatever hangs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from jobledger import duty
from jobledger.duty import Duty
from jobledger.wiring.cluster import Opened, Plan
from jobledger.wiring.controller import Controller, Turn
from jobledger.wiring.roles import ALL
from k8s_bridge.admission import admit
from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.lease import Lease
from k8s_bridge.memory import MemoryCluster
from k8s_bridge.port import Manifest
from statemachine.engine.clock import LoopClock
from statemachine.log.memory import MemoryLog
from tests.support.leases import Line, Server
from tests.support.scenario import START
from tests.support.simulated import run_simulated
from tests.unit.api.words import job

PLAN = Plan(None, "", Path("nowhere"), (), ALL, evidence=False, leader_elect=True, lease_namespace="demo")


class Cluster(MemoryCluster):
    """Takes a second to make a pod, or no end of time if it hangs."""

    def __init__(self, hangs: bool) -> None:
        super().__init__(admit=admit)
        self.hangs, self.under_way = hangs, 0

    async def create(self, manifest: Manifest) -> Manifest:
        """See Cluster."""
        if manifest["kind"] == "Pod":
            self.under_way += 1
            await asyncio.sleep(1e9 if self.hangs else 1.0)
            self.under_way -= 1
        return await super().create(manifest)


@pytest.mark.parametrize("hangs", [False, True])
def test_an_end_in_full_swing_takes_less_than_ten_seconds_whatever_hangs(
    hangs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        server, cluster = Server(), Cluster(hangs)
        line = Line(server)

        @asynccontextmanager
        async def opened(_: Plan, turn: Turn) -> AsyncIterator[Opened]:
            yield Opened(Controller(MemoryLog(), cluster, LoopClock(START), roles=ALL, turn=turn), None)

        @asynccontextmanager
        async def leasing(_: Plan) -> AsyncIterator[Lease]:
            yield Lease(cast(Api, line), "demo", identity="me")

        monkeypatch.setattr(duty, "opened", opened)
        monkeypatch.setattr(duty, "leasing", leasing)
        asked = asyncio.Event()
        running = asyncio.create_task(Duty(PLAN).run([], asked.wait()))
        for number in range(10):
            wanted = job(f"train-{number}", replicas=4)
            wanted["metadata"]["namespace"] = "demo"
            await cluster.create(wanted)
        await asyncio.sleep(1.5)
        assert server.holder == "me"
        assert cluster.under_way
        if hangs:
            line.open.clear()
        began = asyncio.get_running_loop().time()
        asked.set()
        await running
        took = asyncio.get_running_loop().time() - began
        assert (3 if hangs else 0) < took < 10
        assert hangs or server.holder == ""
        await cluster.close()

    run_simulated(main(), seed=1)
