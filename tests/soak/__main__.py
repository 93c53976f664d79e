"""`python -m tests.soak [--hours N] [PART …]`: each part at least once, then again until the time is over.

One that was stopped goes on when it is asked for the same again: rounds that came to their end are not repeated, and
count for the time.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import SystemRandom
from typing import Final

from rich.console import Console

from tests.gate.changed import commit
from tests.gate.flaky import OUT
from tests.gate.report import Outcome, Run
from tests.soak.parts import PARTS, Part, named
from tests.soak.rounds import Round, Rounds, begin, forget, keep, table

_LONG: Final = 20.0
"""Seconds from which on a test has to say that it is slow."""

_AGAIN: Final = re.compile(r"^.*?((?:again: |JOBLEDGER_\w*SEED\w*=|@reproduce_failure).*)$", re.MULTILINE)
"""What tests print so that a finding can be repeated."""

_GRACE: Final = 120.0
"""Seconds that a part which is stopped has for stopping its servers."""


def soak(parts: Sequence[Part], hours: float, out: Path) -> list[Rounds]:
    """Rounds of the parts by turns; a part is not begun again when it would not end in time.

    Raises:
        KeyboardInterrupt: it was stopped; `out` has what it had done.
    """
    out.mkdir(parents=True, exist_ok=True)
    rounds = begin(parts, out)
    left = hours * 3600 - sum(one.seconds for one in rounds)
    until = time.monotonic() + left
    while turn := _next(rounds, until - time.monotonic()):
        turn.rounds.append(_round(turn, out))
        keep(rounds, out, ended=False)
    keep(rounds, out, ended=True)
    return rounds


def _next(rounds: Sequence[Rounds], seconds: float) -> Rounds | None:
    """Whose turn it is: of those that fit into the seconds the one with the fewest rounds, the first of them."""
    fitting = [one for one in rounds if not one.count or one.expected < seconds]
    return min(fitting, key=lambda one: one.count, default=None)


def _round(turn: Rounds, out: Path) -> Round:
    """One more round: its output in a file."""
    log = out / f"{turn.part.name}-{turn.count + 1}.log"
    report = log.with_suffix(".json")
    report.unlink(missing_ok=True)
    command = list(turn.part.command)
    if "pytest" in command:
        command += ["-p", "tests.gate.report", f"--gate-report={report}"]
    seed = int(os.environ.get("JOBLEDGER_SEED") or SystemRandom().randrange(10**6))
    print(f"== {turn.part.name}, round {turn.count + 1}: {log}", flush=True)
    began = time.monotonic()
    code = _run(command, {**os.environ, "JOBLEDGER_SEED": str(seed), **turn.part.environment}, log)
    findings = tuple(_findings(turn.part, code, Run.read(report), log))
    return Round(round(time.monotonic() - began, 1), seed, commit(), findings)


def _run(command: Sequence[str], environment: dict[str, str], log: Path) -> int:
    """The exit code. In a session of its own: what stops the soak interrupts it once, and waits for its servers."""
    with (
        log.open("wb") as said,
        subprocess.Popen(
            command, env=environment, stdout=said, stderr=said, start_new_session=True
        ) as process,
    ):
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


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


def _folder(hours: float, names: Sequence[str]) -> Path:
    """Of what is asked for: another soak in between does not make one forget what it had done."""
    return OUT / "soak" / "-".join([f"{hours:g}h" if hours else "once", *names])


def main() -> int:
    """1 if anything was discovered, 130 if it was stopped."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=0.0, help="how long at least; 0: every part once")
    parser.add_argument("--anew", action="store_true", help="do not go on with one that was stopped")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(part.name for part in PARTS))
    asked = parser.parse_args()
    if unknown := [name for name in asked.parts if not named(name)]:
        names = ", ".join(part.name for part in PARTS)
        parser.error(f"there is no part {', '.join(unknown)}; there are {names}")
    parts = [part for name in asked.parts for part in named(name)] or PARTS
    folder, code = _folder(asked.hours, asked.parts), 0
    if asked.anew:
        forget(folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        rounds = soak(parts, asked.hours, folder)
    except KeyboardInterrupt:
        rounds, code = begin(parts, folder), 130
    Console(width=180).print(table(rounds))
    if code:
        print("stopped; the same command goes on where it was", flush=True)
    return code or int(any(one.findings for one in rounds))


if __name__ == "__main__":
    sys.exit(main())
