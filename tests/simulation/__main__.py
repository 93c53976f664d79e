"""`make sim`: the simulated seeds by pytest, then tables of what they met, and what they met too seldom."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.simulation.coverage import FOLDER, Coverage
from tests.simulation.invariants import INVARIANTS


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments; 0 if all seeds hold what is promised, and met what they had to."""
    with TemporaryDirectory() as folder:
        command = (sys.executable, "-m", "pytest", "--timeout=0", "tests/simulation", *arguments)
        code = subprocess.run(command, env={**os.environ, FOLDER: folder}, check=False).returncode
        coverage = Coverage.read(Path(folder))
    sys.stdout.write("\n".join(["", *coverage.tables(INVARIANTS), ""]))
    one = os.environ.get("JOBLEDGER_SIM_SEED")
    chosen = one or "-k" in arguments  # a part of the families cannot meet everything
    gaps = [] if chosen else list(coverage.gaps(INVARIANTS, int(os.environ.get("JOBLEDGER_SIM_SEEDS") or 0)))
    sys.stdout.write("\n".join(["", *gaps, ""]) if gaps else "")
    return code or bool(gaps)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
