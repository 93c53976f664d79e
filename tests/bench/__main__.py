"""`python -m tests.bench`: measures, prints a table, and with `--json FILE` writes the values."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rich.console import Console

from tests.bench.browser import history_in_a_browser
from tests.bench.compare import compare
from tests.bench.core import count_stored, decide_observations, fold_stored
from tests.bench.ended import ended_jobs
from tests.bench.events import public_events
from tests.bench.events_http import events_over_http
from tests.bench.growth import growth
from tests.bench.latency import submit_to_start
from tests.bench.lives import lives
from tests.bench.loop import whole_loop
from tests.bench.memory import idle_jobs
from tests.bench.pages import list_pages
from tests.bench.results import Result, machine, table
from tests.bench.start import starts
from tests.bench.storage import sqlite_append
from tests.bench.visit import visits

BENCHMARKS: Final[dict[str, Callable[[], Iterator[Result]]]] = {
    "fold": fold_stored,
    "count": count_stored,
    "decide": decide_observations,
    "visit": visits,
    "loop": whole_loop,
    "sqlite": sqlite_append,
    "latency": submit_to_start,
    "memory": idle_jobs,
    "ended": ended_jobs,
    "growth": growth,
    "lives": lives,
    "events": public_events,
    "events-http": events_over_http,
    "pages": list_pages,
    "start": starts,
    "browser": history_in_a_browser,
}


def main() -> int:
    """Runs the benchmarks that were asked for, all by default; 1 if a goal was missed under `--strict`."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "only", nargs="*", choices=[*BENCHMARKS, []], metavar="NAME", help=", ".join(BENCHMARKS)
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all values to FILE")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    parser.add_argument(
        "--compare",
        nargs="?",
        const=os.environ.get("BASE") or "HEAD~1",
        metavar="REVISION",
        help="only fold, decide and loop, by turns with another revision; 1 if they take 15 %% more processor time "
        "than there (the commit before, by default)",
    )
    wanted = parser.parse_args()
    if wanted.compare:
        return compare(wanted.compare)
    logging.disable(logging.WARNING)
    console, where = Console(width=132), machine()
    results: list[Result] = []
    for name in wanted.only or BENCHMARKS:
        with console.status(name):
            results += BENCHMARKS[name]()
    console.print(table(results), where, sep="\n")
    if wanted.json:
        data = {"machine": where, "results": [result.data() for result in results]}
        wanted.json.write_text(json.dumps(data, indent=2) + "\n")
    return int(wanted.strict and not all(result.met for result in results))


if __name__ == "__main__":
    sys.exit(main())
