"""How often tests repeat what any one time may not show: a few times before a merge, more often in long runs."""

import os


def kills(usual: int) -> int:
    """How often something is killed with SIGKILL: as `JOBLEDGER_KILLS` says, else `usual`."""
    return int(os.environ.get("JOBLEDGER_KILLS") or usual)
