"""Tests that failed once and passed when repeated: the kept reports, and the page that has to explain them."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.gate.changed import ROOT

OUT: Final = ROOT / ".ci" / "out"
"""What runs leave behind; not in git."""

PAGE: Final = ROOT / "tests" / "flaky.md"


@dataclass(frozen=True)
class Flake:
    """A test that failed in a run and passed each repeat; `failure` is what pytest said."""

    test: str
    at: str
    commit: str
    failure: str


def kept(out: Path = OUT) -> list[Flake]:
    """All flakes that runs on this machine have written down."""
    file = out / "flaky.json"
    return [Flake(**flake) for flake in json.loads(file.read_text(encoding="utf-8"))] if file.exists() else []


def keep(flakes: Sequence[Flake], out: Path = OUT) -> None:
    """They are in the report beside those that earlier runs put there."""
    out.mkdir(parents=True, exist_ok=True)
    together = [asdict(flake) for flake in (*kept(out), *flakes)]
    (out / "flaky.json").write_text(json.dumps(together, indent=1) + "\n", encoding="utf-8")


def unexplained(out: Path = OUT, page: Path = PAGE) -> list[str]:
    """The tests that a kept report lists and the page does not name in a row of its table, sorted."""
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = {match[1] for row in rows if (match := re.match(r"\| `([^`]+)`", row)) and _is_whole(row)}
    return sorted({flake.test for flake in kept(out)} - named)


def _is_whole(row: str) -> bool:
    """Test, what, since when and suspected cause all say something."""
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    return len(cells) == 4 and all(cells)
