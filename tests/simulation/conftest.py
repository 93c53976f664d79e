"""What the simulated seeds of a test process have met is left in the folder of the run, if there is one."""

import os

import pytest

from tests.simulation.coverage import COVERAGE, ONLY_SEEDS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where nothing but seeds is asked for, tests without seeds of the run are left out."""
    if os.environ.get(ONLY_SEEDS):
        items[:] = [item for item in items if isinstance(item, pytest.Function) and _has_seeds(item)]


def _has_seeds(item: pytest.Function) -> bool:
    return "seeds" in getattr(getattr(item, "callspec", None), "params", ())


def pytest_sessionfinish() -> None:
    """The process has run its last seed."""
    COVERAGE.write()
