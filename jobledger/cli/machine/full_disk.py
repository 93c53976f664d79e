"""What becomes of a command when its store has no room: it says so and ends, instead of waiting for ever.

Nothing that is to be waited for comes true then, as everything goes through the log: neither the end of a job, nor
its deletion when somebody presses Ctrl-C. So the command is watched from the outside, whatever it waits for.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Final

from jobledger.program.signals import EndSignals
from jobledger.wiring import Controller
from statemachine.errors import ClusterUnavailable, LogUnavailable

_LOOK: Final = 0.1
"""Seconds between two looks."""

_TRY: Final = 10
"""Looks from one try to write to the next, where the disk says that it has no room."""

_PAGE: Final = 4096
"""Bytes that a store needs at least for whatever it writes."""

_READER: Final = "room"


class NoRoom(LogUnavailable):
    """The command was given up, as there was no room for what it has to write."""


async def with_room(
    work: Coroutine[object, object, int],
    controller: Controller,
    asked: EndSignals,
    disk: Path,
    *,
    patience: float,
    given_up: Callable[[], Awaitable[str]],
) -> int:
    """What `work` gives, if it gets as far as that.

    It is given up when its store, in the folder `disk`, has been full for `patience` seconds, or is full while the
    process is asked to end. `given_up` clears away then, and says what happened and what there is to do.

    Raises:
        NoRoom: that has happened.
    """
    working = asyncio.create_task(work, name="command")
    watching = asyncio.create_task(_full(controller, asked, disk, patience), name="room")
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
        if working.done() and not _for_want_of_room(working, controller):
            return working.result()
        raise NoRoom(await given_up())
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


def _for_want_of_room(working: asyncio.Task[int], controller: Controller) -> bool:
    error = None if working.cancelled() else working.exception()
    is_away = isinstance(error, LogUnavailable | ClusterUnavailable)
    return is_away and bool(controller.ledger.room.lack(asyncio.get_running_loop().time()))


async def _full(controller: Controller, asked: EndSignals, disk: Path, patience: float) -> None:
    """There has been no room for too long."""
    clock, room, looks = asyncio.get_running_loop(), controller.ledger.room, 0
    while not room.lack(now := clock.time()) or not (asked.times or room.lasting(now) >= patience):
        await asyncio.sleep(_LOOK)
        looks += 1
        if looks % _TRY == 0 and shutil.disk_usage(disk).free < _PAGE:
            await _tried(controller)


async def _tried(controller: Controller) -> None:
    """The room is known, also when there is nothing else to write at the moment."""
    with suppress(LogUnavailable):
        await controller.ledger.partitions.logs[0].save_checkpoint(_READER, 0)
