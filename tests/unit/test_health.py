"""Health: a loop that does not get on is named, a process that waits for its turn is ready."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from jobledger.service.health import PATIENCE, Health, Stall
from jobledger.telemetry.collect import Collector
from jobledger.telemetry.tally import Tally
from jobledger.web import health as over_http
from jobledger.web.switchable import SwitchableApp, waiting, without_front
from jobledger.wiring import Controller, running
from jobledger.wiring.roles import Role
from k8s_bridge.nowhere import NoCluster
from statemachine.engine.clock import WallClock
from statemachine.engine.skew import ClockCheck
from statemachine.engine.source import Pulse, WorkerReport
from statemachine.errors import LogUnavailable
from statemachine.ids import Position
from statemachine.log.inbox import MemoryInbox
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.scenario import START
from tests.support.simulated import LoopClock, on_simulated_time

BUSY, IDLE = True, False


class Time:
    """A monotonic clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Watched:
    """A `Stall` that is asked at given moments."""

    def __init__(self) -> None:
        self.time = Time()
        self.stall = Stall(self.time)

    def after(self, seconds: float, **loops: Pulse) -> list[str]:
        self.time.seconds += seconds
        return self.stall.look(loops)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def test_a_loop_with_one_thing_in_hand_for_longer_than_it_may_is_named(watched: Watched) -> None:
    assert watched.after(0, engine=Pulse(7, BUSY)) == []
    assert watched.after(PATIENCE, engine=Pulse(7, BUSY)) == []
    assert watched.after(1, engine=Pulse(7, BUSY)) == ["the loop of engine has made no progress for 61 s"]


def test_a_loop_that_gets_on_is_well_however_busy_it_is(watched: Watched) -> None:
    for beat in range(100):
        assert watched.after(PATIENCE - 1, children=Pulse(beat, BUSY)) == []


def test_a_loop_without_work_may_wait_for_ever(watched: Watched) -> None:
    for _ in range(5):
        assert watched.after(10 * PATIENCE, children=Pulse(3, IDLE)) == []


def test_rest_in_between_is_progress(watched: Watched) -> None:
    watched.after(0, children=Pulse(3, BUSY))
    watched.after(PATIENCE, children=Pulse(4, IDLE))
    assert watched.after(PATIENCE, children=Pulse(4, BUSY)) == []


def test_loops_are_judged_each_for_itself(watched: Watched) -> None:
    watched.after(0, children=Pulse(3, BUSY), status=Pulse(1, BUSY))
    late = watched.after(PATIENCE + 1, children=Pulse(3, BUSY), status=Pulse(2, BUSY))
    assert late == ["the loop of children has made no progress for 61 s"]


def test_a_loop_that_was_stuck_and_gets_on_is_well_again(watched: Watched) -> None:
    watched.after(0, engine=Pulse(7, BUSY))
    assert watched.after(100, engine=Pulse(7, BUSY))
    assert watched.after(1, engine=Pulse(8, BUSY)) == []
    assert watched.after(PATIENCE - 1, engine=Pulse(8, BUSY)) == []


# ---- of a controller ----


class Log(MemoryLog):
    """A log that may take no write, or never answer."""

    broken = ""

    async def save_checkpoint(self, reader: str, position: Position) -> None:
        if self.broken == "hangs":
            await asyncio.Event().wait()
        if self.broken == "slow":
            await asyncio.sleep(0.05)
        elif self.broken:
            raise LogUnavailable(self.broken)
        await super().save_checkpoint(reader, position)


def lease(*, is_held: bool = False, holder: str = "", error: str = "", tries: int = 1) -> Any:
    return SimpleNamespace(is_held=is_held, holder=holder, error=error, tries=tries)


async def synced(controller: Controller) -> None:
    async with asyncio.timeout(5):
        while controller.bridge is None or not controller.bridge.progress.synced:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


@on_simulated_time
async def test_a_working_controller_may_serve() -> None:
    controller = controller_of(Log(), MemoryCluster(), WallClock())
    async with running(controller):
        await synced(controller)
        assert await Health(controller).readiness() == ([], [])


@on_simulated_time
async def test_a_cluster_that_was_never_listed_and_a_log_that_takes_nothing_are_troubles() -> None:
    log = Log()
    health = Health(controller_of(log, MemoryCluster(), WallClock()))
    log.broken = "no space is left"
    assert (await health.readiness()).troubles == [
        "the cluster has not been listed yet",
        "the log cannot be written: no space is left",
    ]


@on_simulated_time
async def test_a_worker_that_gets_nothing_of_a_partition_is_trouble_and_named() -> None:
    worker: Any = SimpleNamespace(report=WorkerReport, log_error="", listeners=[], silent_listeners=[])
    engine = frozenset({Role.ENGINE})
    controller = controller_of(
        Log(), NoCluster(), WallClock(), roles=engine, outbox=MemoryInbox(), worker=worker
    )
    assert (await Health(controller).readiness()).troubles == []
    worker.report = lambda: WorkerReport(stalls=["nothing of partition 3 is fetched"])
    assert (await Health(controller).readiness()).troubles == ["nothing of partition 3 is fetched"]


@on_simulated_time
async def test_a_clock_that_is_off_is_noted_and_measured_and_takes_nobody_out_of_service() -> None:
    clock = LoopClock(START)
    check = ClockCheck(clock)
    controller = controller_of(
        Log(), MemoryCluster(), clock, roles=frozenset({Role.ENGINE, Role.FRONT}), check=check
    )
    health, sent = Health(controller), check.begin()
    check.note(sent, START)
    assert (await health.readiness()).notes == []
    check.note(sent, START - timedelta(hours=1))
    report = await health.readiness()
    assert (report.status, len(report.notes)) == ("ok", 1)
    assert "3600 s ahead" in report.notes[0]
    samples = {metric.name: given for metric, given in Collector(controller, Tally()).samples()}
    assert samples["jobledger_clock_ahead_seconds"] == [((), 3600.0)]


@on_simulated_time
async def test_a_log_that_does_not_answer_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobledger.service.health._WRITE", 0.01)
    log = Log()
    log.broken = "hangs"
    assert (
        "the log has not taken a write for 0 s"
        in (await Health(controller_of(log, MemoryCluster(), WallClock())).readiness()).troubles
    )


@on_simulated_time
async def test_a_controller_that_ends_while_its_log_is_asked_was_the_one_that_was_meant() -> None:
    log = Log()
    log.broken = "slow"
    controller = controller_of(log, MemoryCluster(), WallClock())
    async with running(controller):
        await synced(controller)
        health = Health(controller)
        asked = asyncio.create_task(health.readiness())
        await asyncio.sleep(0.01)
        health.controller = None
        assert await asked == ([], [])


@on_simulated_time
async def test_who_waits_for_its_turn_is_ready_and_says_so() -> None:
    health = Health()
    assert (await health.readiness()).troubles == ["the controller is starting"]
    health.lease = lease(holder="other-1")
    assert await health.readiness() == ([], ["standby: other-1 has the lease"])


@on_simulated_time
async def test_who_cannot_ask_for_its_turn_is_not_ready_and_says_why() -> None:
    health = Health()
    health.lease = lease(error="the API server cannot be reached")
    assert (await health.readiness()).troubles == [
        "the lease cannot be had: the API server cannot be reached"
    ]
    assert health.stuck() == []


@on_simulated_time
async def test_a_bridge_that_waits_for_its_turn_need_not_have_listed_the_cluster() -> None:
    health = Health(controller_of(MemoryLog(), MemoryCluster(), WallClock()))
    health.lease = lease(holder="other-1")
    assert await health.readiness() == ([], ["standby: other-1 has the lease"])


@on_simulated_time
async def test_a_lease_that_is_not_renewed_any_more_is_a_stuck_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    health = Health()
    health._stall = Stall(time)
    health.lease = lease(is_held=True, tries=4)
    assert health.stuck() == []
    time.seconds += PATIENCE + 1
    assert health.stuck() == ["the loop of lease has made no progress for 61 s"]
    health.lease.tries += 1
    assert health.stuck() == []


@on_simulated_time
async def test_every_loop_of_a_controller_is_watched() -> None:
    controller = controller_of(MemoryLog(), MemoryCluster(), WallClock())
    async with running(controller):
        await synced(controller)
        pulses = controller.pulses()
    assert set(pulses) == {"engine", "bridge", "children", "status", "expiry", "kube-events"}
    assert not any(pulse.busy for pulse in pulses.values())


@on_simulated_time
async def test_a_projector_that_hangs_is_unhealthy_and_one_that_waits_for_the_cluster_is_not() -> None:
    cluster, time, answers = MemoryCluster(), Time(), [0]
    hangs = asyncio.Event()

    async def children(namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Any]:
        hangs.set()
        await asyncio.Event().wait()
        return ()

    cluster.children = children  # type: ignore[method-assign]
    controller = controller_of(MemoryLog(), cluster, WallClock(), answered=lambda: answers[0])
    health = Health(controller)
    health._stall = Stall(time)
    async with running(controller):
        await cluster.create(_job())
        await asyncio.wait_for(hangs.wait(), 5)
        await asyncio.sleep(60)  # all others have done what there was to do
        assert health.stuck() == []
        for _ in range(3):
            time.seconds += PATIENCE
            answers[0] += 1
            assert health.stuck() == []
        time.seconds += PATIENCE + 1
        assert health.stuck() == ["the loop of children has made no progress for 61 s"]


def _job() -> dict[str, Any]:
    from tests.unit.api.words import job

    wanted = job("train")
    wanted["metadata"]["namespace"] = "default"
    return wanted


# ---- over HTTP ----


async def answer(app: Any, path: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x") as client:
        return await client.request(method, path)


def api(health: Health) -> FastAPI:
    made = FastAPI()
    made.include_router(over_http.routes(health))
    return made


async def test_health_over_http() -> None:
    health = Health()
    health._stall = Stall(time := Time())
    health.lease = lease(is_held=True)
    assert (await answer(api(health), "/healthz")).json() == {"status": "ok"}
    time.seconds += PATIENCE + 1
    stuck = await answer(api(health), "/healthz")
    assert (stuck.status_code, stuck.json()["status"]) == (503, "stuck")
    assert "loop of lease" in stuck.json()["troubles"][0]


async def test_readiness_over_http() -> None:
    health = Health()
    starting = await answer(api(health), "/readyz")
    assert (starting.status_code, starting.json()["troubles"]) == (503, ["the controller is starting"])
    health.lease = lease(holder="other-1")
    standby = await answer(api(health), "/readyz")
    assert (standby.status_code, standby.json()) == (
        200,
        {"status": "standby", "troubles": [], "notes": ["standby: other-1 has the lease"]},
    )


async def test_a_process_that_does_not_work_yet_says_why_whatever_it_is_asked() -> None:
    health = Health()
    health.lease = lease(holder="other-1")
    stage = SwitchableApp(waiting(health))
    for method in ("GET", "POST"):
        refused = await answer(stage, "/v1/jobs", method)
        assert (refused.status_code, refused.json()["detail"]) == (503, "standby: other-1 has the lease")
    assert (await answer(stage, "/readyz")).status_code == 200


async def test_a_process_without_a_front_answers_health_and_metrics_alone() -> None:
    controller = controller_of(MemoryLog(), MemoryCluster(), WallClock())
    stage = SwitchableApp(waiting(Health()))
    stage.show(without_front(Health(controller)))
    assert (await answer(stage, "/healthz")).status_code == 200
    assert (await answer(stage, "/metrics")).status_code == 200
    assert (await answer(stage, "/v1/jobs")).status_code == 404
