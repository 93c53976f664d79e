"""Whether a container that has ended is started again in its pod, and after how long. Pure.

As with a kubelet, the first restart comes at once, the later ones after a back-off that doubles, and begins anew
after a long run. Source: Kubernetes, pod lifecycle, container restarts.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

from k8s_bridge.kubelet.containers import NEVER, Ended
from k8s_bridge.port import Manifest
from statemachine.backoff import backoff
from statemachine.observations import CANNOT_START

FIRST: Final = 10.0
"""Seconds before the second restart in a row; each later one waits twice as long."""

_MOST: Final = 300.0
_ENOUGH: Final = 32
"""The number of runs that count: no back-off can double more often."""

_LONG: Final = timedelta(minutes=10)
"""After a run that lasted so long the back-off begins anew."""


class ContainerRun(NamedTuple):
    """One run of a container: when its process started (None if it never did), and how it ended."""

    started_at: datetime | None
    ended: Ended

    @property
    def was_long(self) -> bool:
        """The back-off begins anew after this run."""
        return self.started_at is not None and self.ended.at - self.started_at >= _LONG


def again(pod: Manifest, ended: Ended, *, init: bool) -> bool:
    """A container of `pod` with this end is started again."""
    policy = (pod.get("spec") or {}).get("restartPolicy") or "Always"
    if ended.reason in (NEVER, CANNOT_START) or policy not in ("Always", "OnFailure"):
        return False
    return not ended.well or (policy == "Always" and not init)


def restarts(pod: Manifest) -> bool:
    """The pod's restartPolicy may start containers again."""
    return (pod.get("spec") or {}).get("restartPolicy") in (None, "Always", "OnFailure")


def wait(newest_first: Iterable[ContainerRun], first: float = FIRST) -> float:
    """Seconds between the end of the last run and the next, of all runs `newest_first`; from 0 to 300."""
    short = 0
    for run in islice(newest_first, _ENOUGH):
        if run.was_long:
            break
        short += 1
    else:
        short -= 1  # the very first restart does not wait
    return backoff(short, first=first, most=_MOST) if short > 0 else 0.0
