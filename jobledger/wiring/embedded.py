"""The controller of one machine: a SQLite file, and pods as processes."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobledger.settings.locations import data_folder
from jobledger.settings.model import Settings
from jobledger.settings.sections import PrivacySettings
from jobledger.telemetry.tracing import measuring
from jobledger.wiring import history as views
from jobledger.wiring.controller import Controller
from jobledger.wiring.keys import key_of
from jobledger.wiring.ledger import Kafka, Ledger, ledger_of
from jobledger.wiring.options import ControllerOptions
from jobledger.wiring.roles import ALL
from jobledger.wiring.sinks import sinks_of
from k8s_bridge.attended import EVERYTHING, Attended
from statemachine.log.partitions import Partitions

if TYPE_CHECKING:
    from statemachine.log.sqlite import SqliteLog


@asynccontextmanager
async def embedded(
    store: Path,
    *,
    log: Kafka | None = None,
    history: views.Where | None = None,
    key_file: Path | None = None,
    evidence: bool = True,
    python: str = "",
    attended: Attended = EVERYTHING,
    privacy: PrivacySettings | None = None,
    published: Settings | None = None,
) -> AsyncIterator[Controller]:
    """A controller over one SQLite file and the processes of this machine, not started; then all is closed.

    With `log` the log is in Kafka, and the file holds the objects; the history is at `history`, else beside the log,
    and so is the key of snapshots at `key_file`.

    `attended` is every kind, as nobody else could manage them, with what is configured for jobs of opt-in kinds.
    `privacy` says what is kept out of the log, `published` where public events go (None: nowhere).
    Pods live on when the controller ends, and are adopted by the next one of the same store.

    Raises:
        ConfigError: the environment asks for traces that cannot be had, the history's database lets nobody in, or the
            key of snapshots is none.
        StoreInUse, StoreUnusable, LogUnavailable: the store, or the log, cannot be this process's.
    """
    from k8s_bridge.admission import admit_here
    from k8s_bridge.local import LocalCluster
    from statemachine.engine.clock import WallClock
    from statemachine.log.sqlite import SqliteLog

    async with AsyncExitStack() as stack:
        instruments = await stack.enter_async_context(measuring(os.environ))
        event_log = await SqliteLog.open(store, key=key_of(key_file, store, ALL) if log is None else None)
        stack.push_async_callback(event_log.close)
        ledger = await stack.enter_async_context(
            _beside(event_log, history)
            if log is None
            else ledger_of(log, ALL, history, instruments.trace, key_file=key_file)
        )
        sinks = None
        if published is not None:
            sinks = await stack.enter_async_context(sinks_of(published, log or event_log.store.path, ledger))
        cluster = await stack.enter_async_context(
            LocalCluster(event_log.store, data_folder(event_log.store.path), admit=admit_here, python=python)
        )
        yield Controller(
            replace(ledger, share=None, room=event_log.store.room),  # no other process projects
            cluster,
            WallClock(),
            ControllerOptions(
                attended=attended,
                evidence=evidence,
                env_values=(privacy or PrivacySettings()).values_beside(store),
            ),
            instruments=instruments,
            sinks=sinks,
        )


@asynccontextmanager
async def _beside(event_log: "SqliteLog", history: views.Where | None) -> AsyncIterator[Ledger]:
    """The ledger whose log is in the store, with the inbox beside it; the history is at `history`, else there."""
    from statemachine.log.sqlite_inbox import SqliteInbox

    async with views.opened_or_beside(history, event_log.store) as database:
        inbox = await SqliteInbox.open(event_log.store)
        yield Ledger(Partitions([event_log]), views.streams_of(database, [event_log]), inbox)
