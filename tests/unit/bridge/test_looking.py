"""Looks at pods by name, when the watch brings the answer first."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

from k8s_bridge.looking import LookResult, Looks
from k8s_bridge.port import Cluster, Ref, Sight

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(name: str) -> Ref:
    return Ref("v1", "Pod", "demo", name)


async def next_answer(looks: Looks) -> LookResult:
    async with asyncio.timeout(30):
        while (answer := looks.take()) is None:
            await looks.answered.wait()
        return answer


async def test_a_look_that_was_dropped_before_it_began_asks_nothing_and_ends_no_other() -> None:
    asked: list[str] = []

    async def look(_: Ref, uid: str) -> Sight:
        asked.append(uid)
        return Sight(None, NOW)

    looks = Looks(cast("Cluster", SimpleNamespace(look=look)), lambda: 0.5)
    looks.add("p-1", pod("train-worker-0"))
    looks.add("p-2", pod("train-worker-1"))
    await asyncio.sleep(0)  # both are due: their tasks exist, and have not run
    looks.drop("p-1")
    assert (await next_answer(looks)).uid == "p-2"
    assert looks.take() is None  # or it would raise what ended the looks
    looks.add("p-2", pod("train-worker-1"))
    assert (await next_answer(looks)).uid == "p-2"
    assert asked == ["p-2", "p-2"]
    await looks.close()
