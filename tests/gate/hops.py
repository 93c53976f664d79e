"""How many functions and modules of the product a change passes through, from the watch to the write.

`make house HOPS=1`. Each walk is done on a whole controller in one process, over a cluster and a log in memory, on
simulated time, and a second time when everything has been imported and compiled. Counted are calls of functions, the
functions, and the modules they are in.
"""

import asyncio
import itertools
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from jobledger.wiring import running
from k8s_bridge.port import Ref
from tests.gate.house import PRODUCT
from tests.support.controllers import controller_of
from tests.support.memory_cluster import MemoryCluster, counted_uids
from tests.support.memory_log import MemoryLog
from tests.support.scenario import API, KIND, START, workers
from tests.support.simulated import LoopClock, run_simulated

_ROOT: Final = Path(__file__).resolve().parents[2]
_AT_REST: Final = 5.0
"""Seconds of simulated time after which everything that follows from a change has been done."""


class Hops(NamedTuple):
    """What was entered on a walk."""

    calls: int
    functions: int
    modules: int


class _Counter:
    """Counts entries of the product's functions while it is on; a generator that goes on enters again."""

    def __init__(self) -> None:
        self.calls = 0
        self.functions: set[tuple[str, str]] = set()
        self._folders = tuple(f"{_ROOT / package}/" for package in PRODUCT)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(self._folders):
            self.calls += 1
            self.functions.add((code.co_filename, code.co_qualname))

    @property
    def hops(self) -> Hops:
        """So far."""
        return Hops(self.calls, len(self.functions), len({file for file, _ in self.functions}))


@contextmanager
def counted() -> Iterator[_Counter]:
    """Counts what is entered inside the block."""
    counter = _Counter()
    sys.setprofile(counter)
    try:
        yield counter
    finally:
        sys.setprofile(None)


async def _exit_137(cluster: MemoryCluster) -> None:
    (pod,) = cluster.objects.peek_all("Pod")
    cluster.end_pod("demo", pod["metadata"]["name"], 137)


async def _edit(cluster: MemoryCluster) -> None:
    change = {"spec": {"runPolicy": {"backoffLimit": 7}}}
    await cluster.patch(Ref(API, KIND, "demo", "train"), change)


WALKS: Final[dict[str, Callable[[MemoryCluster], Awaitable[None]]]] = {
    "a pod exits with 137": _exit_137,
    "the spec is edited": _edit,
}
"""What is done to a job of one worker that runs."""


_WALK: Final = itertools.count()


def walked(act: Callable[[MemoryCluster], Awaitable[None]]) -> Hops:
    """What is entered from the change to the last write that follows from it."""
    run_simulated(_walk(act), seed=1)
    return run_simulated(_walk(act), seed=1)


async def _walk(act: Callable[[MemoryCluster], Awaitable[None]]) -> Hops:
    clock = LoopClock(START)
    # every walk has uids of its own: what is kept of objects that were met before would spare it calls
    cluster = MemoryCluster(clock=clock.now, new_uid=counted_uids(f"walk-{next(_WALK)}-"))
    spec = workers(1, policy="OnFailure", runPolicy={"backoffLimit": 3})
    async with running(controller_of(MemoryLog(), cluster, clock)):
        meta = {"name": "train", "namespace": "demo"}
        await cluster.create({"apiVersion": API, "kind": KIND, "metadata": meta, "spec": spec})
        await asyncio.sleep(_AT_REST)
        with counted() as counter:
            await act(cluster)
            await asyncio.sleep(_AT_REST)
    await cluster.close()
    return counter.hops


def lines() -> Iterator[str]:
    """A line a walk."""
    yield f"{'walk':24} {'calls':>8} {'functions':>10} {'modules':>8}"
    for name, act in WALKS.items():
        hops = walked(act)
        yield f"{name:24} {hops.calls:>8} {hops.functions:>10} {hops.modules:>8}"
