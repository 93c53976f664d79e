"""What a measurement took: times, processor seconds, memory, requests."""

import time
from collections import Counter
from typing import Final

from tests.bench.cluster.machine import Busy, cpu, peak_memory
from tests.bench.cluster.plane import Plane
from tests.bench.cluster.shapes import Shape

_RESOURCES: Final = ("pods", "services", "events")
"""Beside the jobs: what a controller writes. `pods/status` and `pods/binding` are other parts' business."""

_VERBS: Final = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
"""Who reads does not follow from the API server's counts: the garbage collector gets jobs, too."""


class Accounts:
    """Times and processor seconds from the moment that it was made; `pids` are the controller's.

    Without any this process is in its place.
    """

    def __init__(self, plane: Plane, pids: list[int]) -> None:
        self._plane, self._pids = plane, pids
        self._cpu, self._plane_cpu, self._own = cpu(pids), cpu(plane.pids()), time.process_time()
        self._busy = Busy.now()
        self.figures: dict[str, float | None] = {}

    @property
    def began(self) -> float:
        """When it was made (time.perf_counter)."""
        return self._busy.at

    def note(self, key: str, when: float | None, since: float | None = None) -> None:
        """`key` happened at `when`, in seconds after `since` or the beginning."""
        self.figures[key] = None if when is None else when - (self.began if since is None else since)

    def close(self) -> None:
        """Nothing that happens from now on counts."""
        used, plane = cpu(self._pids) - self._cpu, cpu(self._plane.pids()) - self._plane_cpu
        own = time.process_time() - self._own
        self.figures |= {"plane_cpu": plane, "others": 100 * self._busy.others(used + plane + own)}
        self.figures["cpu"] = used if self._pids else own
        if self._pids:
            self.figures["memory"] = peak_memory(self._pids)


def of_controller(served: Counter[str], sent: Counter[str], shape: Shape) -> Counter[str]:
    """Of the requests that were `served`: the writes of a controller, without those that the load has `sent`."""
    wanted = {*_RESOURCES, shape.resource, f"{shape.resource}/status"}
    counts: Counter[str] = Counter()
    for key, count in served.items():
        verb, resource = key.split()
        if verb in _VERBS and resource in wanted and count > sent[key]:
            counts[key] = count - sent[key]
    return counts
