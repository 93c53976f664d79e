"""A controller that runs for as long as a block."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobledger.wiring.controller import Controller
from statemachine.errors import first


@asynccontextmanager
async def running(controller: Controller) -> AsyncIterator[None]:
    """The controller has recovered, and works until the block is left.

    If it cannot go on, the block is cancelled, and its failure raised instead.
    """
    started = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(controller.run(started.set), name="controller")
            try:
                await started.wait()
                yield
            finally:
                task.cancel()
    except BaseExceptionGroup as group:
        raise first(group) from None
