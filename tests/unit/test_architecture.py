"""ARCHITECTURE.md names every package, and no file that there is not."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.gate.changed import ROOT
from tests.gate.house import PRODUCT

PAGE: Final = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FLOW: Final = PAGE[PAGE.index("## The flow") : PAGE.index("## What makes it correct")]
LAYERS: Final = PAGE[PAGE.index("## Layers") : PAGE.index("## Where is …")]

SCREEN: Final = 40
"""Lines."""


@pytest.mark.parametrize("package", PRODUCT)
def test_every_package_has_a_line_with_what_it_knows(package: str) -> None:
    folders = [file.parent.name for file in (ROOT / package).glob("*/__init__.py")]
    assert [name for name in [package, *folders] if f"| `{name}` | " not in LAYERS] == []


@pytest.mark.parametrize("package", PRODUCT)
def test_where_to_begin_reading_are_modules_of_that_package(package: str) -> None:
    (_, rows, *_) = re.split(rf"^\| in `{package}` .*\n\|[-|]+\n", LAYERS, flags=re.MULTILINE)
    lines = [line.split(" | ") for line in rows.partition("\n\n")[0].splitlines()]
    paths = [(name.strip("|` "), path) for name, _, begin in lines for path in re.findall("`([^`]+)`", begin)]
    assert paths
    assert [path for path in paths if not (ROOT / package / "/".join(path)).exists()] == []


def test_every_path_on_the_page_is_one_of_the_tree() -> None:
    there = {f"/{path.relative_to(ROOT)}{'/' * path.is_dir()}" for path in _tree()}
    named = {
        name
        for name in re.findall(r"`([\w./-]+)`", PAGE)
        if name.endswith((".py", ".md", ".js", ".toml", "/"))
    }
    assert len(named) > 100
    assert [name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in there)] == []


def test_the_picture_of_the_flow_fits_a_screen() -> None:
    (picture,) = re.findall(r"^```\n(.*?)^```", FLOW, flags=re.DOTALL | re.MULTILINE)
    assert picture.count("\n") <= SCREEN


def _tree() -> list[Path]:
    folders = (*PRODUCT, "docs", "tests", "deploy", "examples")
    return [*ROOT.glob("*"), *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
