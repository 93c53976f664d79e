"""GenericJobs on a real control plane: rules decide, replicas have restarts and Services of their own."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest

from tests.harness import ControlPlane
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, Manifest, Status
from tests.support.cluster_log import Ledger, comes_to_rest
from tests.unit.kinds.build import API
from tests.unit.kinds.generic import HTTP, KIND, container, replicas, restarting, ruled

pytestmark = pytest.mark.integration

NAME: Final = "generic-example"


@pytest.fixture(scope="module")
def controller(
    simulated: ControlPlane, neighbour_crds: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerProcess]:
    with ControllerProcess(simulated, tmp_path_factory.mktemp("genericjob")) as running:
        yield running


@pytest.fixture
def jobs(simulated: ControlPlane, controller: ControllerProcess, namespace: str) -> Jobs:
    return Jobs(simulated, namespace, "gj", owner=KIND)


@pytest.fixture
def ledger(controller: ControllerProcess) -> Ledger:
    return Ledger(controller.store)


def restarted(count: int, status: Status) -> bool:
    """So many restarts of the first type are reported."""
    return bool(status["tasks"][0]["restartCount"] == count)


def job(spec: dict[str, Any]) -> Manifest:
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": NAME}, "spec": spec}


def test_example_a_the_rule_that_is_met_first_is_the_result(jobs: Jobs, ledger: Ledger) -> None:
    rules: dict[str, Any] = {
        "success": [{"worker": [0]}],
        "failure": [{"worker": [0]}, {"worker": [1]}],
    }
    jobs.apply(job(ruled(replicas("worker", 3), cleanUpPolicy="Unfinished", **rules)))
    jobs.wait(NAME, "phase", "Running")
    jobs.end(f"{NAME}-worker-2", 1)
    jobs.kubectl("wait", f"gj/{NAME}", "--for=condition=ReplicaFailure", "--timeout=90s")
    assert jobs.phase(NAME) == "Running"
    jobs.end(f"{NAME}-worker-1", 1)
    jobs.kubectl("wait", f"gj/{NAME}", "--for=condition=Failed", "--timeout=90s")
    text = 'The job is failed with rule: { "worker": [1] }'
    assert jobs.conditions(NAME)["Failed"] == ("True", "Failed", text)
    status = comes_to_rest(jobs, ledger, NAME)
    assert (status["aggregate"]["failed"], status["aggregate"]["deleted"]) == (2, 1)
    assert "backoffCount" not in status


def test_example_c_and_d_restarts_are_a_replica_s_own_and_variables_are_replaced(
    jobs: Jobs, ledger: Ledger
) -> None:
    item = restarting("worker", 2, "OnFailure", 1)
    words = ["$(service.worker[0].host):$(service.port[http])", "$(rank)"]
    item["template"]["spec"]["containers"] = [container(args=words)]
    jobs.apply(job(ruled(item, success=[{"worker": ["1"]}], **HTTP)))
    jobs.wait(NAME, "phase", "Running")
    for rank, count in (("0", 1), ("1", 2)):
        jobs.end(f"{NAME}-worker-{rank}", 1)
        jobs.until(NAME, f"restart {count} is granted", partial(restarted, count))
    jobs.kubectl("wait", f"gj/{NAME}", "--for=condition=ReplicaFailure=False", "--timeout=90s")
    pod = jobs.children(NAME)["worker-1"]
    assert pod["spec"]["containers"][0]["args"] == [f"{NAME}-worker-0:2222", "1"]
    assert list(jobs.children(NAME, "services")) == ["worker-0", "worker-1"]
    jobs.end(f"{NAME}-worker-1")
    jobs.kubectl("wait", f"gj/{NAME}", "--for=condition=Completed", "--timeout=90s")
    comes_to_rest(jobs, ledger, NAME)


def test_a_variable_that_stands_for_nothing_fails_the_job_before_anything_is_made(jobs: Jobs) -> None:
    jobs.apply(job(ruled(replicas("worker", 1, container(args=["$(service.port[http])"])), success=[])))
    jobs.wait(NAME, "phase", "Failed")
    where = "spec.replicaSpecs[0].template.spec.containers[0].args[0]"
    assert jobs.conditions(NAME)["Failed"] == (
        *("True", "InvalidSpec"),
        f"{where}: variable $(service.port[http]) cannot be resolved",
    )
    assert jobs.children(NAME) == {}
