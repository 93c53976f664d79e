"""Waiting for what another process does."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE = 0.1
"""Seconds between two looks."""


def wait_for(what: str, look: Callable[[], T | None], within: float = 120) -> T:
    """The first answer of `look` that is true, at most `within` seconds from now.

    It blocks: an async test gives it to `asyncio.to_thread`.

    Raises:
        AssertionError: there was none; says `what` was waited for, and the last answer.
    """
    until = time.monotonic() + within
    while not (outcome := look()):
        assert time.monotonic() < until, f"{what}: not within {within} s; last seen: {outcome!r}"
        time.sleep(PAUSE)
    return outcome
