"""Somebody who can write the topic of observations, and a real API server: no pod comes of what is made up."""

import asyncio
from contextlib import ExitStack
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from k8s_bridge.observe import job as job_seen
from k8s_bridge.port import Change, Verb
from statemachine.log.kafka.address import Address
from statemachine.log.kafka.outbox import KafkaOutbox
from statemachine.observations import JobObserved
from tests.harness import Cluster, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type

pytestmark = pytest.mark.integration

NOBODYS, ANOTHER = (f"7f1c2a34-0000-4000-8000-00000000000{number}" for number in (1, 2))


@pytest.fixture
def jobs(cluster: Cluster, namespace: str) -> Jobs:
    return Jobs(cluster, namespace)


def process(jobs: Jobs, folder: Path, address: Address, roles: str) -> ControllerProcess:
    folder.mkdir()
    arguments = ("--namespaces", jobs.namespace, "--roles", roles)
    return ControllerProcess(
        jobs.cluster, folder, *arguments, log=str(address), JOBLEDGER_KAFKA__FEED="aiokafka"
    )


def forged(jobs: Jobs, name: str, uid: str) -> JobObserved:
    """A job that there is not, whose pods own their nodes."""
    raw: dict[str, Any] = deepcopy(job(name, replica_type("worker", 2)))
    raw["metadata"] |= {"namespace": jobs.namespace, "uid": uid, "generation": 1}
    pod = raw["spec"]["replicaSpecs"][0]["template"]["spec"]
    pod["containers"][0]["securityContext"] = {"privileged": True}
    observation = job_seen(Change(Verb.ADDED, raw, datetime.now(UTC)))
    assert isinstance(observation, JobObserved)
    return observation


async def put(address: Address, observation: JobObserved) -> None:
    outbox = await KafkaOutbox.open(address)
    await outbox.put([observation])
    await outbox.close()


@pytest.mark.timeout(300)
def test_a_job_that_somebody_made_up_gets_no_pod_and_is_reported(
    jobs: Jobs, ledger_topics: Address, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        projectors, _ = (
            stack.enter_context(process(jobs, tmp_path / name, ledger_topics, roles))
            for name, roles in (("projectors", "projectors"), ("rest", "bridge,engine"))
        )
        jobs.apply(job("real", replica_type("worker", 1)))
        jobs.wait("real", "phase", "Running")
        asyncio.run(put(ledger_topics, forged(jobs, "real", ANOTHER)))
        asyncio.run(put(ledger_topics, forged(jobs, "made-up", NOBODYS)))
        wait_for("it is reported", lambda: "action=job-not-confirmed" in projectors.said)
        pods = jobs.cluster.get("pods", "-n", jobs.namespace)["items"]
        assert len(pods) == 1
        assert "privileged" not in str(pods)
        jobs.end(f"{jobs.base('real')}-worker-0", 0)
        jobs.wait("real", "phase", "Succeeded")
