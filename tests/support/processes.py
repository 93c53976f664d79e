"""Processes within one simulated loop, that can be frozen (SIGSTOP), resumed, and killed (SIGKILL).

A process is everything that runs in its context: its first task and what that starts. While it is frozen none of its
callbacks runs, time goes on, and timers that were due meanwhile fire when it goes on, as after a SIGCONT. One that is
killed does nothing any more; `bury` ends its tasks when the simulation is over.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from typing import Any

from tests.support.simulated import SimulatedLoop

_CURRENT: ContextVar["Process | None"] = ContextVar("process", default=None)


class Process:
    """One process, from `start` to `kill`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_frozen = False
        self.is_killed = False
        self._held: list[asyncio.Handle] = []
        self.task: asyncio.Task[None] | None = None

    def start(self, main: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """`main` runs as the process."""
        context = copy_context()
        context.run(_CURRENT.set, self)
        self.task = asyncio.get_running_loop().create_task(main, name=self.name, context=context)
        return self.task

    def freeze(self) -> None:
        """It does nothing until `resume`."""
        self.is_frozen = True

    def resume(self) -> None:
        """It goes on with everything that became due meanwhile; one that was killed stays so."""
        if not self.is_killed:
            self._go_on()

    def kill(self) -> None:
        """It does nothing any more, not even clean up."""
        self.is_killed = self.is_frozen = True

    async def bury(self) -> None:
        """Its tasks are cancelled and have ended. What they still do must reach nobody."""
        self._go_on()
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])

    @property
    def is_running(self) -> bool:
        """It was started, and neither ended nor was killed."""
        return self.task is not None and not self.is_killed and not self.task.done()

    def hold(self, call: asyncio.Handle) -> None:
        """The call became due while it is frozen."""
        self._held.append(call)

    def _go_on(self) -> None:
        self.is_frozen = False
        held, self._held = self._held, []
        asyncio.get_running_loop()._ready.extend(held)  # type: ignore[attr-defined]


def current() -> Process | None:
    """The process whose code runs."""
    return _CURRENT.get()


class ProcessLoop(SimulatedLoop):
    """A simulated loop for several processes. It holds their tasks: those of one that was killed wait for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.set_task_factory(self._made)

    def _made(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
        task = asyncio.Task(work, loop=loop, **options)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _run(self, handle: asyncio.Handle) -> None:
        """The callback runs, or is held back while its process is frozen."""
        process = handle._context.get(_CURRENT)  # type: ignore[attr-defined]
        if process is not None and process.is_frozen:
            process.hold(handle)
        else:
            handle._run()
