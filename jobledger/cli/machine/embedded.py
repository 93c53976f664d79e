"""The embedded controller as commands open it: the installation looked at, the default folder made."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from jobledger.program import installation

if TYPE_CHECKING:
    from jobledger.settings.model import Settings
    from jobledger.wiring import Controller
    from jobledger.wiring.ledger import Kafka


@asynccontextmanager
async def controller_of(settings: "Settings", log: "Kafka | None" = None) -> "AsyncIterator[Controller]":
    """A controller over the store of these settings, not started; `log` is where the log is, if not in the store.

    Raises:
        ConfigError: another distribution owns one of our packages.
        StoreInUse, StoreUnusable, LogUnavailable: the store, or the log, cannot be this process's.
    """
    from jobledger.settings.locations import make_default_folder
    from jobledger.wiring import embedded
    from jobledger.wiring.history import history_of
    from k8s_bridge.attended import Attended, OptIn
    from statemachine.kinds import OPT_IN

    installation.check()
    make_default_folder(settings.store)
    configured = {kind.names.kind: OptIn(settings=settings.of(kind).of_jobs()) for kind, _ in OPT_IN}
    opened = embedded(
        settings.store,
        log=log,
        history=history_of(settings),
        key_file=settings.snapshot_key_file,
        evidence=settings.evidence,
        python=settings.python,
        attended=Attended(opted_in=configured, kept=settings.restart.of_jobs()),
        privacy=settings.privacy,
        published=settings,
    )
    async with opened as controller:
        yield controller
