"""The parts of a soak: a command, and the environment that makes it larger than in the gate."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_FRESH: Final = {"JOBLEDGER_FRESH_SEEDS": "1", "JOBLEDGER_REQUIRE_ALL": "1"}


_MANY: Final = "tests/unit/contract/test_many_lives.py"
_TOPIC: Final = "tests/integration/kafka/test_publishing_ledgers.py"
_HOOKS: Final = "tests/unit/sinks/test_webhook.py"


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


def _events(row: str, what: str, *tests: str) -> Part:
    """A row of the acceptance tests of public events at full size: tests of the gate that are small there."""
    return Part(f"events-{row}", what, _pytest(*tests), {**_FRESH, "JOBLEDGER_FULL_SIZE": "1"})


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
        "releases",
        "an older release and this one on one log: roles upgraded one after the other, and put back",
        _pytest("tests/soak/releases.py"),
        _FRESH,
    ),
    _events(
        "e2",
        "public events of 10,000 random jobs: valid, and read alike by the official SDK in every form",
        f"{_MANY}::test_events_of_random_lives_are_valid_and_the_official_sdk_reads_them_alike_everywhere",
    ),
    _events(
        "e3",
        "the same bytes after 1,000 restarts, in other processes, by other versions of Python",
        f"{_MANY}::test_a_publisher_that_is_restarted_anywhere_makes_the_same_bytes",
        f"{_MANY}::test_every_process_makes_the_same_bytes_of_a_log_whatever_python_it_runs_on",
    ),
    _events(
        "e4",
        "200 kills of two publishers at named points, 20 of three brokers, 10 partitions, 200,000 entries",
        f"{_TOPIC}::test_two_publishers_and_brokers_are_killed_and_every_event_is_there_once",
        f"{_TOPIC}::test_a_projecting_process_takes_over_from_one_that_is_killed",
    ),
    _events(
        "e5",
        "tables of 5,000 jobs that readers build, by two ways",
        f"{_TOPIC}::test_tables_of_readers_from_the_beginning_and_by_backfill_are_what_the_server_lists",
    ),
    _events(
        "e10",
        "50 listeners over HTTP that are cut off 20 times, a server that is killed 5 times",
        "tests/integration/test_events_listeners.py",
    ),
    _events(
        "e12",
        "10,500 events to a web hook whose receiver is hostile",
        f"{_HOOKS}::test_a_hostile_receiver_loses_nothing_silently_and_can_verify_everything",
    ),
    _events(
        "e13",
        "a receiver that is away for three days, 3,000 jobs",
        f"{_HOOKS}::test_a_receiver_that_is_away_for_three_days_gets_everything_and_memory_stays",
    ),
    _events(
        "e14",
        "files of public events: 500 crashes at any byte, 500 kills in a write, rotation, a full disk",
        "tests/unit/projectors/test_file_sink.py",
        "tests/integration/test_files_of_events.py",
    ),
    _events(
        "e15",
        "lineage of 2,000 random jobs and of all recorded ones",
        "tests/unit/lineage/test_runs.py",
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


def named(name: str) -> Sequence[Part]:
    """The part of that name, or all whose names begin so: `events` are all `events-…`."""
    return [part for part in PARTS if part.name == name or part.name.startswith(f"{name}-")]
