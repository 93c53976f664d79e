"""Leader election over a real Lease: one at a time, taken over when the holder is silent, given back at the end."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from k8s_bridge.apiserver.access import Wanted
from k8s_bridge.apiserver.api import MERGE, Api
from k8s_bridge.apiserver.lease import Lease, Timing
from statemachine.errors import Conflict, LeaseLost
from tests.harness import Cluster
from tests.support.line import Line

pytestmark = pytest.mark.integration

FAST = Timing(duration=3.0, deadline=2.0, retry=0.2)

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture(scope="module")
def shared(control_plane: Cluster) -> Iterator[str]:
    """A namespace for all tests here."""
    with control_plane.namespace("lease") as name:
        yield name


@pytest.fixture
async def api(cluster: Cluster) -> AsyncIterator[Api]:
    async with await Api.connect(Wanted(cluster.kubeconfig)) as made:
        yield made


class Place:
    """The Lease of a test."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._name = f"lease-{secrets.token_hex(4)}"
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{self._name}"

    def lease(self, identity: str = "", timing: Timing = FAST, api: Api | None = None) -> Lease:
        return Lease(api or self._api, self._namespace, self._name, identity=identity, timing=timing)

    async def spec(self) -> dict[str, Any]:
        found = await self._api.call("GET", self._path)
        return dict(found["spec"])

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
            3,
            0,
        )
        assert MICRO_TIME.fullmatch(spec["acquireTime"])
        assert MICRO_TIME.fullmatch(spec["renewTime"])
    assert not lease.is_held


async def test_it_is_renewed_and_says_since_when_it_is_held(place: Place) -> None:
    async with place.lease("me").held():
        before = await place.spec()
        await asyncio.sleep(1.0)
        after = await place.spec()
    assert after["renewTime"] > before["renewTime"]
    assert after["acquireTime"] == before["acquireTime"]


async def test_nobody_else_gets_it_while_it_is_renewed_and_the_next_has_it_as_soon_as_it_is_given_back(
    place: Place,
) -> None:
    other = place.lease("other")

    async def wait() -> float:
        async with other.held():
            return now()

    async with place.lease("me").held():
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(2 * FAST.duration)
        assert not waiting.done()
        assert (other.is_held, other.holder, other.error) == (False, "me", "")
    given_back = now()
    assert await asyncio.wait_for(waiting, 30) - given_back < FAST.duration
    spec = await place.spec()
    assert (spec["leaseTransitions"], spec.get("holderIdentity", "")) == (1, "")


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_silent_holder_is_replaced_after_the_duration_wherever_its_clock_stood(
    place: Place, hours: int
) -> None:
    """The times in the object are the holder's: an hour off, they neither hurry nor hold anybody."""
    stamp = f"2026-01-01T{12 + hours}:00:00.000000Z"
    await place.put(holderIdentity="gone", leaseDurationSeconds=3, acquireTime=stamp, renewTime=stamp)
    began = now()
    async with place.lease("me").held():
        took = now() - began
    assert 3.0 <= took < 20


async def test_a_holder_whose_clock_is_an_hour_late_keeps_it_by_renewing(place: Place) -> None:
    written, pauses, waiting = now(), [0.0], None
    for second in range(25):
        stamp = f"2020-01-01T00:00:{second:02}.000000Z"
        await place.put(holderIdentity="late", leaseDurationSeconds=3, acquireTime=stamp, renewTime=stamp)
        pauses.append(now() - written)
        written, waiting = now(), waiting or asyncio.create_task(_hold(place.lease("me"), 0.0))
        await asyncio.sleep(0.2)
    assert waiting is not None
    assert not waiting.done() or max(pauses) > 2.5  # the machine was too slow to be punctual
    waiting.cancel()


async def becomes_held(lease: Lease) -> None:
    while not lease.is_held:  # noqa: ASYNC110 - nobody tells
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
        await asyncio.wait_for(holding, 20)
    assert (await place.spec())["holderIdentity"] == "thief"  # it is not ours to give back


async def test_a_lease_that_is_deleted_is_made_anew(place: Place) -> None:
    async with place.lease("me").held():
        await place.delete()
        await asyncio.sleep(1.0)
        assert (await place.spec())["holderIdentity"] == "me"


async def test_a_lease_that_somebody_labels_is_kept(place: Place) -> None:
    lease = place.lease("me")
    async with lease.held():
        for number in range(5):
            await place.patch(labels={"touched": str(number)})
            await asyncio.sleep(0.3)
        assert lease.is_held
    assert (await place.spec()).get("holderIdentity", "") == ""


async def test_of_many_who_want_it_one_at_a_time_has_it(place: Place) -> None:
    inside, most, turns = 0, 0, 0

    async def want() -> None:
        nonlocal inside, most, turns
        async with place.lease(timing=Timing(3.0, 2.0, 0.05)).held():
            inside += 1
            most, turns = max(most, inside), turns + 1
            await asyncio.sleep(0.1)
            inside -= 1

    async with asyncio.timeout(150):
        await asyncio.gather(*(want() for _ in range(12)))
    assert (most, turns) == (1, 12)


async def test_two_with_the_same_host_name_are_told_apart(place: Place) -> None:
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
    assert now() - began < FAST.duration
    assert (await place.spec()).get("holderIdentity", "") == ""


# ---- an API server that goes away ----


async def test_who_cannot_renew_stops_before_anybody_else_can_begin(
    cluster: Cluster, place: Place, tmp_path: Path
) -> None:
    line = Line(cluster.kubeconfig, tmp_path)
    async with line.kubeconfig() as path, await Api.connect(Wanted(path)) as api:
        first, second = place.lease("cut off", api=api), place.lease("next")
        spans: dict[str, tuple[float, float]] = {}

        async def work(lease: Lease, seconds: float) -> None:
            async with lease.held():
                began = now()
                try:
                    await asyncio.sleep(seconds)
                finally:
                    spans[lease.identity] = began, now()

        holding = asyncio.create_task(work(first, 30))
        await becomes_held(first)
        waiting = asyncio.create_task(work(second, 0))
        await asyncio.sleep(0.5)
        line.open.clear()
        cut = now()
        with pytest.raises(LeaseLost, match=r"could not be renewed for 2 s"):
            await asyncio.wait_for(holding, 25)
        await asyncio.wait_for(waiting, 60)
        line.open.set()
    stopped, began = spans["cut off"][1], spans["next"][0]
    assert cut + FAST.deadline - FAST.retry < stopped < cut + FAST.deadline + FAST.retry + 5
    assert stopped < began < cut + FAST.duration + 2 * FAST.retry + 10


async def test_a_short_silence_is_survived(cluster: Cluster, place: Place, tmp_path: Path) -> None:
    line = Line(cluster.kubeconfig, tmp_path)
    async with line.kubeconfig() as path, await Api.connect(Wanted(path)) as api:
        lease = place.lease("me", api=api)
        async with lease.held():
            line.open.clear()
            await asyncio.sleep(1.0)
            line.open.set()
            await asyncio.sleep(2.0)
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
    async with await Api.connect(Wanted(path)) as api:
        lease = Lease(api, "default", timing=FAST)
        waiting = asyncio.create_task(_hold(lease, 0.0))
        await asyncio.sleep(1.0)
        assert not waiting.done()
        assert lease.error.startswith("the API server cannot be reached")
        assert lease.tries >= 3
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_who_is_told_to_end_while_it_takes_the_lease_leaves_none_behind(place: Place) -> None:
    for moment in range(12):
        holding = asyncio.create_task(_hold(place.lease(f"me-{moment}"), 30))
        await asyncio.sleep(moment * 0.002)
        holding.cancel()
        await asyncio.wait([holding])
    lease = place.lease("next")
    began = now()
    async with lease.held():
        assert now() - began < FAST.duration  # by then anybody's would have run out
