"""Processes within one simulated loop, that can be frozen (SIGSTOP), resumed, and killed (SIGKILL).

A process is everything that runs in its context: its first task and what that starts. While it is frozen none of its
callbacks runs, time goes on, and timers that were due meanwhile fire when it goes on, as after a SIGCONT. One that is
killed does nothing any more; `bury` ends its tasks when the simulation is over.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVarTuple, Unpack

from tests.support.simulated import SimulatedLoop

_CURRENT: ContextVar["Process | None"] = ContextVar("process", default=None)

_Arguments = TypeVarTuple("_Arguments")


class Process:
    """One process, from `start` to `kill`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_frozen = False
        self.is_killed = False
        self._held: list[tuple[_Call, Context]] = []
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

    def hold(self, call: "_Call", context: Context) -> None:
        """The call became due while it is frozen."""
        self._held.append((call, context))

    def _go_on(self) -> None:
        self.is_frozen = False
        held, self._held = self._held, []
        loop = asyncio.get_running_loop()
        for call, context in held:
            loop.call_soon(call.again, context=context)


def current() -> Process | None:
    """The process whose code runs."""
    return _CURRENT.get()


class _Call:
    """A callback of a loop, held back while its process is frozen."""

    __slots__ = ("args", "callback", "context", "handle")

    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...], context: Context) -> None:
        self.callback, self.args, self.context = callback, args, context
        self.handle: asyncio.Handle | None = None

    def __call__(self) -> None:
        process = _CURRENT.get()
        if process is not None and process.is_frozen:
            process.hold(self, self.context)
        else:
            self.callback(*self.args)

    def again(self) -> None:
        """It was held back, and is not any more; cancelled meanwhile, it is none."""
        if self.handle is None or not self.handle.cancelled():
            self.callback(*self.args)


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

    def call_soon(
        self,
        callback: Callable[[Unpack[_Arguments]], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """See the base class."""
        call = _Call(callback, args, copy_context() if context is None else context)
        call.handle = super().call_soon(call, context=call.context)
        return call.handle

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Arguments]], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """See the base class."""
        call = _Call(callback, args, copy_context() if context is None else context)
        call.handle = timer = super().call_at(when, call, context=call.context)
        return timer
