"""The controller with its log in Kafka: engines in processes of their own, of which one may die."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from jobledger.settings.sections import KafkaSettings
from jobledger.wiring.ledger import Kafka
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.topics import partitions
from tests.harness import Cluster, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type
from tests.support.cluster_log import Ledger, comes_to_rest

pytestmark = pytest.mark.integration

SESSION = 6.0
"""Seconds after which the other engine takes over from one that was killed."""

NAMES = [f"train-{number}" for number in range(6)]


@pytest.fixture
def jobs(cluster: Cluster, namespace: str) -> Jobs:
    return Jobs(cluster, namespace)


def process(jobs: Jobs, folder: Path, address: Address, roles: str, feed: str) -> ControllerProcess:
    folder.mkdir()
    return ControllerProcess(
        jobs.cluster,
        folder,
        *("--namespaces", jobs.namespace, "--roles", roles),
        log=str(address),
        JOBLEDGER_KAFKA__SESSION=str(SESSION),
        JOBLEDGER_KAFKA__FEED=feed,
    )


@pytest.fixture
def projectors(
    jobs: Jobs, ledger_topics: Address, tmp_path: Path
) -> Iterator[tuple[ControllerProcess, ControllerProcess]]:
    """Two processes that project; what else there is to a controller runs beside them."""
    with ExitStack() as stack:
        made = [
            stack.enter_context(process(jobs, tmp_path / name, ledger_topics, roles, "aiokafka"))
            for name, roles in (("one", "projectors"), ("two", "projectors"), ("rest", "bridge,engine,front"))
        ]
        yield made[0], made[1]


def share(process: ControllerProcess) -> set[int]:
    """The partitions that the process said last to be its own."""
    shares = re.findall(r"action=share partitions=\[([\d, ]*)\]", process.latest)
    return {int(part) for part in shares[-1].split(",") if part.strip()} if shares else set()


def are_shared(every: set[int], *shares: set[int]) -> bool:
    """Each has some, and no two the same. While they are dealt out, one may learn of it later than the other."""
    return all(shares) and sorted(part for share_of_one in shares for part in share_of_one) == sorted(every)


@pytest.fixture(params=["faust", "aiokafka"])
def engines(
    request: pytest.FixtureRequest, jobs: Jobs, ledger_topics: Address, tmp_path: Path
) -> Iterator[list[ControllerProcess]]:
    """Two engines; what else there is to a controller runs beside them."""
    with ExitStack() as stack:
        made = [
            process(jobs, tmp_path / name, ledger_topics, roles, request.param)
            for name, roles in (("one", "engine"), ("two", "engine"), ("rest", "bridge,projectors,front"))
        ]
        yield [stack.enter_context(process) for process in made][:2]


@pytest.mark.timeout(600)
def test_the_jobs_of_an_engine_that_is_killed_are_decided_by_the_other(
    jobs: Jobs, ledger_topics: Address, engines: list[ControllerProcess]
) -> None:
    jobs.apply(*(job(name, replica_type("worker", 2, restartPolicy="ExitCode")) for name in NAMES))
    for name in NAMES:
        jobs.wait(name, "phase", "Running")
    engines[0].kill()
    for name in NAMES:
        jobs.end(f"{jobs.base(name)}-worker-1", 137)
    for name in NAMES:
        jobs.wait(name, "backoffCount", 1)
        jobs.wait(name, "aggregate.running", 2)
    engines[0].start()
    for name in NAMES:
        jobs.end(f"{jobs.base(name)}-worker-0", 0)
    ledger = Ledger(Kafka.of(str(ledger_topics), KafkaSettings()))
    for name in NAMES:
        jobs.wait(name, "phase", "Succeeded")
        assert comes_to_rest(jobs, ledger, name)["backoffCount"] == 1


@pytest.mark.timeout(600)
def test_several_project_their_share_each_and_one_that_is_killed_is_replaced_by_the_others(
    jobs: Jobs, ledger_topics: Address, projectors: tuple[ControllerProcess, ControllerProcess]
) -> None:
    one, two = projectors
    every = set(range(asyncio.run(partitions(ledger_topics))))
    wait_for("all is shared", lambda: are_shared(every, share(one), share(two)))
    jobs.apply(*(job(name, replica_type("worker", 2)) for name in NAMES))
    for name in NAMES:
        jobs.wait(name, "phase", "Running")
    one.kill()
    for name in NAMES:
        jobs.end(f"{jobs.base(name)}-worker-0", 0)
    for name in NAMES:
        jobs.wait(name, "phase", "Succeeded")
    assert share(two) == every
    one.start()
    wait_for("it has a share again", lambda: share(one) and share(one) | share(two) == every)
    assert two.stop() == 0
    wait_for("all is left to one", lambda: share(one) == every)
    ledger = Ledger(Kafka.of(str(ledger_topics), KafkaSettings()))
    for name in NAMES:
        comes_to_rest(jobs, ledger, name)
