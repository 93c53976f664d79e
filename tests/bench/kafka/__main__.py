"""`python -m tests.bench.kafka`: workers on a real Kafka of their own, beside a bare loop on aiokafka.

Prints one table; with `--json FILE` writes all values.
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

from rich.console import Console

from tests.bench.kafka.busy import busy
from tests.bench.kafka.delay import RATE, delay
from tests.bench.kafka.opening import long_job, rebuild, start
from tests.bench.kafka.publishing import backfill, cost, readable
from tests.bench.kafka.silence import silence
from tests.bench.results import Result, machine, table
from tests.harness import Kafka

Measure = Callable[[Kafka, argparse.Namespace], AsyncIterator[Result]]

MEASURES: Final[dict[str, Measure]] = {
    "busy": lambda kafka, wanted: busy(kafka, wanted.observations),
    "delay": lambda kafka, wanted: delay(kafka, wanted.seconds, wanted.rate),
    "silence": lambda kafka, wanted: silence(kafka, wanted.session),
    "start": lambda kafka, wanted: start(kafka, wanted.jobs, wanted.entries),
    "rebuild": lambda kafka, wanted: rebuild(kafka, wanted.entries),
    "publishing-cost": lambda kafka, wanted: cost(kafka, wanted.observations),
    "published": lambda kafka, wanted: readable(kafka, wanted.seconds),
    "backfill": lambda kafka, wanted: backfill(kafka, min(wanted.entries, 100_000)),
    "long-job": lambda kafka, wanted: long_job(kafka, wanted.history),
}


def main() -> int:
    """Measures what was asked for; 1 if a goal was missed under `--strict`, 2 if a measurement broke down."""
    wanted, console = _arguments(), Console(width=150)
    logging.disable(logging.ERROR)  # what a client complains of is in the figures
    results: list[Result] = []
    broken = False
    try:
        asyncio.run(_measure(wanted, results, console))
    except Exception as error:  # noqa: BLE001 - whatever it is, the figures before it are printed
        console.print(f"this run broke down: {error!r}", markup=False)
        if not isinstance(error, RuntimeError | OSError):
            console.print_exception()  # a fault of the benchmark: where it is
        broken = True
    where = machine()
    console.print(table(results), where, sep="\n")
    if wanted.json:
        data = {"machine": where, "results": [result.data() for result in results]}
        wanted.json.write_text(json.dumps(data, indent=2) + "\n")
    return 2 if broken else int(wanted.strict and not all(result.met for result in results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.kafka", description=__doc__)
    parser.add_argument("only", nargs="*", choices=[*MEASURES, []], metavar="NAME", help=", ".join(MEASURES))
    parser.add_argument("--observations", type=int, default=200_000, help="to decide when busy (200000)")
    parser.add_argument("--seconds", type=float, default=30, help="for which the delay is measured (30)")
    parser.add_argument(
        "--rate", type=int, default=RATE, help=f"observations a second, for the delay ({RATE})"
    )
    parser.add_argument(
        "--session", type=float, default=10, help="seconds until a silent process is dead (10)"
    )
    parser.add_argument("--jobs", type=int, default=10_000, help="that live at a start (10000)")
    parser.add_argument("--entries", type=int, default=1_000_000, help="in the log that is read (1000000)")
    parser.add_argument("--history", type=int, default=100_000, help="entries of one long job (100000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all values to FILE")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    return parser.parse_args()


async def _measure(wanted: argparse.Namespace, results: list[Result], console: Console) -> None:
    """Fills `results`, so that what was measured is there even if a later measurement breaks down."""
    with tempfile.TemporaryDirectory(prefix="jobledger-bench-") as folder:
        kafka = Kafka(Path(folder) / "kafka", heap="1g")
        await asyncio.to_thread(kafka.start)
        try:
            for name in wanted.only or MEASURES:
                with console.status(name):
                    async for result in MEASURES[name](kafka, wanted):
                        results.append(result)  # noqa: PERF401 - one that breaks down leaves those before it
        finally:
            await asyncio.to_thread(kafka.stop)


if __name__ == "__main__":
    sys.exit(main())
