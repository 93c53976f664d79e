"""A scripted API server for one test, and a session with it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from k8s_bridge.apiserver.api import Api
from tests.unit.bridge.apiserver.scripted import Server, session


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def api(server: Server, tmp_path: Path) -> AsyncIterator[Api]:
    async with session(server, tmp_path) as api:
        yield api
