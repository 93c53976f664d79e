"""The controller of one machine: a SQLite file, and pods as processes."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from jobledger.places import data_folder
from jobledger.telemetry.tracing import measuring
from jobledger.wiring.controller import Controller


@asynccontextmanager
async def embedded(store: Path, *, evidence: bool = True, python: str = "") -> AsyncIterator[Controller]:
    """A controller over one SQLite file and the processes of this machine, not started; then all is closed.

    Pods live on when the controller ends, and are adopted by the next one of the same store.

    Raises:
        ConfigError: the environment asks for traces that cannot be had.
        StoreInUse, StoreUnusable: the store cannot be this process's.
    """
    from k8s_bridge.admission import admit
    from k8s_bridge.local import LocalCluster
    from projectors.history import HistoryProjector
    from statemachine.engine.clock import WallClock
    from statemachine.log.sqlite import SqliteLog

    async with AsyncExitStack() as stack:
        instruments = await stack.enter_async_context(measuring(os.environ))
        event_log = await SqliteLog.open(store)
        stack.push_async_callback(event_log.close)
        data = data_folder(event_log.store.path)
        history = HistoryProjector(event_log, event_log.store)
        cluster = await stack.enter_async_context(
            LocalCluster(event_log.store, data, admit=admit, python=python)
        )
        yield Controller(
            event_log,
            cluster,
            WallClock(),
            streams=[history],
            evidence=evidence,
            instruments=instruments,
        )
