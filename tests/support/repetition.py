"""How much of what any one time, or size, may not show: a little before a merge, more in long runs (`make soak`)."""

import os
from typing import Final, TypeVar

T = TypeVar("T")

FULL_SIZE: Final = "JOBLEDGER_FULL_SIZE"
"""Variable that asks for the size that a long run has time for."""


def kills(usual: int) -> int:
    """How often something is killed with SIGKILL: as `JOBLEDGER_KILLS` says, else `usual`."""
    return int(os.environ.get("JOBLEDGER_KILLS") or usual)


def sized(usual: T, full: T) -> T:
    """`full` in a run at full size, else `usual`."""
    return full if os.environ.get(FULL_SIZE) == "1" else usual


SCREENS: Final = sized(
    [(1440, "light"), (390, "dark")], [(1440, "light"), (390, "dark"), (1440, "dark"), (390, "light")]
)
"""Widths and colour schemes in which pages are looked at: each of both, or each with each."""
