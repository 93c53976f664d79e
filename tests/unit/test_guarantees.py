"""docs/guarantees.md names nothing that there is not: tests, commands, files, metrics."""

import re
from pathlib import Path

import pytest

from jobledger.telemetry.catalog import CATALOG

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")

NAMED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))


def missing(name: str) -> str:
    """What there is not of something that the page names; empty if there is all of it, or it is no such name."""
    path, _, function = name.partition("::")
    if re.fullmatch(r"(tests|statemachine|projectors|k8s_bridge|jobledger|docs)/[\w./-]+", path):
        if not (ROOT / path).is_file():
            return f"no file {path}"
        text = (ROOT / path).read_text(encoding="utf-8")
        return "" if not function or f"def {function}(" in text else f"no test {function} in {path}"
    word, _, rest = name.partition(" ")
    if word == "make":
        return _of(rest, rf"^{re.escape(rest.split()[0])}:", "Makefile")
    if word == "jobledger":
        return _of(rest, rf"^#+ `?jobledger {re.escape(rest.split()[0])}\b", "docs/cli.md")
    if word.startswith("jobledger_"):
        return "" if word in CATALOG else f"no metric {word}"
    return ""


def _of(name: str, pattern: str, file: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    return "" if re.search(pattern, text, re.MULTILINE) else f"{file} has no {name}"


@pytest.mark.parametrize("name", NAMED)
def test_what_the_page_names_is_there(name: str) -> None:
    assert missing(name) == ""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("tests/unit/test_nothing.py", "no file tests/unit/test_nothing.py"),
        (
            "tests/unit/test_guarantees.py::test_nothing",
            "no test test_nothing in tests/unit/test_guarantees.py",
        ),
        ("make gold", "Makefile has no gold"),
        ("jobledger guess --all", "docs/cli.md has no guess --all"),
        ("jobledger_guesses_total", "no metric jobledger_guesses_total"),
    ],
)
def test_what_is_not_there_is_found(name: str, says: str) -> None:
    assert missing(name) == says


def test_every_promise_names_a_test() -> None:
    promises = PAGE.split("\n## Promises\n")[1].split("\n## ")[0].split("\n### ")[1:]
    assert len(promises) > 10
    assert [each.splitlines()[0] for each in promises if "`tests/" not in each] == []


def test_places_in_other_pages_exist() -> None:
    for page, place in re.findall(r"\]\((\w+\.md)#([\w-]+)\)", PAGE):
        titles = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert place in {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in titles}
