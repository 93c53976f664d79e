"""How often a process of ours looks for garbage: what it keeps lives long, and forms no cycles."""

import gc
from typing import Final

_AFTER: Final = (20_000, 20, 20)
"""Objects made, then collections of the younger generation, before one is collected (Python: 700, 10, 10)."""


def collect_rarely() -> None:
    """From now on the collector does not look through states, entries and events all the time, and find nothing."""
    gc.set_threshold(*_AFTER)
