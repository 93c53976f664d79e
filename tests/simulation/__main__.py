"""`make sim`: the simulated seeds by pytest, then tables of what they met, and what they met too seldom.

Many seeds are taken in pieces. A run that was stopped, or in which a test failed, goes on when it is asked for the
same again: pieces that have passed are not repeated, and count for the tables.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.gate.changed import commit
from tests.gate.flaky import OUT
from tests.simulation.coverage import FOLDER, ONLY_SEEDS, Coverage
from tests.simulation.invariants import INVARIANTS
from tests.simulation.pieces import Kept, Piece, pieces
from tests.support.seeds import seed

PYTEST: Final = (sys.executable, "-m", "pytest", "--timeout=0", "tests/simulation")

_RUNS: Final = OUT / "sim"


def main(arguments: list[str]) -> int:
    """0 if all seeds hold what is promised, and met what they had to; 130 if the run was stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--anew", action="store_true", help="do not go on with a run that was stopped")
    asked, words = parser.parse_known_args(arguments)
    seeds = int(os.environ.get("JOBLEDGER_SIM_SEEDS") or 0)
    if not seeds or os.environ.get("JOBLEDGER_SIM_SEED") or "-k" in words:
        return _part(words)
    return _whole(seed(0, "JOBLEDGER_SIM_FIRST"), seeds, words, anew=asked.anew)


def _part(words: Sequence[str]) -> int:
    """A part of the families, or a few seeds, cannot meet everything: the tables are printed, and not judged.

    But exemptions are, where all families ran: their bounds are shares of all seeds.
    """
    code, coverage = _tested(words, {})
    are_all = "-k" not in words and not os.environ.get("JOBLEDGER_SIM_SEED")
    overused = [*coverage.overused()] if are_all else []
    _say(coverage.tables(INVARIANTS), overused)
    return code or int(bool(overused))


def _whole(first: int, seeds: int, words: Sequence[str], *, anew: bool) -> int:
    kept, every = Kept(_RUNS, first, seeds), pieces(first, seeds)
    if anew:
        kept.forget()
    failed = []
    for piece in kept.left(every):
        _say([f"== {piece.seeds} seeds of each family from {piece.first} on, of {seeds} from {first} on"])
        try:
            code, coverage = _tested(words, _environment(piece, every[0]))
        except KeyboardInterrupt:
            _say(kept.coverage().tables(INVARIANTS), ["stopped; the same command goes on where it was"])
            return 130
        if code:
            failed.append(piece)
        else:
            kept.keep(piece, coverage, commit())
    return _judged(kept, seeds, failed)


def _judged(kept: Kept, seeds: int, failed: Sequence[Piece]) -> int:
    coverage = kept.coverage()
    _say(coverage.tables(INVARIANTS), [f"of {' '.join(kept.commits())}"])
    if failed:
        _say(
            [
                f"seeds from {piece.first} to {piece.first + piece.seeds - 1}: a test failed"
                for piece in failed
            ]
        )
        _say(["these are not in the tables; the same command tries them again"])
        return 1
    kept.forget()
    gaps = [*coverage.overused(), *coverage.gaps(INVARIANTS, seeds)]
    _say(gaps)
    return int(bool(gaps))


def _environment(piece: Piece, first: Piece) -> dict[str, str]:
    """What makes pytest run the piece. Tests that are of no seeds of a run come with the first one."""
    return {
        "JOBLEDGER_SIM_FIRST": str(piece.first),
        "JOBLEDGER_SIM_SEEDS": str(piece.seeds),
        "JOBLEDGER_SIM_KAFKA_SEEDS": str(piece.seeds),
        ONLY_SEEDS: "" if piece == first else "1",
    }


def _tested(words: Sequence[str], environment: dict[str, str]) -> tuple[int, Coverage]:
    """The exit code of pytest, and what its processes have met."""
    with TemporaryDirectory() as folder:
        whole = {**os.environ, **environment, FOLDER: folder}
        code = subprocess.run([*PYTEST, *words], env=whole, check=False).returncode
        return code, Coverage.read(Path(folder))


def _say(*parts: Iterable[str]) -> None:
    for lines in filter(None, map(list, parts)):
        sys.stdout.write("\n".join(["", *lines, ""]))
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
