"""The watch of a cluster in a process: for the log, for the projectors here, or for both."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from jobledger.wiring.audit import Audit
from k8s_bridge.watchers import Bridge
from statemachine.engine.source import Pulse
from statemachine.errors import LeaseLost
from statemachine.observations import Observation

log = logging.getLogger(__name__)

Turn = Callable[[], AbstractAsyncContextManager[object]]
"""Entered when it is this process's turn; LeaseLost ends the block when it is over."""


class Guard(Protocol):
    """What knows whether an admission policy guards who is named on jobs."""

    def since(self, api_version: str, kind: str) -> datetime | None:
        """Since when, on jobs of the kind; None where nothing does."""

    async def look(self) -> None:
        """What is known is up to date."""

    async def run(self) -> None:
        """It stays so."""


async def unsent(_: Observation) -> None:
    """The sink of a watch that is there for the projectors of its process alone."""


class BridgeRole:
    """Watches the cluster whenever it is this process's `turn`, each time by a new bridge, that remembers nothing.

    `guard` and `audit` belong to a watch for the log.
    """

    def __init__(
        self, opened: Callable[[], Bridge], turn: Turn, guard: Guard | None, audit: Audit | None
    ) -> None:
        self._opened, self._turn, self._guard, self._audit = opened, turn, guard, audit
        self._task: asyncio.Task[Any] | None = None
        self.bridge: Bridge | None = None
        """What watches now; None while it is another process's turn."""

    def loops(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """What is to run, by name."""
        yield "bridge", self._watch()
        if self._audit is not None:
            yield "audit", self._audit.run(lambda: self.bridge)
        if self._guard is not None:
            yield "guard", self._guard.run()

    async def _watch(self) -> None:
        self._task = asyncio.current_task()
        while True:
            try:
                async with self._turn():
                    if self._guard is not None:
                        await self._guard.look()
                    self.bridge = self._opened()
                    await self.bridge.run()
            except LeaseLost as error:
                fields = {"action": "lease-lost", "error": str(error)}
                log.warning("another process watches now", extra=fields)
            finally:
                self.bridge = None

    def stop(self) -> None:
        """Nothing more is observed."""
        if self._task is not None:
            self._task.cancel()

    def pulses(self, answered: int) -> dict[str, Pulse]:
        """How the watch is doing: it is alive while the cluster has `answered` more."""
        if self.bridge is None:
            return {}
        progress = self.bridge.progress
        beats = progress.starts + progress.failures + progress.changes
        return {"bridge": Pulse(beats + answered, not progress.synced)}
