"""Small wrong changes of the product, each with the tests that have to fail because of it: `make mutants`.

A list of mutants is a module here whose name begins with `core_` or `shell_`, with a tuple `MUTANTS`. `model` says
what a mutant is, `plugin` puts it into a run of pytest, `run` takes them by turns, `table` says what came of it. No
file of the product is changed.
"""

import importlib
import pkgutil
from collections import Counter
from typing import Final

from tests.mutants.model import Mutant, Stale

LISTS: Final = ("core_", "shell_")
"""How the names of modules begin that have mutants."""


def mutants() -> tuple[Mutant, ...]:
    """All mutants, list by list.

    Raises:
        Stale: two have the same name.
    """
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith(LISTS)]
    lists = [importlib.import_module(f"{__name__}.{name}") for name in sorted(names)]
    every = tuple(mutant for module in lists for mutant in module.MUTANTS)
    twice = [name for name, count in Counter(mutant.name for mutant in every).items() if count > 1]
    if twice:
        raise Stale(f"several mutants have the same name: {', '.join(twice)}")
    return every


def named(name: str) -> Mutant:
    """The mutant of this name.

    Raises:
        Stale: there is none.
    """
    for mutant in mutants():
        if mutant.name == name:
            return mutant
    raise Stale(f"there is no mutant {name}")
