"""Seeds of what tests choose at random: always the same ones, others where `JOBLEDGER_FRESH_SEEDS=1` asks for them.

The seed of a choice is `JOBLEDGER_SEED`, else a number that stands in the test. Fresh seeds are one random
`JOBLEDGER_SEED` for the whole run: workers of pytest-xdist inherit it, so that all collect tests of the same names.
Hypothesis has a profile for each of both.

Names, ports and other choices that do not decide what is tested stay random.
"""

import os
from random import Random, SystemRandom
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

_SEED: Final = "JOBLEDGER_SEED"

FRESH: Final = os.environ.get("JOBLEDGER_FRESH_SEEDS") == "1"
"""This run is to choose something that no run before it has chosen."""

# That a machine is slow, or busy with something else, is no finding about what runs on it.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("patient"), derandomize=True)
settings.register_profile("fresh", settings.get_profile("patient"), print_blob=True)
settings.load_profile("fresh" if FRESH else "fixed")

if FRESH:
    os.environ[_SEED] = os.environ.get(_SEED) or str(SystemRandom().randrange(10**6))


def seed(default: int, variable: str = _SEED) -> int:
    """What the `variable` of the environment says, else `JOBLEDGER_SEED`, else `default`."""
    return int(os.environ.get(variable) or os.environ.get(_SEED) or default)


def seeds(count: int) -> range:
    """So many seeds in a row, for the parameters of a test."""
    first = seed(0)
    return range(first, first + count)


def chance(default: int) -> Random:
    """Random choices of a test; its output says which seed makes them, and what repeats them."""
    number = seed(default)
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0].partition("[")[0]
    print(f"seed {number}; to repeat it: {_SEED}={number} make test-all ARGS={test}")  # noqa: T201
    return Random(number)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The run ends with its seeds."""
    fixed = "random choices: fixed seeds, Hypothesis derandomized; JOBLEDGER_FRESH_SEEDS=1 draws others"
    if os.environ.get(_SEED):
        drawn = "Hypothesis random" if FRESH else "Hypothesis derandomized"
        fixed = f"random choices: {_SEED}={os.environ[_SEED]} repeats them; {drawn}"
    terminalreporter.write_line(fixed)
