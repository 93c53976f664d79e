"""Controllers as processes of simulated time, and what they log as errors."""

import asyncio
import logging
from collections.abc import Container
from typing import TYPE_CHECKING

from jobledger.wiring.roles import ALL, Roles
from statemachine.errors import LogUnavailable
from statemachine.ids import JobUid
from tests.support.faults import Life

if TYPE_CHECKING:
    from tests.simulation.world import World


class Process:
    """One run of a controller, from its start to its end."""

    def __init__(self, world: "World", roles: Roles = ALL) -> None:
        self._world = world
        self.life = Life(world.weather, self._fell)
        self.controller = world.controller(self.life, roles)
        self.task = asyncio.get_running_loop().create_task(self._run(), name="controller")

    async def _run(self) -> None:
        try:
            await self.controller.run()
        except LogUnavailable as error:
            self._world.note(f"controller gave up: {error}")
        except Exception as error:  # noqa: BLE001 - whatever ends a controller is a finding
            self._world.broken.append(f"controller died: {_described(error)}")

    def _fell(self) -> None:
        self._world.note("controller crashed in the middle of a call")
        self.task.cancel()

    def kill(self) -> None:
        """As `kill -9`: what it was doing is not finished, nothing is cleaned up."""
        self.life.kill()
        self.task.cancel()

    def stop(self) -> None:
        """As `kill -15`: it may finish what is in hand, and saves its states."""
        self.task.cancel()

    async def ended(self) -> None:
        """Returns when nothing of it runs any more."""
        await asyncio.wait([self.task])


def _described(error: BaseException) -> str:
    inner = (
        [_described(exception) for exception in error.exceptions]
        if isinstance(error, BaseExceptionGroup)
        else []
    )
    return "; ".join(inner) or repr(error)


class Errors(logging.Handler):
    """Whatever is logged as an error is a finding."""

    def __init__(self, findings: list[str], unreadable: Container[JobUid]) -> None:
        super().__init__(logging.ERROR)
        self._findings, self._unreadable = findings, unreadable

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line, but for one of a job in quarantine."""
        if getattr(record, "job", None) in self._unreadable:
            return
        error = record.exc_info[1] if record.exc_info else None
        self._findings.append(f"logged: {record.getMessage()}: {error!r}")
