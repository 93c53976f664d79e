"""What came of a run: a verdict a mutant, a table by area, and whether that is good enough."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tests.mutants.model import Mutant

ENOUGH: Final = 0.95
"""The share of mutants that has to be killed, of those that a test could tell from the product."""

TIMEOUT: Final = "timeout"
"""Why a mutant is killed whose tests do not end: on a machine that is busy with other things that says little."""


class Outcome(StrEnum):
    """What came of one mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    STALE = "stale"


@dataclass(frozen=True)
class Verdict:
    """`why` says more than the outcome: of a killed mutant the test that failed first."""

    mutant: Mutant
    outcome: Outcome
    why: str = ""
    seconds: float = 0.0


def share(verdicts: Iterable[Verdict]) -> float:
    """Killed of those that could be; 1 if there are none."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    able = counts[Outcome.KILLED] + counts[Outcome.SURVIVED]
    return counts[Outcome.KILLED] / able if able else 1.0


def good(verdicts: Sequence[Verdict]) -> bool:
    """Enough were killed, and none is stale."""
    return share(verdicts) >= ENOUGH and all(verdict.outcome is not Outcome.STALE for verdict in verdicts)


def table(verdicts: Sequence[Verdict]) -> str:
    """A line an area, one for all, then every mutant that is not killed."""
    lines = [f"{'area':32} {'mutants':>8}" + "".join(f" {outcome:>11}" for outcome in Outcome)]
    areas = sorted({verdict.mutant.area for verdict in verdicts})
    lines += [_line(area, [verdict for verdict in verdicts if verdict.mutant.area == area]) for area in areas]
    lines.append(_line("all", verdicts))
    lines.append(f"killed of those that a test can tell: {share(verdicts):.1%} (at least {ENOUGH:.0%})")
    for outcome in (Outcome.SURVIVED, Outcome.STALE, Outcome.EQUIVALENT):
        some = [verdict for verdict in verdicts if verdict.outcome is outcome]
        lines += [f"{outcome}: {verdict.mutant.name}: {verdict.why}".rstrip(": ") for verdict in some]
    slow = [verdict.mutant.name for verdict in verdicts if verdict.why == TIMEOUT]
    lines += [f"killed because it did not end: {name}" for name in slow]
    return "\n".join(lines)


def _line(area: str, verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.outcome for verdict in verdicts)
    return f"{area:32} {len(verdicts):8}" + "".join(f" {counts[outcome]:11}" for outcome in Outcome)


def record(verdicts: Sequence[Verdict]) -> dict[str, object]:
    """The same for programs."""
    return {
        "killed": share(verdicts),
        "good": good(verdicts),
        "mutants": [
            {
                "name": verdict.mutant.name,
                "module": verdict.mutant.module,
                "area": verdict.mutant.area,
                "outcome": verdict.outcome.value,
                "why": verdict.why,
                "seconds": round(verdict.seconds, 2),
            }
            for verdict in verdicts
        ],
    }
