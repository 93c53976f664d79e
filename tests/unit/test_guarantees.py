"""docs/guarantees.md: what it names is there, and every promise has a test that fails on a product that breaks it."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from jobledger.telemetry.catalog import CATALOG
from tests.gate.report import Outcome, Run
from tests.support.breaches import Breach, node
from tests.support.promises import BREACHES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")

NAMED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))

PROMISES: Mapping[str, str] = {
    section.splitlines()[0]: section
    for section in PAGE.split("\n## Promises\n")[1].split("\n## ")[0].split("\n### ")[1:]
}
"""Heading → what stands below it."""


def missing(name: str) -> str:
    """What there is not of something that the page names; empty if there is all of it, or it is no such name."""
    path, _, function = name.partition("::")
    if re.fullmatch(r"(tests|statemachine|projectors|k8s_bridge|jobledger|docs)/[\w./-]+", path):
        if not (ROOT / path).is_file():
            return f"no file {path}"
        if path.startswith("tests/") and not collected(ROOT / path):
            return f"no test in {path}"
        return "" if not function or function in collected(ROOT / path) else f"no test {function} in {path}"
    word, _, rest = name.partition(" ")
    if word == "make":
        return _of(rest, rf"^{re.escape(rest.split()[0])}:", "Makefile")
    if word == "jobledger":
        return _of(rest, rf"^#+ `?jobledger {re.escape(rest.split()[0])}\b", "docs/cli.md")
    if word.startswith("jobledger_"):
        return "" if word in CATALOG else f"no metric {word}"
    return ""


@cache
def collected(module: Path) -> frozenset[str]:
    """The tests that pytest collects from a module and that no mark keeps from running or from failing."""
    return frozenset(
        function.name
        for function in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and function.name.startswith("test_")
        and not re.search(r"\bmark\.(skip|xfail)\b", " ".join(map(ast.unparse, function.decorator_list)))
    )


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
        ("tests/support/seeds.py", "no test in tests/support/seeds.py"),
        (
            "tests/unit/test_guarantees.py::test_nothing",
            "no test test_nothing in tests/unit/test_guarantees.py",
        ),
        ("make gold", "Makefile has no gold"),
        ("jobledger guess --all", "docs/cli.md has no guess --all"),
        ("jobledger_guesses_total", "no metric jobledger_guesses_total"),
    ],
)
def test_what_is_not_there_is_reported(name: str, says: str) -> None:
    assert missing(name) == says


def test_a_test_that_cannot_fail_is_none(tmp_path: Path) -> None:
    module = tmp_path / "test_it.py"
    module.write_text(
        "@pytest.mark.skip\ndef test_a(): ...\n@pytest.mark.xfail(strict=False)\ndef test_b(): ...\n"
        "def helper():\n    def test_c(): ...\nasync def test_d(): ...\n@pytest.mark.skipif(x)\ndef test_e(): ...\n"
    )
    assert collected(module) == {"test_d", "test_e"}


def test_every_promise_has_a_variant_that_breaks_it() -> None:
    assert {breach.promise for breach in BREACHES} == set(PROMISES)


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: breach.wrong)
def test_the_test_that_fails_on_a_variant_is_named_with_its_promise(breach: Breach) -> None:
    assert f"`{breach.test}`" in PROMISES[breach.promise]


@pytest.fixture(scope="module")
def on_variants(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Outcome]]:
    """Test → how it went on its variant of the product, with every parameter."""
    report = tmp_path_factory.mktemp("breaches") / "report.json"
    plugins = ("-p", "no:cacheprovider", "-p", "tests.support.breaches", "-p", "tests.gate.report")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-k",
        "not postgresql",
        *plugins,
        f"--gate-report={report}",
    ]
    tests = [breach.test for breach in BREACHES]
    environment = {name: value for name, value in os.environ.items() if name != "JOBLEDGER_REQUIRE_ALL"}
    done = subprocess.run(
        [*command, *tests], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    run = Run.read(report)
    assert run is not None, done.stdout + done.stderr
    assert run.code == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    outcomes: dict[str, list[Outcome]] = {test: [] for test in tests}
    for outcome in run.tests:
        outcomes[node(outcome.id)].append(outcome)
    return outcomes


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: breach.wrong)
def test_a_product_that_breaks_a_promise_fails_the_test_of_it(
    breach: Breach, on_variants: Mapping[str, list[Outcome]]
) -> None:
    failures = [outcome.text for outcome in on_variants[breach.test] if outcome.outcome == "failed"]
    assert failures, f"it passes although the product is wrong: {breach.wrong}"
    assert any("AssertionError" in text or "DID NOT RAISE" in text for text in failures), failures[0]


def test_places_in_other_pages_exist() -> None:
    for page, place in re.findall(r"\]\((\w+\.md)#([\w-]+)\)", PAGE):
        titles = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert place in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
