"""The page that lists all exhibits: `docs/field-mistakes.md`, written anew by `python -m tests.museum`."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from tests.museum.exhibit import EXHIBITS, Exhibit

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent.parent
PAGE: Final = ROOT / "docs" / "field-mistakes.md"

_INTRO: Final = """\
# Mistakes of the field

Public issues and changes of other schedulers, controllers and stream processors, the mistake that each of them is
about, and our test that would catch it. A test runs twice: on jobledger as it is, where it passes, and with a part of
jobledger swapped for one that makes the mistake, where it has to fail (`tests/museum/exhibit.py`). How to add one is
in [CONTRIBUTING.md](../CONTRIBUTING.md#the-museum). This page is made of the tests by `make museum`.

| issue | mistake | test in `tests/museum` |
|---|---|---|
"""

ELSEWHERE: Final[Mapping[str, str]] = {
    "armadaproject/armada#1896": "A job that had been submitted twice stayed queued for ever in a view, which did "
    "not know duplicates. Here a job is an object: the API server refuses a second one of its name.",
}
"""Issues that were read, and whose mistake cannot be made here: what it was, and why."""

_ELSEWHERE: Final = """
## Mistakes that cannot be made here

| issue | mistake, and why not here |
|---|---|
"""


def collected() -> list[Exhibit]:
    """The exhibits of all modules of this package, by issue."""
    for module in iter_modules([str(HERE)]):
        if module.name.startswith("test_"):
            import_module(f"tests.museum.{module.name}")
    return sorted(EXHIBITS, key=lambda exhibit: (_repository(exhibit), _number(exhibit)))


def page() -> str:
    """The whole page."""
    return (
        _INTRO
        + "".join(_rows())
        + _ELSEWHERE
        + "".join(f"| {issue} | {why} |\n" for issue, why in ELSEWHERE.items())
    )


def _rows() -> Iterator[str]:
    for exhibit in collected():
        module = exhibit.module.rpartition(".")[2]
        yield f"| {exhibit.issue} | {exhibit.mistake} | `{module}.py::{exhibit.test}` |\n"


def _repository(exhibit: Exhibit) -> str:
    return exhibit.issue.partition("#")[0].lower()


def _number(exhibit: Exhibit) -> int:
    return int(exhibit.issue.partition("#")[2])
