"""Two bridges that both believe to be the only one report everything twice, and that changes nothing."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from statemachine import events as e
from tests.harness import ControlPlane
from tests.simulation.histories import Story
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type
from tests.support.cluster_log import Ledger, comes_to_rest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

SLOW = 60.0
"""Seconds for what takes one: several programs start on two cores."""


@pytest.fixture
def jobs(simulated: ControlPlane, namespace: str) -> Jobs:
    return Jobs(simulated, namespace)


@pytest.fixture
def bridges(jobs: Jobs, tmp_path: Path) -> Iterator[tuple[ControllerProcess, ControllerProcess]]:
    """Two bridges beside the rest of a controller, all on one store."""
    with ExitStack() as running:

        def process(name: str, roles: str) -> ControllerProcess:
            (tmp_path / name).mkdir()
            options = ("--no-leader-elect", "--namespaces", jobs.namespace, "--roles", roles)
            made = ControllerProcess(jobs.cluster, tmp_path / name, *options)
            made.store = tmp_path / "ledger.db"
            return running.enter_context(made)

        process("rest", "engine,projectors")
        yield process("one", "bridge"), process("two", "bridge")


def test_jobs_live_their_lives_once_under_two_bridges(
    jobs: Jobs, bridges: tuple[ControllerProcess, ControllerProcess]
) -> None:
    one, two = bridges
    jobs.apply(job("well", replica_type("worker", 4)), job("ill", replica_type("worker", 2), **budget(1)))
    restarted(jobs, "well", 4, spent=0)
    restarted(jobs, "ill", 2, spent=0)
    for name, replica in (("well", "worker-1"), ("ill", "worker-1")):
        jobs.end(f"{jobs.base(name)}-{replica}", 137)
    restarted(jobs, "well", 4, spent=1)
    restarted(jobs, "ill", 2, spent=1)
    one.kill()  # each is enough
    jobs.end(f"{jobs.base('well')}-worker-2", 137)
    restarted(jobs, "well", 4, spent=2)
    one.start()
    two.kill()
    jobs.end(f"{jobs.base('ill')}-worker-0", 137)
    jobs.wait("ill", "phase", "Failed", SLOW)
    two.start()
    jobs.end(f"{jobs.base('well')}-worker-0")
    jobs.wait("well", "phase", "Succeeded", SLOW)
    ledger = Ledger(one.store)
    assert comes_to_rest(jobs, ledger, "well", SLOW)["backoffCount"] == 2
    assert comes_to_rest(jobs, ledger, "ill", SLOW)["backoffCount"] == 1
    for uid, story in ledger.stories().items():
        assert {made for made in pods_by_attempt(story).items() if made[1] > 1} == set(), uid


def budget(limit: int) -> dict[str, Any]:
    return {"runPolicy": {"backoffLimit": limit}}


def restarted(jobs: Jobs, name: str, running: int, *, spent: int) -> None:
    """So many replicas run after so many restarts."""
    wanted = (spent, running)
    jobs.until(name, f"{wanted}", partial(_is, wanted), SLOW)


def _is(wanted: tuple[int, int], status: dict[str, Any]) -> bool:
    return (status["backoffCount"], status["aggregate"]["running"]) == wanted


def pods_by_attempt(story: Story) -> Counter[tuple[str, int]]:
    """How many pods each attempt of each replica was."""
    return Counter(
        (event.replica, before.replicas[event.replica].attempt)
        for before, event in story.events()
        if isinstance(event, e.ReplicaCreated)
    )
