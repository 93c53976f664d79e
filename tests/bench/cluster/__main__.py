"""`python -m tests.bench.cluster`: jobledger on a real API server, beside a bare client and a Go operator.

Every measurement gets a control plane of its own. Prints one table; with `--json FILE` writes all values.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console

from tests.bench.cluster import table
from tests.bench.cluster.figures import PEER, RAW, Run, verdicts
from tests.bench.cluster.idle import one_by_one
from tests.bench.cluster.load import many_jobs
from tests.bench.cluster.peer import NoGo, training_operator
from tests.bench.cluster.plane import Plane, control_plane
from tests.bench.cluster.programs import Process, Program, jobledger
from tests.bench.cluster.raw import bare_client
from tests.bench.results import machine
from tests.harness import CommandFailed

Load = Callable[[Program, Process, Plane, int], Awaitable[Run]]


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
        "--jobs", type=_positive, nargs="*", default=[100, 300, 1000], help="how many at once"
    )
    parser.add_argument("--runs", type=int, default=50, help="of one job on an idle system; 0: none")
    parser.add_argument("--peer", action="store_true", help="measure Kubeflow's training operator, too")
    parser.add_argument(
        "--only", nargs="*", choices=["raw", "ours"], default=["raw", "ours"], help="beside the peer"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all values to FILE")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 if a goal is missed or not measured"
    )
    return parser.parse_args()


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} jobs cannot be measured; it takes 1 or more")
    return number


async def _measure(wanted: argparse.Namespace, runs: list[Run], console: Console) -> None:
    """Fills `runs`, so that what was measured is there even if a later measurement breaks down."""
    programs = [jobledger()] if "ours" in wanted.only else []
    if wanted.peer:
        try:
            with console.status(f"building {PEER}"):
                programs.append(await training_operator())
        except NoGo as error:
            console.print(str(error), markup=False)
    for jobs in wanted.jobs:
        if "raw" in wanted.only:
            with console.status(f"{RAW}, {jobs} jobs"):
                runs.append(await _bare(jobs))
        for program in programs:
            with console.status(f"{program.name}, {jobs} jobs"):
                runs.append(await _run(program, many_jobs, jobs))
    for program in programs if wanted.runs else ():
        with console.status(f"{program.name}, one job at a time"):
            runs.append(await _run(program, one_by_one, wanted.runs))


async def _bare(jobs: int) -> Run:
    async with control_plane(jobledger().crd) as plane:
        return await bare_client(plane, jobs)


async def _run(program: Program, load: Load, count: int) -> Run:
    async with control_plane(program.crd) as plane, program.running(plane) as process:
        return await load(program, process, plane, count)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


if __name__ == "__main__":
    sys.exit(main())
