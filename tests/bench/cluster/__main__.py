"""`python -m tests.bench.cluster`: jobledger on a real API server, beside a bare client and a Go operator.

Every measurement gets a control plane of its own. Prints one table; with `--json FILE` writes all values.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from tests.bench.cluster import table
from tests.bench.cluster.figures import OURS, PEER, RAW, Run, Sort, verdicts
from tests.bench.cluster.grown import grown
from tests.bench.cluster.idle import one_by_one
from tests.bench.cluster.load import many_jobs
from tests.bench.cluster.peer import NoGo, training_operator
from tests.bench.cluster.plane import Plane, control_plane
from tests.bench.cluster.programs import APART, Process, Program, jobledger
from tests.bench.cluster.raw import bare_client
from tests.bench.cluster.shapes import WORKERS
from tests.bench.cluster.wide import wide_job
from tests.bench.results import machine
from tests.harness import CommandFailed

Load = Callable[[Program, Process, Plane, int], Awaitable[Run]]

_JOBS: Final = (100, 300, 1000)
_RUNS: Final = 50


def main() -> int:
    """Measures what was asked for; 1 if a goal was missed under `--strict`, 2 if a measurement broke down."""
    wanted, console = _arguments(), Console(width=120)
    runs: list[Run] = []
    try:
        asyncio.run(_measure(wanted, runs, console))
    except* (RuntimeError, TimeoutError, OSError, CommandFailed) as group:
        console.print(f"this run broke down: {_first(group)}", markup=False)
        broken = True
    else:
        broken = False
    judged, where = verdicts(runs), machine()
    if runs:
        console.print(table.figures(runs), "", table.goals(judged), "", *table.notes(runs), where, sep="\n")
    if wanted.json:
        data = {
            "machine": where,
            "runs": [run.data() for run in runs],
            "goals": [verdict.data() for verdict in judged],
        }
        wanted.json.write_text(json.dumps(data, indent=2) + "\n")
    if broken:
        return 2
    return int(wanted.strict and not (judged and all(verdict.met for verdict in judged)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cluster", description=__doc__)
    parser.add_argument(
        "--jobs",
        type=_positive,
        nargs="*",
        help=f"how many at once; {', '.join(map(str, _JOBS))} without --replicas and --live",
    )
    parser.add_argument(
        "--workers",
        type=_number,
        default=WORKERS,
        help=f"of each of these jobs, beside its master ({WORKERS})",
    )
    parser.add_argument(
        "--runs",
        type=_number,
        help=f"of one job on an idle system; 0: none; {_RUNS} without --replicas and --live",
    )
    parser.add_argument("--replicas", type=_positive, nargs="*", default=[], help="of one large job")
    parser.add_argument(
        "--repeat",
        type=_positive,
        default=20,
        help="failures of replicas of a large job, and jobs one after another beside those of --live (20)",
    )
    parser.add_argument(
        "--live", type=_positive, nargs="*", default=[], help="jobs that run when the controller starts"
    )
    parser.add_argument("--ended", type=_number, default=0, help="jobs that are gone by then, in the log (0)")
    parser.add_argument(
        "--apart",
        type=int,
        nargs="*",
        default=[],
        choices=APART,
        help="measure jobledger as so many processes, too: the engine and the rest, or projectors apart from both",
    )
    parser.add_argument("--peer", action="store_true", help="measure Kubeflow's training operator, too")
    parser.add_argument(
        "--only", nargs="*", choices=["raw", "ours"], default=["raw", "ours"], help="beside the peer"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all values to FILE")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 if a goal is missed or not measured"
    )
    wanted = parser.parse_args()
    special = bool(wanted.replicas or wanted.live)
    if wanted.runs is None:
        wanted.runs = 0 if special else _RUNS
    if wanted.jobs is None:
        wanted.jobs = [] if special else list(_JOBS)
    return wanted


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} cannot be measured; it takes 1 or more")
    return number


def _number(text: str) -> int:
    if (number := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"{number} is less than none")
    return number


async def _measure(wanted: argparse.Namespace, runs: list[Run], console: Console) -> None:
    """Fills `runs`, so that what was measured is there even if a later measurement breaks down."""
    splits = [jobledger(), *(jobledger(APART[count]) for count in wanted.apart)]
    programs = splits if "ours" in wanted.only else []
    if wanted.peer:
        try:
            with console.status(f"building {PEER}"):
                programs.append(await training_operator())
        except NoGo as error:
            console.print(str(error), markup=False)
    many = [replace(program, shape=program.shape.of(wanted.workers)) for program in programs]
    for jobs in wanted.jobs:
        if "raw" in wanted.only:
            with console.status(f"{RAW}, {jobs} jobs"):
                runs.append(await _bare(wanted.workers, Sort.MANY, jobs))
        for program in many:
            with console.status(f"{program.name}, {jobs} jobs"):
                runs.append(await _run(program, many_jobs, jobs, at_once=jobs))
    for program in programs if wanted.runs else ():
        with console.status(f"{program.name}, one job at a time"):
            runs.append(await _run(program, one_by_one, wanted.runs))
    for replicas in wanted.replicas:
        if "raw" in wanted.only:
            with console.status(f"{RAW}, {replicas} replicas"):
                runs.append(await _bare(replicas - 1, Sort.WIDE, 1))
        for program in programs:
            with console.status(f"{program.name}, {replicas} replicas"):
                wide = replace(program, shape=program.shape.of(replicas - 1))
                runs.append(await _run(wide, wide_job, wanted.repeat))
    for live in wanted.live:
        with console.status(f"{OURS}, beside {live} jobs"):
            program = jobledger()
            async with control_plane(program.crd, pods=program.shape.pods * live) as plane:
                runs.append(await grown(plane, live, wanted.ended, wanted.repeat))


async def _bare(workers: int, sort: Sort, jobs: int) -> Run:
    program = jobledger()
    shape = program.shape.of(workers)
    async with control_plane(program.crd, pods=shape.pods * jobs) as plane:
        return await bare_client(plane, shape, sort, jobs)


async def _run(program: Program, load: Load, count: int, at_once: int = 1) -> Run:
    """`at_once`: how many jobs there are at the same time."""
    pods = program.shape.pods * at_once
    async with control_plane(program.crd, pods=pods) as plane, program.running(plane) as process:
        return await load(program, process, plane, count)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


if __name__ == "__main__":
    sys.exit(main())
