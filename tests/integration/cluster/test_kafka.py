"""The controller with its log in Kafka: engines in processes of their own, of which one may die."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from jobledger.settings import KafkaSettings
from jobledger.wiring.ledger import Kafka
from statemachine.log.kafka.address import Address
from tests.harness import Cluster
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
        yield [stack.enter_context(each) for each in made][:2]


@pytest.mark.timeout(600)
def test_the_jobs_of_an_engine_that_is_killed_are_decided_by_the_other(
    jobs: Jobs, ledger_topics: Address, engines: list[ControllerProcess]
) -> None:
    jobs.apply(*(job(name, replica_type("worker", 2, restartPolicy="ExitCode")) for name in NAMES))
    for name in NAMES:
        jobs.wait(name, "phase", "Running", 60)
    engines[0].kill()
    for name in NAMES:
        jobs.end(f"{jobs.base(name)}-worker-1", 137)
    for name in NAMES:
        jobs.wait(name, "backoffCount", 1, SESSION + 30)
        jobs.wait(name, "aggregate.running", 2)
    engines[0].start()
    for name in NAMES:
        jobs.end(f"{jobs.base(name)}-worker-0", 0)
    ledger = Ledger(Kafka.of(str(ledger_topics), KafkaSettings()))
    for name in NAMES:
        jobs.wait(name, "phase", "Succeeded", SESSION + 30)
        assert comes_to_rest(jobs, ledger, name)["backoffCount"] == 1
