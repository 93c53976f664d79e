"""The garbage collector where one process runs many worlds: what a world leaves goes when it is over.

Readers that recover freeze what is there (`statemachine.log.reader`): right for a process with one life, and for one
with thousands of them the end of its memory.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final
from unittest.mock import patch

_COLLECT_AFTER: Final = (20_000, 20, 20)
"""As a controller has it; from the first step on, so that all runs of a seed collect alike."""


@contextmanager
def one_world() -> Iterator[None]:
    """Nothing of what is made meanwhile stays, and no collection goes over what was there before."""
    _leave_modules_out()
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        with patch.object(gc, "freeze", _nothing):
            yield
    finally:
        gc.collect()
        gc.set_threshold(*before)


@cache
def _leave_modules_out() -> None:
    """Once in a process: to go over its modules takes longer than to simulate many a world."""
    gc.collect()
    gc.freeze()


def _nothing() -> None:
    """What was made in a world is not kept for a later one."""
