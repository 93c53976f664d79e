"""How long a controller process takes to end, on simulated time: the ten seconds that it has, whatever hangs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from jobledger.cli.cluster import process
from jobledger.cli.cluster.process import ControllerProcess
from jobledger.wiring.bridge_role import Turn
from jobledger.wiring.cluster import Opened, ProcessPlan
from jobledger.wiring.ledger import Kafka
from jobledger.wiring.roles import ALL
from k8s_bridge.admission import admit
from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.lease import Lease
from k8s_bridge.port import Manifest
from statemachine.errors import LogUnavailable
from statemachine.log.kafka.address import Address
from tests.support.controllers import controller_of
from tests.support.leases import Line, Server
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START
from tests.support.simulated import LoopClock, run_simulated
from tests.unit.api.words import job

KAFKA = Kafka(Address.of("kafka://127.0.0.1:1"), "aiokafka", "", 10.0)
PLAN = ProcessPlan(
    None, "", Path("nowhere"), (), ALL, evidence=False, leader_elect=True, lease_namespace="demo"
)


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
        async def opened(_: ProcessPlan, turn: Turn) -> AsyncIterator[Opened]:
            yield Opened(controller_of(MemoryLog(), cluster, LoopClock(START), roles=ALL, turn=turn), None)

        @asynccontextmanager
        async def leasing(_: ProcessPlan) -> AsyncIterator[Lease]:
            yield Lease(cast(Api, line), "demo", identity="me")

        monkeypatch.setattr(process, "opened", opened)
        monkeypatch.setattr(process, "leasing", leasing)
        asked = asyncio.Event()
        running = asyncio.create_task(ControllerProcess(PLAN).run([], asked.wait()))
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


class Lost(MemoryLog):
    """The brokers go away while the states are saved, and what is cleaned up fails with that."""

    async def close(self) -> None:
        """See EventLog."""
        raise LogUnavailable("no broker answers")


async def ended(
    monkeypatch: pytest.MonkeyPatch, log: MemoryLog, *loops: Callable[[], Coroutine[Any, Any, None]]
) -> float:
    """A controller over `log`, with these tasks beside it, was asked to end: after how many seconds it had."""
    cluster = MemoryCluster(admit=admit)

    @asynccontextmanager
    async def opened(_: ProcessPlan, turn: Turn) -> AsyncIterator[Opened]:
        try:
            async with asyncio.TaskGroup() as tasks:
                for loop in loops:
                    tasks.create_task(loop(), name="stubborn")
                yield Opened(controller_of(log, cluster, LoopClock(START), roles=ALL, turn=turn), None)
        finally:
            await log.close()

    monkeypatch.setattr(process, "opened", opened)
    asked = asyncio.Event()
    running = asyncio.create_task(
        ControllerProcess(replace(PLAN, log=KAFKA, leader_elect=False)).run([], asked.wait())
    )
    await asyncio.sleep(1.5)
    began = asyncio.get_running_loop().time()
    asked.set()
    async with asyncio.timeout(60):
        await running
    await cluster.close()
    return asyncio.get_running_loop().time() - began


def test_a_log_that_goes_away_while_the_process_ends_does_not_begin_it_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run_simulated(ended(monkeypatch, Lost()), seed=1) < 5


def test_what_has_lost_its_cancellation_is_named_and_cancelled_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def stubborn() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(1e9)
        await asyncio.sleep(1e9)

    assert 7 < run_simulated(ended(monkeypatch, MemoryLog(), stubborn), seed=1) < 10
    (said,) = (record for record in caplog.records if "ending takes long" in record.message)
    assert "stubborn" in vars(said)["tasks"]
