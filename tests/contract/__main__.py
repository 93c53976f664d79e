"""`python -m tests.contract check | freeze | freeze-facets`: compare with what was released, or release something."""

import sys
from collections.abc import Sequence

from tests.contract.gate import broken
from tests.contract.released import freeze, freeze_facets


def main(words: Sequence[str]) -> int:
    """The exit code: 1 if a promise is broken, 2 if nothing is asked for that there is."""
    match words:
        case ["check"]:
            wrong = broken()
            print(*wrong, sep="\n", end="\n" if wrong else "")
            return int(bool(wrong))
        case ["freeze"]:
            print(freeze())
            return 0
        case ["freeze-facets"]:
            print(freeze_facets())
            return 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
