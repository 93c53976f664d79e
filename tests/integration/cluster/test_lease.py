"""Leader election over a real Lease: one at a time, taken over when the holder is silent, given back at the end.

Who may wait how long is measured on simulated time, in `tests/unit/bridge/apiserver/test_lease.py`. Here nothing is:
a Lease that is given back is one that runs out only after the test.
"""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from k8s_bridge.apiserver.access import ApiServerChoice
from k8s_bridge.apiserver.api import MERGE, Api
from k8s_bridge.apiserver.lease import Lease, Timing
from statemachine.errors import Conflict, LeaseLost, Missing
from tests.harness import Cluster
from tests.support.line import Line

pytestmark = pytest.mark.integration

FAST = Timing(duration=3.0, deadline=2.0, retry=0.2)
SLOW = Timing(duration=300.0, deadline=200.0, retry=0.1)
"""It neither runs out nor is lost within a test: what happens, happens for another reason."""

SECONDS = 90.0
"""How long anything may take, on any machine; shorter than a slow Lease lasts."""

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture(scope="module")
def shared(control_plane: Cluster) -> Iterator[str]:
    """A namespace for all tests here."""
    with control_plane.namespace("lease") as name:
        yield name


@pytest.fixture
async def api(cluster: Cluster) -> AsyncIterator[Api]:
    async with await Api.connect(ApiServerChoice(cluster.kubeconfig)) as made:
        yield made


class Place:
    """The Lease of a test."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._name = f"lease-{secrets.token_hex(4)}"
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{self._name}"

    def lease(self, identity: str = "", timing: Timing = SLOW, api: Api | None = None) -> Lease:
        return Lease(api or self._api, self._namespace, self._name, identity=identity, timing=timing)

    async def spec(self) -> dict[str, Any]:
        lease = await self._api.call("GET", self._path)
        return dict(lease["spec"])

    async def renewed(self, times: int = 1) -> dict[str, Any]:
        """What it says as soon as it was renewed so often."""
        spec = await self.spec()
        for _ in range(times):
            before = spec["renewTime"]
            async with asyncio.timeout(SECONDS):
                while (spec := await self.spec())["renewTime"] == before:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.02)
        return spec

    async def put(self, **spec: Any) -> None:
        """Somebody else writes the Lease."""
        body = {"metadata": {"name": self._name}, "spec": spec}
        try:
            await self._api.call("POST", self._collection, body=body)
        except Conflict:
            await self._api.call("PATCH", self._path, body={"spec": spec}, content=MERGE)

    async def patch(self, **metadata: Any) -> None:
        await self._api.call("PATCH", self._path, body={"metadata": metadata}, content=MERGE)

    async def delete(self) -> None:
        await self._api.call("DELETE", self._path)


@pytest.fixture
def place(api: Api, shared: str) -> Place:
    return Place(api, shared)


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_lease_that_nobody_has_is_taken_as_the_api_has_it(place: Place) -> None:
    lease = place.lease("me")
    async with lease.held():
        assert lease.is_held
        spec = await place.spec()
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (
            "me",
            300,
            0,
        )
        assert MICRO_TIME.fullmatch(spec["acquireTime"])
        assert MICRO_TIME.fullmatch(spec["renewTime"])
    assert not lease.is_held


async def test_it_is_renewed_and_says_since_when_it_is_held(place: Place) -> None:
    async with place.lease("me").held():
        before = await place.spec()
        after = await place.renewed(3)
    assert after["renewTime"] > before["renewTime"]
    assert after["acquireTime"] == before["acquireTime"]


async def test_nobody_else_gets_it_while_it_is_renewed_and_the_next_has_it_as_soon_as_it_is_given_back(
    place: Place,
) -> None:
    other = place.lease("other")
    async with place.lease("me").held():
        waiting = asyncio.create_task(_hold(other, 0.0))
        await place.renewed(10)
        await until(lambda: other.tries >= 30)
        assert not waiting.done()
        assert (other.is_held, other.holder, other.error) == (False, "me", "")
    await asyncio.wait_for(waiting, SECONDS)
    spec = await place.spec()
    assert (spec["leaseTransitions"], spec.get("holderIdentity", "")) == (1, "")


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_silent_holder_is_replaced_after_the_duration_wherever_its_clock_stood(
    place: Place, hours: int
) -> None:
    """The times in the object are the holder's: an hour off, they neither hurry nor hold anybody."""
    stamp = f"2026-01-01T{12 + hours}:00:00.000000Z"
    await place.put(holderIdentity="gone", leaseDurationSeconds=1, acquireTime=stamp, renewTime=stamp)
    began = now()
    async with asyncio.timeout(SECONDS), place.lease("me").held():
        took = now() - began
    assert took >= 1.0


async def test_a_holder_whose_clock_is_an_hour_late_keeps_it_by_renewing(place: Place) -> None:
    lease, waiting = place.lease("me"), None
    for second in range(10):
        stamp = f"2020-01-01T00:00:{second:02}.000000Z"
        await place.put(holderIdentity="late", leaseDurationSeconds=300, acquireTime=stamp, renewTime=stamp)
        waiting = waiting or asyncio.create_task(_hold(lease, 0.0))
        await until(lambda tries=lease.tries: lease.tries > tries + 1)  # type: ignore[misc]
        assert not waiting.done()
    assert (lease.holder, lease.error) == ("late", "")
    assert waiting is not None
    waiting.cancel()
    await asyncio.wait([waiting])


async def becomes_held(lease: Lease) -> None:
    await until(lambda: lease.is_held)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not true():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)


async def _hold(lease: Lease, seconds: float) -> None:
    async with lease.held():
        await asyncio.sleep(seconds)


async def test_a_lease_taken_by_force_ends_the_block(place: Place) -> None:
    lease = place.lease("me")
    holding = asyncio.create_task(_hold(lease, 30))
    await becomes_held(lease)
    await place.put(holderIdentity="thief")
    with pytest.raises(LeaseLost, match="taken by thief"):
        await asyncio.wait_for(holding, SECONDS)
    assert (await place.spec())["holderIdentity"] == "thief"  # it is not ours to give back


async def test_a_lease_that_is_deleted_is_made_anew(place: Place) -> None:
    async with place.lease("me").held():
        await place.delete()
        async with asyncio.timeout(SECONDS):
            while True:
                with suppress(Missing):
                    assert (await place.spec())["holderIdentity"] == "me"
                    break
                await asyncio.sleep(0.02)


async def test_a_lease_that_somebody_labels_is_kept(place: Place) -> None:
    lease = place.lease("me")
    async with lease.held():
        for number in range(5):
            await place.patch(labels={"touched": str(number)})
            await place.renewed()
        assert lease.is_held
    assert (await place.spec()).get("holderIdentity", "") == ""


async def test_of_many_who_want_it_one_at_a_time_has_it(place: Place) -> None:
    inside, most, turns = 0, 0, 0

    async def want() -> None:
        nonlocal inside, most, turns
        async with place.lease(timing=replace(SLOW, retry=0.05)).held():
            inside += 1
            most, turns = max(most, inside), turns + 1
            await asyncio.sleep(0.1)
            inside -= 1

    async with asyncio.timeout(2 * SECONDS):
        await asyncio.gather(*(want() for _ in range(12)))
    assert (most, turns) == (1, 12)


async def test_two_with_the_same_host_name_are_distinguished(place: Place) -> None:
    assert place.lease().identity != place.lease().identity


async def test_what_fails_in_the_block_is_raised_as_it_is_and_the_lease_given_back(place: Place) -> None:
    with pytest.raises(ZeroDivisionError):
        async with place.lease("me").held():
            _ = 1 / 0
    assert (await place.spec()).get("holderIdentity", "") == ""


async def test_a_cancelled_block_gives_it_back_at_once(place: Place) -> None:
    lease = place.lease("me")
    holding = asyncio.create_task(_hold(lease, 30))
    await becomes_held(lease)
    holding.cancel()
    began = now()
    await asyncio.wait([holding])
    assert holding.cancelled()
    assert now() - began < SLOW.duration
    assert (await place.spec()).get("holderIdentity", "") == ""


# ---- an API server that goes away ----


async def test_who_cannot_renew_stops_before_anybody_else_can_begin(
    cluster: Cluster, place: Place, tmp_path: Path
) -> None:
    line = Line(cluster.kubeconfig, tmp_path)
    async with line.kubeconfig() as path, await Api.connect(ApiServerChoice(path)) as api:
        first, second = place.lease("cut off", FAST, api), place.lease("next", FAST)
        spans: dict[str, tuple[float, float]] = {}

        async def work(lease: Lease, seconds: float) -> None:
            async with lease.held():
                began = now()
                try:
                    await asyncio.sleep(seconds)
                finally:
                    spans[lease.identity] = began, now()

        holding = asyncio.create_task(work(first, 300))
        await becomes_held(first)
        waiting = asyncio.create_task(work(second, 0))
        await until(lambda: second.tries > 1)
        line.open.clear()
        with pytest.raises(LeaseLost, match=r"could not be renewed for 2 s: the API server does not answer"):
            await asyncio.wait_for(holding, SECONDS)
        await asyncio.wait_for(waiting, SECONDS)
        line.open.set()
    assert spans["cut off"][1] < spans["next"][0]


async def test_a_short_silence_is_survived(cluster: Cluster, place: Place, tmp_path: Path) -> None:
    line = Line(cluster.kubeconfig, tmp_path)
    async with line.kubeconfig() as path, await Api.connect(ApiServerChoice(path)) as api:
        lease = place.lease("me", api=api)
        async with lease.held():
            line.open.clear()
            await asyncio.sleep(1.0)  # ten renewals would have been tried
            line.open.set()
            await place.renewed(2)
            assert lease.is_held
    assert (await place.spec()).get("holderIdentity", "") == ""


async def test_who_begins_while_the_api_server_is_away_waits_for_it(tmp_path: Path) -> None:
    nowhere = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "x", "user": {"token": "x"}}],
    }
    path = tmp_path / "nowhere"
    path.write_text(yaml.safe_dump(nowhere))
    async with await Api.connect(ApiServerChoice(path)) as api:
        lease = Lease(api, "default", timing=SLOW)
        waiting = asyncio.create_task(_hold(lease, 0.0))
        await until(lambda: lease.tries > 3)
        assert not waiting.done()
        assert lease.error.startswith("the API server cannot be reached")
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_who_is_asked_to_end_while_it_takes_the_lease_leaves_none_behind(place: Place) -> None:
    for moment in range(12):
        holding = asyncio.create_task(_hold(place.lease(f"me-{moment}"), 30))
        await asyncio.sleep(moment * 0.002)
        holding.cancel()
        await asyncio.wait([holding])
    async with asyncio.timeout(SECONDS), place.lease("next").held():
        pass  # anybody's would last longer
