"""What a run of many seeds has met: crash points, faults, steps, invariants, exemptions; and whether that is enough.

Every process of a run that is given a folder (`JOBLEDGER_SIM_COVERAGE`) writes its counts there when it ends;
`python -m tests.simulation` adds them up, prints the tables and judges them. `JOBLEDGER_SIM_ONLY_SEEDS` leaves out
tests that are of no seeds.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from statemachine.replicas import Move
from tests.simulation.crash_points import LEAST, POINTS
from tests.simulation.faults_list import FAULTS
from tests.simulation.of_replicas import STEPS
from tests.simulation.verdicts import EXEMPTIONS, Tally
from tests.simulation.world import World

FOLDER: Final = "JOBLEDGER_SIM_COVERAGE"
ONLY_SEEDS: Final = "JOBLEDGER_SIM_ONLY_SEEDS"
RARE: Final = frozenset({Move.ADOPTED_UNWANTED})
"""Steps of replicas that a run need not meet: a later attempt than the log knows of, of a job that is paused or over.
`tests/scenarios/test_adoption.py` has it."""

JUDGED_FROM: Final = 2_000
"""Seeds of each family from which on a run has to have met everything."""


@dataclass
class Coverage:
    """Counts of a run, by name. `seeds` are all that ended, `excused` those in which an exemption was used."""

    seeds: int = 0
    points: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    invariants: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    moves: Counter[str] = field(default_factory=Counter)

    def add(self, world: World, tally: Tally) -> None:
        """What one seed has met."""
        self.seeds += 1
        self.points += world.weather.passages.died
        self.faults += world.weather.happened
        self.steps.update(step.name for step in world.diary.steps)
        self.invariants += tally.examined
        self.moves += tally.met
        self.excused.update(tally.excused.keys())

    def write(self) -> None:
        """Leave the counts in the folder of the run, if there is one."""
        if self.seeds and (folder := os.environ.get(FOLDER)):
            Path(folder, f"{os.getpid()}.json").write_text(self.as_json())

    def as_json(self) -> str:
        """The counts as `read` reads them."""
        return json.dumps(vars(self))

    @classmethod
    def read(cls, folder: Path) -> "Coverage":
        """What all files of a folder have, of processes of a run or of pieces of it."""
        total = cls()
        for path in sorted(folder.glob("*.json")):
            counted = json.loads(path.read_text())
            total.seeds += counted.pop("seeds")
            for name, counts in counted.items():
                getattr(total, name).update(counts)
        return total

    def tables(self, invariants: tuple[str, ...]) -> Iterator[str]:
        """The lines of all tables."""
        yield f"{self.seeds} seeds"
        yield from _table("crash points", "deaths", self.points, POINTS)
        yield from _table("faults", "times", self.faults, FAULTS)
        yield from _table("steps", "times", self.steps)
        yield from _table("invariants", "examined", self.invariants, invariants)
        yield from _table("steps of replicas", "times", self.moves, STEPS)
        yield ""
        yield f"exemptions ({len(EXEMPTIONS)}): share of seeds, at most, why"
        for name, exemption in EXEMPTIONS.items():
            share = self.excused[name] / max(1, self.seeds)
            yield f"  {share:8.2%} {exemption.at_most:7.0%}  {name}: {exemption.why}"

    def overused(self) -> Iterator[str]:
        """The exemptions that were used in too many seeds."""
        for name, exemption in EXEMPTIONS.items():
            if self.excused[name] > exemption.at_most * self.seeds + 5:
                share = f"{self.excused[name]} of {self.seeds} seeds"
                yield f"exemption {name!r} was used in {share}, at most {exemption.at_most:.0%} may"

    def gaps(self, invariants: tuple[str, ...], seeds: int) -> Iterator[str]:
        """What a run of so many `seeds` of each family has not met often enough."""
        if seeds < JUDGED_FROM:
            return
        least = LEAST * seeds / 10_000
        for name in POINTS:
            if self.points[name] < least:
                yield f"crash point {name!r} was hit {self.points[name]} times, {least:.0f} are the least"
        yield from (f"fault {name!r} never happened" for name in FAULTS if not self.faults[name])
        yield from (
            f"invariant {name!r} was never exercised" for name in invariants if not self.invariants[name]
        )
        moved = {name.partition(":")[0] for name in self.moves}
        yield from (f"no replica was ever {move}" for move in Move if move not in moved | RARE)


def _table(title: str, unit: str, counts: Counter[str], known: Iterable[str] = ()) -> Iterator[str]:
    """The known names in their order, then those that were counted beside them."""
    names = dict.fromkeys((*known, *sorted(counts)))
    yield ""
    yield f"{title} ({len(names)}): {unit}"
    yield from (f"  {counts[name]:>10}  {name}" for name in names)


COVERAGE: Final = Coverage()
"""What the tests of this process have met."""
