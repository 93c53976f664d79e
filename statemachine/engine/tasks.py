"""Operations that are retried for ever, and still end when their task is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def attempt(work: Coroutine[Any, Any, None]) -> None:
    """Does the work, raises what it raises; cancelled, cancels the work, waits for it, and raises CancelledError.

    An error while cancelled work cleans up replaces the cancellation, and a cancelled TaskGroup raises the errors of
    its tasks instead. A loop that retries after errors would retry after that one, too, and is not cancelled a second
    time. `Task.cancelling` does not help: a TaskGroup whose task failed leaves it raised (CPython before 3.13).
    """
    task = asyncio.create_task(work, name="attempt")
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # otherwise asyncio logs that the exception was never retrieved
        raise
    task.result()
