"""What is tried again for ever, and ends all the same when its task is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def attempt(work: Coroutine[Any, Any, None]) -> None:
    """Does the work, raises what it raises; cancelled, cancels the work, waits for it, and raises CancelledError.

    An error while cancelled work cleans up takes the place of the cancellation, and a TaskGroup that is cancelled
    raises the errors of its tasks instead. A loop that waits errors out would take such a one for one more and run
    on, and nobody cancels it a second time. `Task.cancelling` does not tell: a TaskGroup whose task failed leaves it
    raised (CPython before 3.13).
    """
    task = asyncio.create_task(work, name="attempt")
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # else asyncio complains that nobody has asked for it
        raise
    task.result()
