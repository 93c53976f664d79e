"""What a benchmark says: values of several runs, against a goal."""

import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import cpu_count, getloadavg
from pathlib import Path
from typing import Any, Final, Literal

from rich.table import Table

GOAL_SIGNS: Final = {"least": "≥", "most": "≤"}


@dataclass(frozen=True, slots=True)
class Result:
    """One measured quantity. `values` are those of the runs; `goal`, if there is one, binds their median."""

    name: str
    unit: str
    values: tuple[float, ...]
    goal: float | None = None
    bound: Literal["least", "most"] = "least"
    note: str = ""

    @property
    def median(self) -> float:
        """The figure that counts."""
        return statistics.median(self.values)

    @property
    def met(self) -> bool:
        """The median is on the right side of the goal."""
        if self.goal is None:
            return True
        return self.median >= self.goal if self.bound == "least" else self.median <= self.goal

    def row(self) -> tuple[str, ...]:
        """For the table: name, median, spread, unit, goal, met, note."""
        spread = f"{_shown(min(self.values))} … {_shown(max(self.values))} ({len(self.values)})"
        if self.goal is None:
            return self.name, _shown(self.median), spread, self.unit, "", "", self.note
        goal = f"{GOAL_SIGNS[self.bound]} {_shown(self.goal)}"
        return self.name, _shown(self.median), spread, self.unit, goal, "yes" if self.met else "NO", self.note

    def data(self) -> Mapping[str, Any]:
        """For the JSON file."""
        return {
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "values": list(self.values),
            "goal": self.goal,
            "bound": self.bound,
            "met": self.met,
            "note": self.note,
        }


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


class Stopwatch:
    """Seconds since it was made, or until it was stopped."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self.seconds = 0.0

    def stop(self) -> None:
        """`seconds` stands still from now on."""
        self.seconds = time.perf_counter() - self._started


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measures the block."""
    watch = Stopwatch()
    yield watch
    watch.stop()


def rates(run: Callable[[], int], *, runs: int = 5) -> tuple[float, ...]:
    """Things a second, of each of `runs` runs after one to warm up; `run` says how many things it did."""
    run()
    rates_of_rounds = []
    for _ in range(runs):
        with stopwatch() as watch:
            count = run()
        rates_of_rounds.append(count / watch.seconds)
    return tuple(rates_of_rounds)


def table(results: Sequence[Result]) -> Table:
    """A row a result."""
    made = Table(box=None)
    for heading in ("what", "median", "spread (runs)", "unit", "goal", "met", "note"):
        right = "right" if heading in ("median", "goal") else "left"
        made.add_column(heading, justify=right, no_wrap=heading != "note")  # type: ignore[arg-type]
    for result in results:
        made.add_row(*result.row())
    return made


def machine() -> str:
    """What it was measured on, in a line."""
    load = f"load {getloadavg()[0]:.1f}"
    return f"{_processor()}, {cpu_count()} threads, {platform.system()}, Python {platform.python_version()}, {load}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
