"""A deleted job leaves nothing but its history, however it was deleted, and whether a controller was there or not."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from k8s_bridge.port import EVIDENCE
from tests.harness import ControlPlane, program, wait_for
from tests.integration.cluster.policies import undeletable
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import CHILDREN, Jobs, job, replica_type
from tests.support.cluster_log import Ledger

pytestmark = pytest.mark.integration

OWNED = "pods,services,podgroups,tensorboards"
CASCADES = ("background", "foreground")
SWEPT = 90.0
"""Seconds within which the controller has looked for orphans twice."""
LOOKING = [pytest.param(True, id="looking"), pytest.param(False, id="not-looking")]


@pytest.fixture(scope="module")
def controller(
    simulated: ControlPlane, neighbour_crds: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerProcess]:
    """The controller of the module; tests may have left it dead."""
    with ControllerProcess(simulated, tmp_path_factory.mktemp("deletion")) as running:
        yield running


@pytest.fixture
def jobs(simulated: ControlPlane, controller: ControllerProcess, namespace: str) -> Jobs:
    controller.start()
    return Jobs(simulated, namespace)


def running_job(jobs: Jobs, name: str = "mnist", **more: Any) -> str:
    """The uid of a job that has one of everything, and runs."""
    board = {"image": "none"}
    jobs.apply(job(name, replica_type("worker", 2, **more), tensorboardSpec=board))
    jobs.wait(name, "phase", "Running")
    return str(jobs.get(name)["metadata"]["uid"])


def left(jobs: Jobs) -> list[str]:
    """What is left of jobs in the namespace."""
    objects = jobs.cluster.get("-n", jobs.namespace, f"pytorchtrainingjobs,{OWNED}", "-l", CHILDREN)["items"]
    return [f"{manifest['kind']}/{manifest['metadata']['name']}" for manifest in objects]


def nothing_is_left(jobs: Jobs) -> None:
    wait_for("nothing is left", lambda: not left(jobs))


def history(controller: ControllerProcess, uid: str) -> list[dict[str, Any]]:
    """What `jobledger history` tells of a job."""
    words = ["--uid", uid, "-o", "json", "--store", str(controller.store)]
    done = program.run("history", *words, *namespaces_and_name(controller, uid), within=60)
    assert done.returncode == 0, done.stderr
    entries: list[dict[str, Any]] = json.loads(done.stdout)
    return entries


def namespaces_and_name(controller: ControllerProcess, uid: str) -> list[str]:
    state = Ledger(controller.store).story(uid).state
    return ["--namespace", state.namespace, state.name]


def is_closed(controller: ControllerProcess, uid: str) -> None:
    """The log knows that everything is gone, and the history tells how it came to that."""
    ledger = Ledger(controller.store)
    wait_for("the history is closed", lambda: ledger.story(uid).state.closed)
    assert ledger.findings() == []
    types = [event["type"] for entry in history(controller, uid) for event in entry["events"]]
    assert types[0] == "JobAdmitted"
    assert types.count("JobDeleted") == types.count("JobClosed") == 1


@pytest.mark.parametrize("cascade", CASCADES)
def test_a_deleted_job_leaves_nothing_but_its_history(
    jobs: Jobs, controller: ControllerProcess, cascade: str
) -> None:
    uid = running_job(jobs)
    jobs.delete("mnist", cascade)
    nothing_is_left(jobs)
    is_closed(controller, uid)


@pytest.mark.parametrize("cascade", CASCADES)
def test_a_job_deleted_while_nobody_looked_leaves_nothing_but_its_history(
    jobs: Jobs, controller: ControllerProcess, cascade: str
) -> None:
    uid = running_job(jobs)
    controller.kill()
    jobs.kubectl("delete", "pj", "mnist", f"--cascade={cascade}", "--wait=false")
    jobs.kubectl(
        "wait", "--for=jsonpath={.metadata.deletionTimestamp}", "pods", "-l", CHILDREN, "--timeout=90s"
    )
    controller.start()
    nothing_is_left(jobs)
    is_closed(controller, uid)


def job_pods(jobs: Jobs) -> list[dict[str, Any]]:
    pods: list[dict[str, Any]] = jobs.cluster.get("-n", jobs.namespace, "pods", "-l", CHILDREN)["items"]
    return pods


@pytest.mark.parametrize("looking", LOOKING)
def test_orphaned_pods_live_on_and_nothing_holds_them(
    jobs: Jobs, controller: ControllerProcess, looking: bool
) -> None:
    uid = running_job(jobs)
    before = [pod["metadata"]["uid"] for pod in job_pods(jobs)]
    if not looking:
        controller.kill()
    jobs.delete("mnist", "orphan")
    controller.start()
    wait_for("nothing holds the pods", lambda: not any(is_held(pod) for pod in job_pods(jobs)), SWEPT)
    for pod in job_pods(jobs):
        meta = pod["metadata"]
        assert (pod["status"]["phase"], meta.get("deletionTimestamp")) == ("Running", None)
        assert "ownerReferences" not in meta
    assert [pod["metadata"]["uid"] for pod in job_pods(jobs)] == before
    is_closed(controller, uid)


def is_held(pod: dict[str, Any]) -> bool:
    return EVIDENCE in pod["metadata"].get("finalizers", ())


@pytest.mark.parametrize("looking", LOOKING)
def test_a_deleted_namespace_ends_and_the_history_stays(
    simulated: ControlPlane, controller: ControllerProcess, looking: bool
) -> None:
    controller.start()
    with simulated.namespace("going") as name:
        uid = running_job(Jobs(simulated, name))
        if not looking:
            controller.kill()
        simulated.kubectl("delete", "namespace", name, "--wait=false")
        if not looking:  # nobody lets the pods go, so that they can be seen being deleted
            deleted = "--for=jsonpath={.metadata.deletionTimestamp}"
            simulated.kubectl("wait", deleted, "-n", name, "pods", "-l", CHILDREN, "--timeout=90s")
        controller.start()
        simulated.kubectl("wait", "--for=delete", f"namespace/{name}", "--timeout=150s")
    is_closed(controller, uid)


def test_a_pod_that_ended_while_nobody_looked_is_in_the_history_of_its_deleted_job(
    jobs: Jobs, controller: ControllerProcess
) -> None:
    uid = running_job(jobs)
    pod = f"{jobs.base('mnist')}-worker-1"
    controller.kill()
    jobs.end(pod, 42)
    jobs.kubectl("wait", f"pod/{pod}", "--for=jsonpath={.status.phase}=Failed", "--timeout=90s")
    jobs.kubectl("delete", "pj", "mnist")
    controller.start()
    nothing_is_left(jobs)
    is_closed(controller, uid)
    assert 42 in exit_codes(controller, uid)


def exit_codes(controller: ControllerProcess, uid: str) -> list[int]:
    """Of all ends of the job's pods."""
    return [
        container["exit_code"]
        for entry in history(controller, uid)
        for event in entry["events"]
        if event["type"] in ("ReplicaFailed", "ReplicaEnded")
        for container in event.get("containers", ())
    ]


def test_the_end_of_a_pod_that_lost_labels_and_owner_while_nobody_looked_is_in_the_history(
    jobs: Jobs, controller: ControllerProcess
) -> None:
    """No list of pods of jobs shows it: it is looked at by its name before it is called gone."""
    uid = running_job(jobs)
    pod = f"{jobs.base('mnist')}-worker-1"
    ended = jobs.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}").strip()
    controller.kill()
    bare = '{"metadata":{"ownerReferences":null,"labels":null}}'
    jobs.kubectl("patch", "pod", pod, "--type=merge", "-p", bare)
    jobs.end(pod, 42)
    jobs.kubectl("wait", f"pod/{pod}", "--for=jsonpath={.status.phase}=Failed", "--timeout=90s")
    controller.start()
    wait_for("its end is reported", lambda: 42 in exit_codes(controller, uid), 90)
    entries = history(controller, uid)
    lost = [event["uid"] for entry in entries for event in entry["events"] if event["type"] == "ReplicaLost"]
    # KWOK deletes by name: on a busy machine it may force the pod out that has been made in place of this one
    assert ended not in lost, json.dumps(entries)


def test_a_name_used_again_is_another_job(jobs: Jobs, controller: ControllerProcess) -> None:
    first = running_job(jobs)
    jobs.delete("mnist")
    second = running_job(jobs)
    assert first != second
    is_closed(controller, first)
    state = Ledger(controller.store).story(second).state
    assert (state.phase, state.closed) == ("Running", False)
    owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in jobs.children("mnist").values()}
    assert owners == {second}


def test_pods_of_jobs_that_a_log_has_never_heard_of_are_let_go(
    jobs: Jobs, controller: ControllerProcess, tmp_path_factory: pytest.TempPathFactory
) -> None:
    running_job(jobs)
    controller.kill()
    jobs.delete("mnist")
    with ControllerProcess(jobs.cluster, tmp_path_factory.mktemp("empty")):
        wait_for("nothing is left", lambda: not left(jobs), SWEPT)


def test_deletions_that_a_policy_denies_are_said_once_and_go_on_when_it_is_gone(
    jobs: Jobs, controller: ControllerProcess
) -> None:
    uid = running_job(jobs)
    pod = next(iter(jobs.children("mnist").values()))["metadata"]["name"]
    with undeletable(jobs, "pods", pod):
        jobs.patch("mnist", runMode={"pause": {"enabled": True}})
        jobs.event_message("mnist", "FailedDelete")
        before = len(Ledger(controller.store).story(uid).records)
        time.sleep(5)
        assert len(Ledger(controller.store).story(uid).records) == before
        assert "Paused" not in jobs.conditions("mnist")
    jobs.wait("mnist", "aggregate.deleted", 2)
    assert jobs.conditions("mnist")["Paused"][0] == "True"
