"""Code that the product does not use itself."""

from tests.gate.changed import ROOT
from tests.gate.house import PRODUCT, Module, modules
from tests.gate.reach import templates, unused

SOURCE = """
from functools import cached_property

class Used:
    def __init__(self): ...
    @property
    def read(self): ...
    @cached_property
    def never_read(self): ...
    def passed(self): ...
    def in_a_template(self): ...
    def by_name(self): ...
    @router.get("/")
    def of_a_library(self): ...

class Unused: ...

async def uncalled():
    '''A sentence with uncalled in it, which is no use of it.'''

ENTRY = "thing:by_name"
TASKS = [Used().read, call(Used.passed)]
"""

OTHER = """
from thing import Unused
"""


def test_the_product_uses_all_that_it_defines() -> None:
    """What only tests reach belongs to them; what nothing reaches is deleted."""
    assert unused(modules(ROOT, PRODUCT), templates(ROOT)) == []


def test_a_use_is_a_name_that_is_read_and_no_import_or_sentence() -> None:
    there = [Module("thing", SOURCE), Module("other", OTHER)]
    assert unused(there, ["{{ job.in_a_template }}"]) == [
        "thing.Unused",
        "thing.uncalled",
        "thing.never_read",
    ]


def test_templates_are_those_of_the_console() -> None:
    assert any("url(" in text for text in templates(ROOT))
