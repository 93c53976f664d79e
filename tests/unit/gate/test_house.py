"""The measures of the house."""

from pathlib import Path

import pytest

from tests.gate.__main__ import main
from tests.gate.changed import ROOT
from tests.gate.house import (
    NAMES,
    PHRASES,
    PRODUCT,
    House,
    Module,
    bound_names,
    imported,
    measured,
    modules,
    page_texts,
    phrases,
    repeated_classes,
    table,
    worded_tests,
)

SOURCE = f"""
import statemachine.log
from statemachine import ids
from statemachine.log import Entry, port

class Entry: ...
class Other:
    class Entry: ...

def taken(seen, *, {NAMES[3]}=1):
    # {PHRASES[0]} comes
    for each in seen:
        match each:
            case [found, *rest]:
                return each, found, rest

async def test_what_was_{NAMES[3]}(): ...
def test_what_was_unforeseen(): ...
def what_was_seen(): ...
"""

MODULE = Module("statemachine.thing", SOURCE)


def test_a_name_counts_where_it_is_bound() -> None:
    assert bound_names([MODULE]) == dict.fromkeys(NAMES, 1)


def test_no_variable_here_says_nothing_of_what_it_stands_for() -> None:
    counts = bound_names(modules(ROOT, (*PRODUCT, "tests")))
    promised = {"seen": 2}  # a field of the HTTP API, and what gives it
    assert counts == dict.fromkeys(NAMES, 0) | promised


def test_no_phrase_here_has_a_better_word() -> None:
    assert phrases(modules(ROOT, (*PRODUCT, "tests")), page_texts(ROOT)) == dict.fromkeys(PHRASES, 0)


def test_no_test_here_is_named_by_such_words() -> None:
    assert worded_tests(modules(ROOT, ("tests",))) == []


def test_a_test_is_judged_by_the_words_of_its_name() -> None:
    assert worded_tests([MODULE]) == [f"test_what_was_{NAMES[3]}"]


def test_a_phrase_counts_in_code_and_pages_also_across_lines() -> None:
    page = PHRASES[4].replace(" ", "\n    ").upper()
    assert phrases([MODULE], [page]) == dict.fromkeys(PHRASES, 0) | {
        PHRASES[0]: 1,
        PHRASES[3]: 1,
        PHRASES[4]: 1,
    }


def test_pages_are_texts_of_many_kinds_and_no_binary_files() -> None:
    there = list(page_texts(ROOT))
    for text in ("<!doctype html>", "apiVersion: apps/v1", "# What jobledger guarantees", "FROM ", ".PHONY"):
        assert any(text in page for page in there), text


def test_a_class_name_that_stands_twice_is_named() -> None:
    assert repeated_classes([MODULE]) == ["Entry"]


def test_imports_are_those_of_modules_that_there_are() -> None:
    known = {"statemachine.ids", "statemachine.log", "statemachine.log.port", "statemachine.thing"}
    assert imported(MODULE, known) == {"statemachine.ids", "statemachine.log", "statemachine.log.port"}


def test_sizes_are_those_of_the_tree(tmp_path: Path) -> None:
    for path, lines in (("statemachine/a.py", 301), ("statemachine/b.py", 300), ("tests/c.py", 7)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("x = 1\n" * lines)
    function = "def f():\n" + "    x = 1\n" * 60
    (tmp_path / "statemachine" / "b.py").write_text(function + function.replace("    x = 1\n", "", 1))
    (tmp_path / "pyproject.toml").write_text("[[tool.importlinter.contracts]]\nname = 'one'\n")
    numbers = measured(tmp_path).numbers
    assert (numbers["lines in statemachine"], numbers["modules in statemachine"]) == (422, 2)
    assert (numbers["lines in tests"], numbers["modules in tests"]) == (7, 1)
    assert (numbers["modules over 300 lines"], numbers["functions over 60 lines"]) == (1, 1)
    assert numbers["import contracts"] == 1


def test_two_trees_stand_in_one_table_with_the_difference() -> None:
    before = House({"a": 3, "b": 1, "c": 2}, {})
    now = House({"a": 1, "b": 1, "d": 4}, {})
    lines = list(table(("before", before), ("now", now)))
    assert [line.split() for line in lines] == [
        ["measure", "before", "now"],
        ["a", "3", "1", "-2"],
        ["b", "1", "1"],
        ["d", "-", "4"],
        ["c", "2", "-"],
    ]


def test_of_a_module_that_imports_most_in_one_tree_both_numbers_are_shown() -> None:
    many = {f"m{number}": number for number in range(10, 20)}
    lines = list(table(("before", House({}, many | {"x": 30})), ("now", House({}, many | {"x": 2}))))
    assert lines[-1].split() == ["x", "30", "2", "-28"]
    assert len(lines) == 12


def test_the_measures_of_this_tree_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["house"]) == 0
    printed = capsys.readouterr().out
    assert "lines in statemachine" in printed
    assert printed.count("imports of ") == 10
