"""What the simulated seeds of a test process have met is left in the folder of the run, if there is one."""

from tests.simulation.coverage import COVERAGE


def pytest_sessionfinish() -> None:
    """The process has run its last seed."""
    COVERAGE.write()
