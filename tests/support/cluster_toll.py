"""What was done to a system, and what it had to bear: a run that burns nothing shows nothing."""

from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Final

KILLS_AT_WORK: Final = "kills of a process that worked"
OTHER_KILLS: Final = "kills of a process that began"
ENDED: Final = "ends of a process that nobody killed"
STOPS: Final = "stops of an engine that worked"
API_SERVER_KILLS: Final = "kills of the API server"
NODE_KILLS: Final = "kills of nodes, scheduler or controllers of Kubernetes"
BROKER_KILLS: Final = "kills of a broker"
ACTS: Final = "acts of people"
PODS: Final = "pods"
RESTARTS: Final = "restarts"
LOST: Final = "pods lost"

EARLY: Final = 5
"""Of so many kills of a process one does not wait until it works: it may die before it has begun."""


def at_work(kills: int) -> int:
    """How many of the kills of a process have to hit it at work; a fifth of those that wait may come too late."""
    return max(1, (kills - kills // EARLY) * 4 // 5)


class Toll:
    """Counts, by several threads."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, what: str, number: int = 1) -> None:
        """It happened, so many times."""
        with self._lock:
            self._counts[what] += number

    def short_of(self, least: Mapping[str, int]) -> Iterator[str]:
        """What happened less often than it had to."""
        for what, number in least.items():
            if self._counts[what] < number:
                yield f"{what}: {self._counts[what]}, and not {number}"

    def __str__(self) -> str:
        return ", ".join(f"{number} {what}" for what, number in sorted(self._counts.items()))
