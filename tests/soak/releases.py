"""Two releases on one log, each as programs of its own: roles upgraded one after the other, and put back.

The older one is the last that wrote every entry in version 1 (ADR 0043). It is checked out of git, and runs in the
environment of this one. Not a part of the gate: a shallow clone has no older release.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from jobledger.wiring.roles import Role
from statemachine.log.codec import decode
from statemachine.log.entry import REFERRING
from tests.gate.changed import ROOT
from tests.gate.checkout import checkout
from tests.harness import Cluster, program, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, job, replica_type
from tests.support.cluster_log import Ledger, comes_to_rest

pytestmark = pytest.mark.timeout(600)

OLDER: Final = "a5621e76d41a387b9a3d05f8901246ee61bbc375"

ENGINE: Final = frozenset({Role.ENGINE})
BRIDGE: Final = frozenset({Role.BRIDGE})
PROJECTORS: Final = frozenset({Role.PROJECTORS})
OTHERS: Final = BRIDGE | PROJECTORS

Start = Callable[[frozenset[Role], bool], ControllerProcess]


@pytest.fixture(scope="module")
def older() -> Iterator[Path]:
    """A checkout of the older release."""
    known = subprocess.run(
        ["git", "cat-file", "-e", f"{OLDER}^{{commit}}"], cwd=ROOT, capture_output=True, check=False
    )
    if known.returncode:
        pytest.skip(f"git has no revision {OLDER[:8]} here: a shallow clone?")
    with checkout(OLDER) as tree:
        yield tree


@pytest.fixture
def cluster(job_crds: Cluster) -> Cluster:
    """A control plane that knows all kinds of jobs."""
    return job_crds


@pytest.fixture
def jobs(cluster: Cluster, namespace: str) -> Jobs:
    return Jobs(cluster, namespace)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def start(cluster: Cluster, namespace: str, older: Path, tmp_path: Path, store: Path) -> Iterator[Start]:
    """Starts some roles, of the older release or of this one, which run until the test ends."""
    with ExitStack() as running:

        def started(roles: frozenset[Role], is_older: bool) -> ControllerProcess:
            folder = tmp_path / f"{'older' if is_older else 'newer'}-{'-'.join(sorted(roles))}"
            folder.mkdir(exist_ok=True)
            options = ("--namespaces", namespace, "--lease-namespace", namespace, "--roles", ",".join(roles))
            process = ControllerProcess(cluster, folder, *options, log=f"sqlite://{store}")
            if is_older:
                process.within = ("env", "-C", str(older), f"PYTHONPATH={older}")
            running.enter_context(process)
            wait_for(f"{folder.name} works: {process.latest}", lambda: process.is_working, 150)
            return process

        yield started


def is_referring(store: Path, uid: str) -> bool:
    """The job's history has an entry that the older release does not know the version of."""
    return any(decode(record.body).v == REFERRING for record in Ledger(store).story(uid).records)


def fail_a_worker(jobs: Jobs, name: str, times: int = 1) -> None:
    """One of its workers fails, so many times by now, and is made again."""
    jobs.end(f"{jobs.base(name)}-worker-0", code=1)
    jobs.wait(name, "backoffCount", times)
    jobs.wait(name, "aggregate.running", 2)


def end_all(jobs: Jobs, name: str) -> None:
    """All its workers succeed."""
    for pod in list(jobs.children(name)):
        jobs.end(f"{jobs.base(name)}-{pod}")
    jobs.wait(name, "phase", "Succeeded")


def succeed(jobs: Jobs, store: Path, name: str) -> None:
    """All its workers succeed, and the log says the same of it as the cluster."""
    end_all(jobs, name)
    comes_to_rest(jobs, Ledger(store), name)


def test_with_a_newer_engine_older_projectors_go_on_with_what_they_can_read_and_newer_ones_with_the_rest(
    start: Start, jobs: Jobs, store: Path
) -> None:
    engine, others = start(ENGINE, True), start(OTHERS, True)
    jobs.apply(job("before", replica_type("worker", 2)))
    jobs.wait("before", "aggregate.running", 2)
    assert engine.stop() == 0, engine.latest
    start(ENGINE, False)
    fail_a_worker(jobs, "before")
    jobs.apply(job("after", replica_type("worker", 2)))
    uid = jobs.get("after")["metadata"]["uid"]
    wait_for("the engine has admitted it", lambda: uid in Ledger(store).stories(), 90)
    assert is_referring(store, uid)
    fail_a_worker(jobs, "before", times=2)
    assert not jobs.children("after")
    assert others.stop() == 0, others.latest
    start(OTHERS, False)
    jobs.wait("after", "aggregate.running", 2)
    succeed(jobs, store, "before")
    succeed(jobs, store, "after")


def test_with_an_older_engine_newer_projectors_do_all_that_there_is_to_do(
    start: Start, jobs: Jobs, store: Path
) -> None:
    start(ENGINE, True), start(BRIDGE, True), start(PROJECTORS, False)
    jobs.apply(job("train", replica_type("worker", 2)))
    jobs.wait("train", "aggregate.running", 2)
    fail_a_worker(jobs, "train")
    succeed(jobs, store, "train")


def test_what_a_newer_bridge_says_to_an_older_engine_is_decided_when_a_newer_one_retries_it(
    start: Start, jobs: Jobs, store: Path
) -> None:
    """Engines are upgraded first. Source: docs/operations.md, Upgrade."""
    older, _ = start(ENGINE, True), start(OTHERS, False)
    jobs.apply(job("train", replica_type("worker", 2)))
    wait_for("the older release cannot read it", lambda: "an observation cannot be read" in older.latest)
    assert older.stop() == 0, older.latest
    start(ENGINE, False)
    retried = program.run("dead-letters", "retry", "--all", "--store", str(store))
    assert retried.returncode == 0, retried.stderr
    jobs.wait("train", "aggregate.running", 2)
    fail_a_worker(jobs, "train")
    end_all(jobs, "train")


def test_a_release_that_is_put_back_leaves_a_job_alone_whose_history_it_cannot_read_and_goes_on_with_others(
    start: Start, jobs: Jobs, store: Path
) -> None:
    everything = ENGINE | OTHERS
    older = start(everything, True)
    jobs.apply(job("before", replica_type("worker", 2)))
    jobs.wait("before", "aggregate.running", 2)
    assert older.stop() == 0, older.latest
    newer = start(everything, False)
    jobs.apply(job("after", replica_type("worker", 2)))
    jobs.wait("after", "aggregate.running", 2)
    newer.kill()  # in order it would save states, and with them an older release goes on
    older = start(everything, True)
    fail_a_worker(jobs, "before")
    pods = {name: pod["metadata"]["uid"] for name, pod in jobs.children("after").items()}
    jobs.end(f"{jobs.base('after')}-worker-1", code=1)
    wait_for("the older release says so", lambda: "a newer jobledger" in older.latest, 90)
    assert older.stop() == 0, older.latest
    start(everything, False)
    jobs.wait("after", "backoffCount", 1)
    jobs.wait("after", "aggregate.running", 2)
    again = {name: pod["metadata"]["uid"] for name, pod in jobs.children("after").items()}
    assert [name for name in pods if pods[name] != again[name]] == ["worker-1"]
    for name in ("before", "after"):
        end_all(jobs, name)
    findings = Ledger(store).findings()
    assert [finding for finding in findings if "a newer jobledger" not in finding] == []
