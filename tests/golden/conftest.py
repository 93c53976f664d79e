"""Golden files: `pytest tests/golden --update-golden` writes them anew; the difference is reviewed like code."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """The files are to be written, not compared."""
    return bool(request.config.getoption("--update-golden", default=False))
