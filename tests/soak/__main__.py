"""`python -m tests.soak [--hours N] [PART …]`: each part at least once, then again until the time is over."""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.gate.flaky import OUT
from tests.gate.report import Outcome, Run
from tests.soak.parts import PARTS, Part

_LONG: Final = 20.0
"""Seconds from which on a test has to say that it is slow."""

_AGAIN: Final = re.compile(r"^.*?((?:again: |JOBLEDGER_\w*SEED\w*=|@reproduce_failure).*)$", re.MULTILINE)
"""What tests print so that a finding can be repeated."""


@dataclass
class Rounds:
    """What became of one part."""

    part: Part
    count: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """Seconds that one more round is expected to take."""
        return self.seconds / self.count if self.count else 0.0


def soak(parts: Sequence[Part], hours: float, out: Path) -> list[Rounds]:
    """Rounds of the parts by turns; a part is not begun again when it would not end in time."""
    out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + hours * 3600
    rounds = [Rounds(part) for part in parts]
    for turn in cycle(rounds):
        if all(one.count and time.monotonic() + one.longest > until for one in rounds):
            return rounds
        if not turn.count or time.monotonic() + turn.longest < until:
            _round(turn, out)
    return rounds


def _round(turn: Rounds, out: Path) -> None:
    """One more round: its output in a file, its findings in `turn`."""
    turn.count += 1
    log = out / f"{turn.part.name}-{turn.count}.log"
    report = log.with_suffix(".json")
    report.unlink(missing_ok=True)
    command = list(turn.part.command)
    if "pytest" in command:
        command += ["-p", "tests.gate.report", f"--gate-report={report}"]
    print(f"== {turn.part.name}, round {turn.count}: {log}", flush=True)
    began = time.monotonic()
    with log.open("wb") as said:
        code = subprocess.run(
            command, env={**os.environ, **turn.part.environment}, stdout=said, stderr=said, check=False
        ).returncode
    turn.seconds += time.monotonic() - began
    turn.findings += _findings(turn.part, code, Run.read(report), log)


def _findings(part: Part, code: int, run: Run | None, log: Path) -> Iterator[str]:
    tests = run.tests if run else []
    failed = [test.id for test in tests if test.outcome == "failed"]
    if failed or code:
        again = dict.fromkeys(_AGAIN.findall(log.read_text(encoding="utf-8", errors="replace")))
        yield "\n".join([*(failed or [f"exit code {code}"]), *again, f"see {log}"])
    if part.times_tests:
        yield from map(_too_long, unmarked(tests))


def unmarked(tests: Sequence[Outcome]) -> list[Outcome]:
    """The tests that take long without saying so."""
    return [test for test in tests if test.seconds > _LONG and not test.slow]


def _too_long(test: Outcome) -> str:
    return f"{test.id} takes {test.seconds:.0f} s: make it faster, or mark it as slow"


def _table(rounds: Sequence[Rounds]) -> Table:
    table = Table("part", "what", "rounds", "minutes", "found")
    for one in rounds:
        found = "\n\n".join(one.findings) or "nothing"
        table.add_row(one.part.name, one.part.what, str(one.count), f"{one.seconds / 60:.1f}", found)
    return table


def main() -> int:
    """1 if anything was found."""
    names = {part.name: part for part in PARTS}
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=0.0, help="how long at least; 0: every part once")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(names))
    asked = parser.parse_args()
    if unknown := [name for name in asked.parts if name not in names]:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(names)}")
    rounds = soak([names[name] for name in asked.parts] or PARTS, asked.hours, OUT / "soak")
    Console(width=140).print(_table(rounds))
    return int(any(one.findings for one in rounds))


if __name__ == "__main__":
    sys.exit(main())
