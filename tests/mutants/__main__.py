"""`python -m tests.mutants [NAME…]`: all mutants, or those whose name begins with one of the names; JOBS at once."""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.mutants import mutants
from tests.mutants.model import ROOT
from tests.mutants.run import baseline, verdicts, warm_up
from tests.mutants.table import good, record, table

RESULT: Final = ROOT / ".ci" / "out" / "mutants.json"


def main(names: Sequence[str]) -> int:
    """The exit code: 1 if too few were killed, one is stale or the tests fail without any, 2 if there is none."""
    chosen = [mutant for mutant in mutants() if not names or mutant.name.startswith(tuple(names))]
    if not chosen:
        print(f"no mutant's name begins with {' or '.join(names)}", file=sys.stderr)
        return 2
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        failure = baseline(chosen, Path(folder))
    if failure:
        print(f"{failure}\n\nthe tests fail without a mutant, see above", file=sys.stderr)
        return 1
    print("without a mutant all of their tests pass", flush=True)
    results = []
    for verdict in verdicts(chosen, int(os.environ.get("JOBS") or 2)):
        print(
            f"{verdict.outcome:10} {verdict.seconds:5.1f} s  {verdict.mutant.name}  {verdict.why}", flush=True
        )
        results.append(verdict)
    print(f"\n{table(results)}")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(record(results), indent=1) + "\n", encoding="utf-8")
    return 0 if good(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
