"""When a Lease changes hands, on simulated time: to the second, however slow the machine is.

What a real API server makes of it stands in `tests/integration/cluster/test_lease.py`.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest

from k8s_bridge.apiserver.api import Api
from k8s_bridge.apiserver.lease import Lease, Timing
from statemachine.errors import LeaseLost
from tests.support.leases import Line, Server
from tests.support.simulated import run_simulated

FAST = Timing(duration=3.0, deadline=2.0, retry=0.2)


def lease(server: Server | Line, identity: str, timing: Timing = FAST) -> Lease:
    return Lease(cast(Api, server), "demo", identity=identity, timing=timing)


def simulated(coro: Coroutine[Any, Any, None]) -> None:
    run_simulated(coro, seed=1)


def now() -> float:
    return asyncio.get_running_loop().time()


async def hold(wanted: Lease, seconds: float, spans: dict[str, tuple[float, float]]) -> None:
    """It is held for so many seconds; `spans` says from when to when."""
    async with wanted.held():
        began = now()
        try:
            await asyncio.sleep(seconds)
        finally:
            spans[wanted.identity] = began, now()


def test_a_renewed_lease_stays_with_its_holder_and_the_next_has_it_within_a_try_of_its_return() -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        first, other = lease(server, "first"), lease(server, "other")
        holding = asyncio.create_task(hold(first, 100 * FAST.duration, spans))
        await asyncio.sleep(0.1)
        await hold(other, 0, spans)
        await holding
        returned, taken = spans["first"][1], spans["other"][0]
        assert returned == pytest.approx(100 * FAST.duration, abs=0.1)
        assert returned < taken < returned + 2 * FAST.retry
        assert other.tries > 100 * FAST.duration / (2 * FAST.retry)

    simulated(main())


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_silent_holder_is_replaced_after_the_duration_wherever_its_clock_stood(hours: int) -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        stamp = f"2026-01-01T{12 + hours}:00:00.000000Z"
        server.put(holderIdentity="gone", leaseDurationSeconds=3, acquireTime=stamp, renewTime=stamp)
        await hold(lease(server, "me"), 0, spans)
        assert FAST.duration <= spans["me"][0] < FAST.duration + 2 * FAST.retry

    simulated(main())


def test_who_takes_a_lease_from_another_counts_that_and_who_renews_it_does_not() -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        counts = []
        for name in ("one", "one", "two"):
            await hold(lease(server, name), 5 * FAST.retry, spans)
            assert server.lease is not None
            counts.append(server.lease["spec"]["leaseTransitions"])
        assert counts == [0, 1, 2], "one that was given back is nobody's"

    simulated(main())


def test_a_holder_whose_clock_is_an_hour_late_keeps_it_by_renewing() -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        waiting = asyncio.create_task(hold(lease(server, "me"), 0, spans))
        for second in range(50):
            stamp = f"2020-01-01T00:00:{second:02}.000000Z"
            server.put(holderIdentity="late", leaseDurationSeconds=3, acquireTime=stamp, renewTime=stamp)
            await asyncio.sleep(FAST.duration - 2 * FAST.retry)
            assert not waiting.done()
        await waiting

    simulated(main())


def test_a_lease_taken_by_force_ends_the_block_within_a_try() -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        holding = asyncio.create_task(hold(lease(server, "me"), 30, spans))
        await asyncio.sleep(5)
        server.put(holderIdentity="thief")
        with pytest.raises(LeaseLost, match="taken by thief"):
            await holding
        assert spans["me"][1] < 5 + 3 * FAST.retry
        assert server.holder == "thief"

    simulated(main())


@pytest.mark.parametrize("moment", range(50))
def test_who_cannot_renew_stops_before_anybody_else_can_begin(moment: int) -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        line = Line(server)
        holding = asyncio.create_task(hold(lease(line, "cut off"), 300, spans))
        await asyncio.sleep(0.1)
        waiting = asyncio.create_task(hold(lease(server, "next"), 0, spans))
        await asyncio.sleep(1 + 0.017 * moment)
        line.open.clear()
        cut = now()
        with pytest.raises(LeaseLost, match=r"could not be renewed for 2 s"):
            await holding
        await waiting
        stopped, began = spans["cut off"][1], spans["next"][0]
        assert cut + FAST.deadline - 2 * FAST.retry < stopped < cut + FAST.deadline + 2 * FAST.retry
        assert stopped < began < cut + FAST.duration + 2 * FAST.retry

    simulated(main())


def test_a_silence_shorter_than_the_deadline_is_survived() -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        line = Line(server)
        first = lease(line, "first")
        holding = asyncio.create_task(hold(first, 60, spans))
        waiting = asyncio.create_task(hold(lease(server, "other"), 0, spans))
        await asyncio.sleep(5)
        for _ in range(5):
            line.open.clear()
            await asyncio.sleep(FAST.deadline - 2 * FAST.retry)
            line.open.set()
            await asyncio.sleep(2)
            assert first.is_held
        await asyncio.gather(holding, waiting)
        assert spans["first"][1] < spans["other"][0]

    simulated(main())


def test_a_cancelled_block_gives_it_back_at_once() -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        holding = asyncio.create_task(hold(lease(server, "me"), 30, spans))
        await asyncio.sleep(5.1)
        holding.cancel()
        began = now()
        await asyncio.wait([holding])
        assert holding.cancelled()
        assert now() - began < FAST.retry
        assert server.holder == ""

    simulated(main())


@pytest.mark.parametrize("moment", range(50))
def test_who_is_asked_to_end_while_it_takes_the_lease_leaves_none_behind(moment: int) -> None:
    async def main() -> None:
        server, spans = Server(), dict[str, tuple[float, float]]()
        holding = asyncio.create_task(hold(lease(server, "me"), 30, spans))
        await asyncio.sleep(moment * 0.001)
        holding.cancel()
        await asyncio.wait([holding])
        assert server.holder == ""
        began = now()
        await hold(lease(server, "next"), 0, spans)
        assert spans["next"][0] - began < FAST.duration  # by then anybody's would have run out

    simulated(main())
