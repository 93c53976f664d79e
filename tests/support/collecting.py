"""The garbage collector where one process runs many worlds: what a world leaves goes when it is over.

Readers that recover freeze what is there (`statemachine.log.reader`): right for a process with one life, and for one
with thousands of them the end of its memory.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Final
from unittest.mock import patch

_WORLDS: Final = 20
"""What so many worlds leave is collected at once: most of it has no cycles, and goes by itself."""

_passed: Final = count(1)


@contextmanager
def many_worlds() -> Iterator[None]:
    """Nothing is collected between two worlds: to go over all that one has made frees next to nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def one_world() -> Iterator[None]:
    """Nothing is collected meanwhile, so all runs of a seed go alike; what was made goes some worlds later."""
    _leave_modules_out()
    was_enabled = gc.isenabled()
    before = gc.get_threshold()
    gc.disable()
    try:
        with patch.object(gc, "freeze", _nothing):
            yield
    finally:
        if next(_passed) % _WORLDS == 0:
            gc.collect()
        gc.set_threshold(*before)  # a controller has set its own
        if was_enabled:
            gc.enable()


@cache
def _leave_modules_out() -> None:
    """Once in a process: to go over its modules takes longer than to simulate many a world."""
    gc.collect()
    gc.freeze()


def _nothing() -> None:
    """What was made in a world is not kept for a later one."""
