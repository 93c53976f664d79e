"""From a submitted job to its running process on this machine, beside a bare fork and exec."""

import asyncio
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from jobledger.wiring import Controller, embedded, running
from tests.bench.histories import API, KIND
from tests.bench.results import Result

_RUNS: Final = 25
_LINE: Final = 'date +%s%N > "$0.part" && mv "$0.part" "$0"'
"""Writes when it ran: nanoseconds, into the file that it is given."""


def submit_to_start() -> Iterator[Result]:
    """Milliseconds from the creation of the job object to its process's first line, less a bare start's."""
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        bare, whole = asyncio.run(_measure(Path(folder)))
    base = statistics.median(bare)
    note = f"{statistics.median(whole):.1f} ms in all, a bare start {base:.1f} ms"
    above = tuple(seconds - base for seconds in whole)
    yield Result("submit to process start", "ms above bare", above, 50, "most", note)


async def _measure(folder: Path) -> tuple[list[float], list[float]]:
    bare, whole = [], []
    async with embedded(folder / "store.db") as controller, running(controller):
        await _submitted(controller, folder / "warm-up")
        for number in range(_RUNS):
            bare.append(await _bare(folder / f"bare-{number}"))
            whole.append(await _submitted(controller, folder / f"job-{number}"))
    return bare, whole


async def _bare(mark: Path) -> float:
    begun = time.time_ns()
    with subprocess.Popen(["sh", "-c", _LINE, str(mark)]):  # noqa: ASYNC220 - the start itself is measured
        return await _until(mark, begun)


async def _submitted(controller: Controller, mark: Path) -> float:
    begun = time.time_ns()
    await controller.cluster.create(_manifest(mark))
    return await _until(mark, begun)


async def _until(mark: Path, begun: int) -> float:
    """Milliseconds from `begun` to what the process wrote into `mark`."""
    async with asyncio.timeout(30):
        while not mark.exists():  # noqa: ASYNC110 - another process makes the file
            await asyncio.sleep(0.002)
    return (int(mark.read_text()) - begun) / 1e6


def _manifest(mark: Path) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "any", "command": ["sh", "-c", _LINE, str(mark)]}
    worker = {"type": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": mark.name, "namespace": "default"},
        "spec": {"replicaSpecs": [worker]},
    }
