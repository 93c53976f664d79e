"""Stream projectors of partitions that come and go."""

import asyncio

from jobledger.wiring.streams import Followed, Streams
from tests.support.simulated import run_simulated


class View:
    """Counts what is asked of it."""

    name = "view"

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def advance(self) -> None:
        self.calls.append("advance")

    def forget(self) -> None:
        self.calls.append("forget")


def test_a_view_is_brought_on_while_it_is_ours_and_forgotten_when_it_is_somebody_elses() -> None:
    async def story() -> None:
        view, mine = View(), {"is": False}
        views = Streams([Followed(view, lambda: 7, lambda: mine["is"])])
        loops = [asyncio.create_task(loop) for _, loop in views.loops()]
        await asyncio.sleep(0)
        assert view.calls == ["forget"]
        assert views.lags() == {}
        mine["is"] = True
        views.shared()
        await asyncio.sleep(0)
        assert view.calls == ["forget", "advance"]
        assert views.lags() == {"view": 0}
        mine["is"] = False
        views.shared()
        await asyncio.sleep(0)
        assert view.calls == ["forget", "advance", "forget"]
        for loop in loops:
            loop.cancel()

    run_simulated(story(), 1)
