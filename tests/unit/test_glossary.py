"""docs/glossary.md: terms in order, each once, and the modules that it names are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]


def test_terms_are_in_order_and_stand_once() -> None:
    terms = [row[0].lower() for row in ROWS]
    assert terms == sorted(set(terms))


def test_a_row_has_term_meaning_place_and_source() -> None:
    assert [row[0] for row in ROWS if len(row) != 4] == []


def test_the_modules_of_a_term_are_there() -> None:
    paths = {path for row in ROWS for path in re.findall(r"`(\w+/[\w/.]*)`", row[2])}
    assert len(paths) > 40
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []
