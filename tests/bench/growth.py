"""What an engine is like beside many jobs: its start, its memory, and a decision, compared with one beside ten jobs.

`python -m tests.bench.growth --live 10000 --ended 1000000` measures as many as that. The stores are made here, and
opened by processes of their own, by turns: the processor time of a decision is compared within the same run.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console

from jobledger.program.garbage import collect_rarely
from jobledger.wiring.options import KEEPS
from statemachine.engine.clock import WallClock
from statemachine.engine.step import Delivery, Owner
from statemachine.log.reader import Reader
from statemachine.log.sqlite import SqliteLog
from statemachine.observations import Observation
from tests.bench.crowd import AlikeJobs, write_store
from tests.bench.results import Result, stopwatch, table

LIVE: Final = 1_000
ENDED: Final = 100_000
FEW: Final = 10

_TURNS: Final = 3
LEAST: Final = FEW * _TURNS
"""Live jobs that can be measured: each turn ends some."""
_FIRST: Final = 20.0
_MEMORY: Final = 600.0
_SLOWER: Final = 1.1
"""Of a decision beside many jobs, by one beside ten: more than that is no noise."""


def growth(live: int = LIVE, ended: int = ENDED) -> Iterator[Result]:
    """Seconds from a process's start to its first decision, its memory then, and processor time of a decision."""
    size = f"{live:,} live jobs, {ended:,} that are gone"
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        few, many = Path(folder) / "few.db", Path(folder) / "many.db"
        with stopwatch() as watch:
            asyncio.run(write_store(many, live, ended))
        asyncio.run(write_store(few, FEW * _TURNS, 0))
        turns = [(_looked(few, turn), _looked(many, turn)) for turn in range(_TURNS)]
    of_few, of_many = zip(*turns, strict=True)
    note = f"{size}, written in {watch.seconds:.0f} s"
    first = tuple(looked["first"] for looked in of_many)
    yield Result("start to first decision", "s", first, _FIRST, "most", note)
    used = tuple(looked["used"] for looked in of_many)
    yield Result("processor time until then", "s CPU", used, note="interpreter and imports included")
    memory = tuple(looked["memory"] / 2**20 for looked in of_many)
    yield Result("memory of an engine then", "MiB", memory, _MEMORY, "most", size)
    yield Result(f"decision beside {FEW} jobs", "ms CPU", tuple(looked["decision"] for looked in of_few))
    yield Result("decision beside all", "ms CPU", tuple(looked["decision"] for looked in of_many), note=size)
    ratio = tuple(beside["decision"] / alone["decision"] for alone, beside in turns)
    yield Result("decision beside all, of one beside few", "×", ratio, _SLOWER, "most", "by turns")


def _looked(store: Path, turn: int) -> dict[str, float]:
    began = repr(time.time())
    command = [
        sys.executable,
        "-m",
        "tests.bench.growth",
        "--look",
        str(store),
        "--turn",
        str(turn),
        "--began",
        began,
    ]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    measures: dict[str, float] = json.loads(answer)
    return measures


async def _look(store: Path, turn: int, began: float) -> dict[str, float]:
    """Of this process: seconds since `began` until it has decided, bytes in memory then, milliseconds of a decision.

    It decides the ends of the pods of a few jobs, others in each turn, one at a time.
    """
    crowd = AlikeJobs.running()
    lives = [crowd.later(number) for number in range(turn * FEW, (turn + 1) * FEW)]
    first, *others = [observation for moment in zip(*lives, strict=True) for observation in moment]
    log, reader = await SqliteLog.open(store), Reader(keeps=KEEPS)
    await reader.recover(log)
    collect_rarely()
    owner = Owner(log, reader, WallClock())
    await _decide(owner, first)
    measures = {"first": time.time() - began, "used": time.process_time(), "memory": _resident()}
    spent = [await _decide(owner, observation) for observation in others]
    await log.close()
    return measures | {"decision": 1000 * statistics.median(spent)}


async def _decide(owner: Owner, observation: Observation) -> float:
    """Seconds of processor time until its entry is durable and folded, the thread that writes included."""
    used = time.process_time()
    assert await owner.take([Delivery(observation)])
    return time.process_time() - used


def _resident() -> float:
    """Bytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measures, or is the process that is measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__)
    parser.add_argument("--live", type=int, default=LIVE, help=f"jobs whose four pods run ({LIVE})")
    parser.add_argument(
        "--ended", type=int, default=ENDED, help=f"jobs that have ended and are gone ({ENDED})"
    )
    parser.add_argument("--look", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--turn", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.look:
        sys.stdout.write(json.dumps(asyncio.run(_look(wanted.look, wanted.turn, wanted.began))))
        return
    if wanted.live < LEAST or wanted.ended < 0:
        parser.error(f"it takes --live {LEAST} or more, of which some end, and no number below zero")
    Console(width=132).print(table(list(growth(wanted.live, wanted.ended))))


if __name__ == "__main__":
    main()
