"""The parts of a soak: a command, and the environment that makes it larger than in the gate."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_FRESH: Final = {"JOBLEDGER_FRESH_SEEDS": "1", "JOBLEDGER_REQUIRE_ALL": "1"}


@dataclass(frozen=True)
class Part:
    """`command` succeeds if nothing was found; `what` is for the table."""

    name: str
    what: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    times_tests: bool = False
    """A test of this part that takes longer than it says is a finding, too."""


def _pytest(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-ra", "--timeout=0", *arguments)


def _sized(prefix: str, **sizes: int) -> dict[str, str]:
    return {**_FRESH, **{f"JOBLEDGER_{prefix}_{name}": str(number) for name, number in sizes.items()}}


PARTS: Final = (
    Part(
        "simulation",
        "2,000 seeds of each family that nobody has tried, and what they met",
        (sys.executable, "-m", "tests.simulation", "-p", "no:cacheprovider", "-q", "-ra", "-n", "2"),
        {**_FRESH, "JOBLEDGER_SIM_SEEDS": "2000", "JOBLEDGER_SIM_KAFKA_SEEDS": "2000"},
    ),
    Part(
        "properties",
        "laws, with examples that are drawn anew",
        _pytest("-n", "2", "tests/properties", "tests/unit", "-k", "laws or properties or never or whatever"),
        _FRESH,
    ),
    Part(
        "mutants",
        "small wrong changes of the product: the tests fail because of 95 of 100",
        (sys.executable, "-m", "tests.mutants"),
    ),
    Part(
        "kills",
        "kill -9 of servers and engines, by both feeds, at full size",
        _pytest(
            "tests/integration/test_killed_server.py",
            "tests/integration/kafka/test_engine.py",
            "tests/integration/cluster/test_watch.py",
        ),
        {**_FRESH, "JOBLEDGER_KILLS": "30"},
    ),
    Part(
        "memory",
        "what a controller keeps of jobs that have ended",
        (sys.executable, "-m", "tests.soak.memory"),
    ),
    Part(
        "fire",
        "200 jobs, controller, API server, nodes and broker killed; log in SQLite, then in Kafka",
        _pytest("tests/integration/cluster/test_under_fire.py"),
        _sized("FIRE", JOBS=200, KILLS=50, APISERVER_KILLS=10, NODE_KILLS=10, BROKER_KILLS=5),
    ),
    Part(
        "chaos",
        "1,000 jobs under four engines of both feeds, three brokers",
        _pytest("tests/integration/cluster/test_chaos.py"),
        _sized("CHAOS", JOBS=1000, KILLS=50, STOPS=10, APISERVER_KILLS=10, NODE_KILLS=10, BROKER_KILLS=20),
    ),
    Part(
        "kueue",
        "jobs under the real Kueue: admission, preemption, flavors, timeouts, 50 jobs in a quota of 5, kill -9",
        _pytest("-s", "tests/soak/kueue.py"),
        _FRESH,
    ),
    Part(
        "compare",
        "processor time of fold, decide and loop against the commit before",
        (sys.executable, "-m", "tests.bench", "--compare"),
    ),
    Part(
        "gate",
        "the tests of the gate with fresh seeds, and how long each takes",
        _pytest("-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"),
        {**_FRESH, "JOBLEDGER_FULL_SIZE": "1"},
        times_tests=True,
    ),
)
