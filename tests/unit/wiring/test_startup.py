"""What a start leaves for later: views and metrics that would read a long log while the cluster is listed."""

import asyncio

import pytest

from jobledger.telemetry.page import MetricsPage
from jobledger.wiring import startup
from jobledger.wiring.controller import Controller
from jobledger.wiring.roles import Role
from statemachine.engine.clock import WallClock
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.support.memory_log import MemoryLog
from tests.support.simulated import run_simulated


class View:
    """Counts how often it was brought on."""

    name = "view"

    def __init__(self) -> None:
        self.advanced = 0

    async def advance(self) -> None:
        self.advanced += 1

    def forget(self) -> None:
        pass


def projecting(*views: View) -> Controller:
    """A controller that projects, whose cluster is listed when the test says so."""
    return controller_of(
        MemoryLog(),
        MemoryCluster(),
        WallClock(),
        [views],
        roles=frozenset({Role.ENGINE, Role.PROJECTORS}),
    )


def test_a_view_beside_the_built_in_ones_waits_until_the_cluster_is_listed() -> None:
    async def story() -> None:
        view = View()
        controller = projecting(view)
        assert controller.projectors is not None
        loops = dict(controller.projectors.views.loops())
        tasks = [asyncio.create_task(loop) for loop in loops.values()]
        await asyncio.sleep(30)
        assert view.advanced == 0
        controller.projectors.listed()
        await asyncio.sleep(0.1)
        assert view.advanced == 1
        for task in tasks:
            task.cancel()

    run_simulated(story(), 1)


def test_the_log_is_counted_for_metrics_once_the_cluster_is_listed() -> None:
    async def story() -> None:
        controller = projecting()
        assert controller.projectors is not None
        page = MetricsPage(controller)
        counting = asyncio.create_task(page.text(""))
        await asyncio.sleep(2)
        assert not counting.done()
        controller.projectors.listed()
        await counting
        assert asyncio.get_running_loop().time() < 3

    run_simulated(story(), 1)


def test_a_cluster_that_cannot_be_listed_is_waited_for_once_and_a_minute_at_most() -> None:
    async def story() -> None:
        view = View()
        controller = projecting(view)
        assert controller.projectors is not None
        views = controller.projectors.views
        tasks = [asyncio.create_task(loop) for _, loop in views.loops()]
        await asyncio.sleep(startup.MOST - 0.1)
        assert view.advanced == 0
        await asyncio.sleep(0.2)
        assert view.advanced == 1
        for advanced in (2, 3):
            views.shared()
            await asyncio.sleep(0.1)
            assert view.advanced == advanced
        for task in tasks:
            task.cancel()

    run_simulated(story(), 1)


@pytest.mark.parametrize("roles", [{Role.ENGINE}, {Role.ENGINE, Role.BRIDGE}])
async def test_where_nothing_projects_nothing_waits(roles: set[Role]) -> None:
    controller = controller_of(MemoryLog(), MemoryCluster(), WallClock(), roles=frozenset(roles))
    async with asyncio.timeout(5):
        await controller.settled()
