"""The tree against another revision, by turns: processor time of fold, decide and the whole loop.

Both are measured by the benchmarks of the tree, so that only the product differs. A round is a process of its own;
rounds alternate (A B B A …): a machine that gets slower or faster meanwhile favours neither. The ratio of the
shortest times counts, since whatever else the machine does only adds to a time. What exceeds the limit is measured
again, and fails only if it stays above.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.bench.once import PACKAGES, WORK
from tests.bench.results import machine
from tests.gate.changed import ROOT
from tests.gate.checkout import NoRevision, checkout

LIMIT: Final = 1.15
"""The tree may take so many times the processor time of the other revision."""

ROUNDS: Final = 6
"""Of each side, and as many more where the limit seems to be exceeded."""

TREE: Final = "tree"

Answer = Mapping[str, object]
Measure = Callable[[str, str], Answer]
"""Of a side and the name of a benchmark: what `tests.bench.once` prints."""


@dataclass
class Comparison:
    """One benchmark: seconds of the tree and of the other side, the shortest of every round."""

    name: str
    tree: list[float] = field(default_factory=list)
    base: list[float] = field(default_factory=list)
    differs: str = ""
    """What the benchmark uses and the other side does not have; then there is nothing to compare."""

    @property
    def ratio(self) -> float:
        """Of the shortest times."""
        return min(self.tree) / min(self.base)

    @property
    def is_slower(self) -> bool:
        """Than the limit allows."""
        return not self.differs and self.ratio > LIMIT

    @property
    def verdict(self) -> str:
        """For the table."""
        if self.differs:
            return f"not compared: the other revision has another API: {self.differs}"
        return f"SLOWER than {LIMIT:.2f}" if self.is_slower else "fine"

    def row(self) -> tuple[str, ...]:
        """For the table: name, milliseconds of both sides with their spread, ratios, verdict."""
        if self.differs:
            return self.name, "", "", "", "", self.verdict
        medians = median(self.tree) / median(self.base)
        return (
            self.name,
            _shown(self.tree),
            _shown(self.base),
            f"{self.ratio:.3f}",
            f"{medians:.3f}",
            self.verdict,
        )


def _shown(seconds: Sequence[float]) -> str:
    shortest, longest = min(seconds) * 1000, max(seconds) * 1000
    return f"{shortest:,.0f} … {longest:,.0f} ({len(seconds)})"


def compared(measure: Measure, base: str, rounds: int = ROUNDS) -> list[Comparison]:
    """Every benchmark measured on both sides, and measured again where the tree seems to be slower."""
    done = [Comparison(name) for name in WORK]
    for one in done:
        _take_turns(one, measure, base, rounds)
        if one.is_slower:
            _take_turns(one, measure, base, rounds)
    return done


def _take_turns(one: Comparison, measure: Measure, base: str, rounds: int) -> None:
    """A B B A …; nothing more once one side turned out to have another API."""
    for number in range(rounds):
        for side in (TREE, base) if number % 2 == 0 else (base, TREE):
            answer = measure(side, one.name)
            if why := str(answer.get("differs", "")):
                if side == TREE:
                    raise RuntimeError(f"the benchmark {one.name} does not fit its own tree: {why}")
                one.differs = why
                return
            seconds = answer["seconds"]
            assert isinstance(seconds, list)
            (one.tree if side == TREE else one.base).append(min(seconds))


@contextmanager
def sides(base: str) -> Iterator[Measure]:
    """Measures the tree and `base`, a revision of git. Raises NoRevision."""
    with checkout(base) as other, tempfile.TemporaryDirectory(prefix="jobledger-compare-") as folder:
        products = {TREE: ROOT, base: other}
        for number, product in enumerate(products.values()):
            _lay_out(Path(folder, str(number)), product)
        places = {side: Path(folder, str(number)) for number, side in enumerate(products)}

        def measure(side: str, name: str) -> Answer:
            command = [sys.executable, "-m", "tests.bench.once", str(products[side]), name]
            done = subprocess.run(command, cwd=places[side], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{name} of {side} ended with {done.returncode}:\n{done.stderr}")
            answer: Answer = json.loads(done.stdout)
            return answer

        yield measure


def _lay_out(place: Path, product: Path) -> None:
    """A folder to start Python in: the packages of `product`, and the benchmarks of the tree."""
    place.mkdir()
    for package in PACKAGES:
        (place / package).symlink_to(product / package)
    (place / "tests").symlink_to(ROOT / "tests")


def table(base: str, comparisons: Sequence[Comparison]) -> Table:
    """A row a benchmark."""
    made = Table(box=None)
    for heading in (
        "what",
        "tree, ms CPU (rounds)",
        f"{base}, ms CPU (rounds)",
        "ratio",
        "of medians",
        "verdict",
    ):
        made.add_column(heading)
    for one in comparisons:
        made.add_row(*one.row())
    return made


def compare(base: str) -> int:
    """Prints the table; 1 if the tree is slower than the limit allows, 2 if there was nothing to compare it with."""
    try:
        with sides(base) as measure:
            comparisons = compared(measure, base)
    except NoRevision:
        sys.stderr.write(f"git has no revision {base} here; BASE=REVISION names another to compare with\n")
        return 2
    Console(width=132).print(table(base, comparisons), machine(), sep="\n")
    if all(one.differs for one in comparisons):
        return 2
    return int(any(one.is_slower for one in comparisons))
