"""A watch of an API server that says nothing any more, over the parts that `jobledger controller` is made of."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from jobledger.settings.model import Settings
from jobledger.settings.sections import ControllerSettings
from jobledger.wiring.cluster import ProcessPlan, opened
from jobledger.wiring.controller import Controller
from k8s_bridge.watchers import Bridge
from tests.unit.bridge.apiserver.scripted import Server, bookmark, kubeconfig, watch
from tests.unit.bridge.words import until

PODS = "/api/v1/pods"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    await server.start()
    yield server
    await server.stop()


@asynccontextmanager
async def controller(server: Server, folder: Path, silence: str) -> AsyncIterator[Controller]:
    (folder / "kubeconfig").write_text(kubeconfig(server.url))
    said = ControllerSettings.model_validate(
        {"kubeconfig": str(folder / "kubeconfig"), "roles": "bridge,engine", "silence": silence}
    )
    plan = ProcessPlan.of(Settings(store=folder / "ledger.db", controller=said), in_pod=False)
    async with opened(plan) as (controller, _):
        task = asyncio.create_task(controller.run())
        await until(lambda: controller.bridge is not None and controller.bridge.progress.synced)
        yield controller
        assert not task.done(), task
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_silent_watch_is_opened_again_after_the_setting(server: Server, tmp_path: Path) -> None:
    async with controller(server, tmp_path, "200ms"):
        await until(lambda: len(server.asked("WATCH", PODS)) >= 3)


async def test_a_bridge_whose_watches_got_stuck_opens_all_of_them_anew(
    server: Server, tmp_path: Path
) -> None:
    async with controller(server, tmp_path, "200ms") as running:
        bridge = cast(Bridge, running.bridge)
        for task in asyncio.all_tasks():
            if task.get_name().startswith("watch-"):
                task.cancel()  # nothing is left that could end, fail, or bring anything
        await until(lambda: bridge.progress.starts >= 2 and bridge.progress.synced)
        await until(lambda: len(server.asked("GET", PODS)) >= 2)


async def test_bookmarks_are_signs_of_life(server: Server, tmp_path: Path) -> None:
    pieces = [piece for version in range(11, 31) for piece in (bookmark(version), 0.05)]
    server.on("WATCH", PODS, watch(*pieces), watch())
    async with controller(server, tmp_path, "600ms") as running:
        await until(lambda: len(server.asked("WATCH", PODS)) >= 2)
        assert cast(Bridge, running.bridge).progress.starts == 1


def test_a_watch_is_given_up_after_a_hundred_seconds_if_nobody_says_otherwise() -> None:
    assert ControllerSettings().silence == timedelta(seconds=100)
    assert ProcessPlan.of(Settings(), in_pod=False).silence == 100.0


def test_no_silence_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="must be longer than 0 s"):
        ControllerSettings.model_validate({"silence": "0s"})
