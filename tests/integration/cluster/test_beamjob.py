"""BeamJobs on a real control plane: Kubernetes' own Job controller makes the pods that submit, and decides."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.harness import ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, Manifest
from tests.support.cluster_log import Ledger, comes_to_rest
from tests.unit.kinds.beam import CLEAN_UP, KIND, NAME, job_template, spec
from tests.unit.kinds.build import API

pytestmark = pytest.mark.integration

JOB: Final = f"{NAME}-batchjob"


@pytest.fixture(scope="module")
def controller(
    simulated: ControlPlane, neighbour_crds: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerProcess]:
    with ControllerProcess(simulated, tmp_path_factory.mktemp("beamjob")) as running:
        yield running


@pytest.fixture
def jobs(simulated: ControlPlane, controller: ControllerProcess, namespace: str) -> Jobs:
    return Jobs(simulated, namespace, "bj", owner=KIND)


@pytest.fixture
def ledger(controller: ControllerProcess) -> Ledger:
    return Ledger(controller.store)


def job(of: dict[str, Any]) -> Manifest:
    return {"apiVersion": API, "kind": KIND, "metadata": {"name": NAME}, "spec": of}


def living(jobs: Jobs) -> dict[str, str]:
    """The pods that submit the program → their phases."""
    pods = jobs.cluster.get("pods", "-n", jobs.namespace, "-l", f"job-name={JOB}")["items"]
    return {pod["metadata"]["name"]: pod["status"].get("phase", "") for pod in pods}


def submitting(jobs: Jobs) -> str:
    """The pod that runs and submits the program."""

    def runs() -> str:
        return next((name for name, phase in living(jobs).items() if phase == "Running"), "")

    return wait_for("a pod of the Job runs", runs)


def owned(jobs: Jobs, what: str) -> list[str]:
    """The names of the job's objects of a kind."""
    return sorted(
        item["metadata"]["name"]
        for item in jobs.cluster.get(what, "-n", jobs.namespace, "-l", f"tensorstack.dev/owner-name={NAME}")[
            "items"
        ]
    )


def test_example_a_the_job_controller_s_complete_is_success_and_the_cluster_stays(
    jobs: Jobs, ledger: Ledger
) -> None:
    jobs.apply(job(spec(2)))
    jobs.kubectl("wait", f"bj/{NAME}", "--for=condition=ClusterRunning", "--timeout=90s")
    pod = submitting(jobs)
    jobs.wait(NAME, "phase", "Running")
    status = jobs.until(NAME, "four pods run", lambda status: bool(status["aggregate"]["running"] == 4))
    assert [condition["reference"]["name"] for condition in status["jobStatus"]] == [pod]
    assert jobs.conditions(NAME)["JobRunning"][0] == "True"
    jobs.end(pod)
    jobs.wait(NAME, "phase", "Succeeded")
    status = comes_to_rest(jobs, ledger, NAME)
    assert (status["aggregate"]["running"], status["aggregate"]["succeeded"]) == (3, 1)
    assert {type_: holds for type_, (holds, *_) in jobs.conditions(NAME).items()} == {
        "ClusterRunning": "True",
        "JobRunning": "False",
    }
    assert len(owned(jobs, "pods")) == 4
    assert owned(jobs, "jobs") == [JOB]


def test_examples_b_and_c_a_retry_succeeds_and_the_cluster_is_cleaned_up(jobs: Jobs, ledger: Ledger) -> None:
    jobs.apply(job(spec(1, **CLEAN_UP)))
    first = submitting(jobs)
    jobs.end(first, 1)
    second = wait_for("another pod runs", lambda: next((name for name in living(jobs) if name != first), ""))
    wait_for("it runs", lambda: living(jobs).get(second) == "Running")
    jobs.wait(NAME, "phase", "Running")
    jobs.end(second)
    jobs.wait(NAME, "phase", "Succeeded")
    wait_for("the cluster is gone", lambda: owned(jobs, "services") == [])
    status = comes_to_rest(jobs, ledger, NAME)
    assert [condition["phase"] for condition in status["jobStatus"]] == ["Failed", "Succeeded"]
    wait_for("the ConfigMap is gone", lambda: owned(jobs, "configmaps") == [])
    wait_for("only the submit pods are left", lambda: owned(jobs, "pods") == sorted([first, second]))
    assert owned(jobs, "jobs") == [JOB]


def test_a_failed_job_fails_the_job_with_the_controller_s_reason(jobs: Jobs, ledger: Ledger) -> None:
    template = job_template()
    template["spec"]["backoffLimit"] = 0
    jobs.apply(job(spec(1, job=template)))
    jobs.end(submitting(jobs), 3)
    jobs.kubectl("wait", f"bj/{NAME}", "--for=condition=Failed", "--timeout=90s")
    assert jobs.conditions(NAME)["Failed"][1] == "BackoffLimitExceeded"
    comes_to_rest(jobs, ledger, NAME)


def test_a_job_that_is_deleted_takes_everything_along(jobs: Jobs) -> None:
    jobs.apply(job(spec(1)))
    submitting(jobs)
    jobs.kubectl("delete", f"bj/{NAME}", "--wait=false")
    for what in ("pods", "services", "configmaps", "jobs"):
        wait_for(f"no {what} are left", lambda what=what: owned(jobs, what) == [])  # type: ignore[misc]


def test_a_job_that_loses_its_labels_gets_them_back_and_one_that_is_deleted_is_not_made_again(
    jobs: Jobs, ledger: Ledger
) -> None:
    jobs.apply(job(spec(1)))
    submitting(jobs)
    jobs.wait(NAME, "phase", "Running")
    jobs.kubectl("label", f"job/{JOB}", "tensorstack.dev/owner-kind-")
    label = "{.metadata.labels.tensorstack\\.dev/owner-kind}"
    jobs.kubectl("wait", f"job/{JOB}", f"--for=jsonpath={label}={KIND}", "--timeout=90s")
    assert jobs.phase(NAME) == "Running"
    jobs.kubectl("delete", f"job/{JOB}")
    jobs.wait(NAME, "phase", "Failed")
    assert jobs.conditions(NAME)["Failed"][1] == "SubmitJobDeleted"
    comes_to_rest(jobs, ledger, NAME)
    assert owned(jobs, "jobs") == []


def test_a_template_that_the_api_server_refuses_fails_the_job(jobs: Jobs) -> None:
    template = job_template()
    template["spec"]["completionMode"] = "Sideways"
    jobs.apply(job(spec(1, job=template)))
    jobs.wait(NAME, "phase", "Failed")
    assert "Sideways" in jobs.conditions(NAME)["Failed"][2]
