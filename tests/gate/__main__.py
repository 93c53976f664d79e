"""`python -m tests.gate run PHASE [pytest's arguments] | flaky | count [REVISION] | house [REVISION] | hops`."""

import sys
from collections.abc import Sequence

from tests.gate import hops, house
from tests.gate.count import compare
from tests.gate.flaky import PAGE, unexplained
from tests.gate.run import PHASES, run


def main(words: Sequence[str]) -> int:
    """The exit code of a command line; 2 if it asks for nothing that there is."""
    match words:
        case ["run", phase, *arguments] if phase in PHASES:
            return run(phase, arguments)
        case ["flaky"]:
            missing = unexplained()
            for test in missing:
                print(
                    f"{PAGE.name}: no row for {test}, which failed once and passed when repeated",
                    file=sys.stderr,
                )
            return int(bool(missing))
        case ["count", *revision] if len(revision) < 2:
            return compare(*revision)
        case ["house", *revision] if len(revision) < 2:
            return house.compare(*revision)
        case ["hops"]:
            print("\n".join(hops.lines()))
            return 0
        case _:
            print(f"usage: {__doc__}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
