"""A server of public events, until it is killed: `python -m tests.integration.events_process STORE PORT`.

It serves as a front in a cluster does, the log being written by another process: callers have tokens, `user-0` to
`user-4`, whom everything is allowed.
"""

import asyncio
import sys
from pathlib import Path

from jobledger.api import create
from jobledger.publishing.projected import Naming
from jobledger.service.app import App
from jobledger.web.reviews import Reviews
from jobledger.web.server import serve, tcp_socket
from jobledger.web.streams import Closing
from jobledger.wiring import running
from projectors.contract.publication import Publication
from statemachine.engine.clock import WallClock
from statemachine.log.sqlite import SqliteLog
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster
from tests.unit.api.kubernetes import FakeReviews

USERS = [f"user-{number}" for number in range(5)]


async def _named() -> Naming:
    return Naming("0a1b2c3d-0000-4000-8000-000000000000", Publication("prod-1"))


async def main(store: str, port: str) -> None:
    log = await SqliteLog.open(Path(store), beside=True)
    controller = controller_of(log, MemoryCluster(), WallClock(), roles=frozenset())
    reviews = Reviews(FakeReviews({user: user for user in USERS}, **{user: lambda _: True for user in USERS}))
    app, closing = App(controller), Closing()
    with tcp_socket("127.0.0.1", int(port)) as listening:
        async with running(controller):
            print(listening.getsockname()[1], flush=True)  # noqa: T201 - who starts it waits for this
            await serve(create(app, closing, reviews, named=_named), [listening], closing, asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
