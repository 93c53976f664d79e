"""What a cluster may do to a job: it is said in conditions and Events, and every other job goes on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from k8s_bridge.port import EVIDENCE
from tests.harness import JOB_CRDS, NEIGHBOUR_CRDS, ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, Manifest, job, replica_type
from tests.support.cluster_log import Ledger, comes_to_rest
from tests.support.repetition import sized

pytestmark = pytest.mark.integration

PODGROUPS: Final = NEIGHBOUR_CRDS / "podgroups.yaml"
NUMBERS: Final = count(1)
AT_ONCE: Final = {"run-seconds": 0}
MOST_OF_AN_OBJECT: Final = 1_500_000
"""Bytes that etcd takes (1.5 MiB by default), less what is not the status."""


@pytest.fixture(scope="module")
def plane(killable_plane: ControlPlane) -> ControlPlane:
    """A control plane that others leave alone meanwhile: kinds come and go, and policies hold everywhere."""
    return killable_plane


@pytest.fixture(autouse=True)
def cluster(plane: ControlPlane) -> ControlPlane:
    return plane


@pytest.fixture(scope="module")
def controller(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerProcess]:
    with ControllerProcess(plane, tmp_path_factory.mktemp("bad-input")) as running:
        yield running


@pytest.fixture(scope="module")
def kinds(plane: ControlPlane) -> ControlPlane:
    """The plane with the kinds of jobledger."""
    plane.install(JOB_CRDS)
    return plane


@pytest.fixture
def jobs(kinds: ControlPlane, controller: ControllerProcess) -> Iterator[Jobs]:
    with kinds.namespace("bad") as name:
        yield Jobs(kinds, name)


@pytest.fixture(scope="module")
def others(kinds: ControlPlane, controller: ControllerProcess) -> Iterator[Jobs]:
    """Where other people's jobs run."""
    with kinds.namespace("others") as name:
        yield Jobs(kinds, name)


@pytest.fixture
def ledger(controller: ControllerProcess) -> Ledger:
    return Ledger(controller.store)


def another_runs_through(others: Jobs) -> None:
    name = f"other-{next(NUMBERS)}"
    others.apply(job(name, replica_type("worker", 1, life=AT_ONCE)))
    others.wait(name, "phase", "Succeeded")


def created_paused(jobs: Jobs, name: str = "mnist", *types: Manifest, **spec: Any) -> str:
    """A job whose children's names are known before they exist: what they begin with."""
    jobs.apply(job(name, *types, **spec, runMode={"pause": {"enabled": True}}))
    jobs.wait(name, "phase", "Paused")
    return jobs.base(name)


def resume(jobs: Jobs, name: str = "mnist") -> None:
    jobs.patch(name, runMode={"pause": {"enabled": False}})


def initialized(jobs: Jobs, name: str = "mnist") -> tuple[str, str, str]:
    return jobs.conditions(name).get("Initialized", ("", "", ""))


def not_initialized(jobs: Jobs, reason: str, saying: str, name: str = "mnist") -> str:
    """The message of the condition, once it and the Event say that the job cannot be initialized, and why."""
    wait_for(f"Initialized is False, {reason}", lambda: initialized(jobs, name)[:2] == ("False", reason))
    message = initialized(jobs, name)[2]
    assert saying in message
    assert saying in jobs.event_message(name, "FailedCreate")
    return message


def foreign(kind: str, name: str) -> Manifest:
    spec = {"containers": [{"name": "web", "image": "none"}]} if kind == "Pod" else {"ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


# ---- names, quotas, namespaces, policies -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Pod", "Service"])
def test_a_name_that_is_taken_is_waited_for(
    jobs: Jobs, others: Jobs, kind: str, controller: ControllerProcess, ledger: Ledger
) -> None:
    name = created_paused(jobs) + ("-worker-0" if kind == "Pod" else "")
    controller.kill()
    jobs.kubectl("delete", "--ignore-not-found", kind, name)  # a paused job has its Service
    jobs.apply(foreign(kind, name))
    resume(jobs)
    controller.start()
    message = not_initialized(jobs, "NameConflict", name)
    assert message == f'{kind} "{name}" already exists and is not controlled by this job'
    another_runs_through(others)
    assert jobs.phase("mnist") == "Resuming"
    jobs.kubectl("delete", kind, name)
    jobs.wait("mnist", "phase", "Running")
    assert initialized(jobs)[0] == "True"
    comes_to_rest(jobs, ledger, "mnist")


def test_a_quota_that_is_used_up_is_waited_for(jobs: Jobs, others: Jobs, ledger: Ledger) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}}
    jobs.apply({**quota, "spec": {"hard": {"pods": "1"}}})
    jobs.kubectl("wait", "resourcequota/small", "--for=jsonpath={.status.hard.pods}=1", "--timeout=90s")
    jobs.apply(job("mnist", replica_type("worker", 2)))
    not_initialized(jobs, "InitializationFailed", "exceeded quota: small")
    another_runs_through(others)
    assert jobs.phase("mnist") == "Pending"
    jobs.kubectl("delete", "resourcequota", "small")
    jobs.wait("mnist", "phase", "Running")
    assert initialized(jobs)[0] == "True"
    comes_to_rest(jobs, ledger, "mnist")


def test_a_namespace_that_is_terminating_takes_nothing(
    plane: ControlPlane, others: Jobs, controller: ControllerProcess
) -> None:
    with plane.namespace("ending") as name:
        jobs = Jobs(plane, name)
        created_paused(jobs)
        holder = foreign("Pod", "holder")
        holder["metadata"]["finalizers"] = ["test/holds-the-namespace"]
        jobs.apply(holder)
        plane.kubectl("delete", "namespace", name, "--wait=false")
        resume(jobs)
        wait_for("the refusal is said", lambda: initialized(jobs)[:2] == ("False", "InitializationFailed"))
        assert "because it is being terminated" in initialized(jobs)[2]
        another_runs_through(others)
        jobs.kubectl("patch", "pod", "holder", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        plane.kubectl("wait", "--for=delete", f"namespace/{name}", "--timeout=240s", within=240)


def policy(jobs: Jobs, reason: str) -> list[Manifest]:
    """A policy of the cluster that refuses all pods of a namespace."""
    api, name = {"apiVersion": "admissionregistration.k8s.io/v1"}, {"name": f"no-pods-{jobs.namespace}"}
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    refusal = {"expression": "false", "message": "no pods today", "reason": reason}
    rules = {"resourceRules": [pods]}
    here = {"matchLabels": {"kubernetes.io/metadata.name": jobs.namespace}}
    binding = {
        "policyName": name["name"],
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": here},
    }
    return [
        {**api, "kind": "ValidatingAdmissionPolicy", "metadata": name}
        | {"spec": {"matchConstraints": rules, "validations": [refusal]}},
        {**api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": name, "spec": binding},
    ]


@contextmanager
def in_force(jobs: Jobs, *manifests: Manifest) -> Iterator[None]:
    """What refuses pods is there, and does."""
    jobs.apply(*manifests)
    probe = ("-n", jobs.namespace, "create", "--dry-run=server", "-f", "-")
    try:
        wait_for(
            "pods are refused", lambda: jobs.cluster.answer(*probe, input=foreign("Pod", "probe")).returncode
        )
        yield
    finally:
        for manifest in manifests:
            jobs.kubectl("delete", manifest["kind"], manifest["metadata"]["name"])


def test_a_policy_that_finds_pods_invalid_fails_the_job_with_its_sentence(
    jobs: Jobs, others: Jobs, ledger: Ledger
) -> None:
    with in_force(jobs, *policy(jobs, "Invalid")):
        jobs.apply(job("mnist"))
        jobs.kubectl("wait", "pj/mnist", "--for=condition=Failed", "--timeout=90s")
        status, reason, message = jobs.conditions("mnist")["Failed"]
        assert (status, reason) == ("True", "InvalidSpec")
        assert "no pods today" in message
        assert "no pods today" in jobs.event_message("mnist", "FailedCreate")
        assert jobs.event_message("mnist", "Failed") == message
        another_runs_through(others)
    comes_to_rest(jobs, ledger, "mnist")
    assert not jobs.children("mnist")


def webhook(jobs: Jobs) -> Manifest:
    """A webhook that all pods of a namespace have to pass, and that nobody answers."""
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    hook = {
        "name": "pods.example.com",
        "rules": [pods],
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": jobs.namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 2,
    }
    meta = {"name": f"nobody-{jobs.namespace}"}
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return {**kind, "metadata": meta, "webhooks": [hook]}


@pytest.mark.parametrize("how", ["a policy that forbids", "a webhook that nobody answers"])
def test_pods_that_are_refused_for_now_are_tried_again(
    jobs: Jobs, others: Jobs, how: str, ledger: Ledger
) -> None:
    forbids = how == "a policy that forbids"
    with in_force(jobs, *(policy(jobs, "Forbidden") if forbids else [webhook(jobs)])):
        jobs.apply(job("mnist"))
        not_initialized(
            jobs, "InitializationFailed", "no pods today" if forbids else "failed calling webhook"
        )
        another_runs_through(others)
        assert jobs.phase("mnist") == "Pending"
    jobs.wait("mnist", "phase", "Running")
    comes_to_rest(jobs, ledger, "mnist")


# ---- kinds that are not installed --------------------------------------------------------------------------


def test_a_kind_that_is_installed_after_the_controller_started_is_watched(
    plane: ControlPlane, controller: ControllerProcess
) -> None:
    controller.stop()
    plane.uninstall(JOB_CRDS)
    controller.start()
    wait_for("the controller misses the kind", lambda: "PyTorchTrainingJob" in controller.latest)
    assert "batch.tensorstack.dev/v1beta1 is not installed" in controller.latest
    plane.install(JOB_CRDS)
    with plane.namespace("late") as name:
        another_runs_through(Jobs(plane, name))


def test_a_kind_of_another_version_is_a_kind_that_is_not_installed(
    plane: ControlPlane, controller: ControllerProcess
) -> None:
    controller.stop()
    plane.uninstall(JOB_CRDS)
    others = [as_version(crd, "v1") for crd in crds(JOB_CRDS)]
    try:
        plane.kubectl("create", "-f", "-", input=others)
        plane.kubectl("wait", "--for=condition=Established", "--timeout=90s", "-f", "-", input=others)
        controller.start()
        said = "PyTorchTrainingJob batch.tensorstack.dev/v1beta1 is not installed"
        wait_for("the controller misses the version", lambda: said in controller.latest)
    finally:  # the next tests need the kinds, however this one ends
        plane.uninstall(JOB_CRDS)
        plane.install(JOB_CRDS)
        controller.start()
    with plane.namespace("right") as name:
        another_runs_through(Jobs(plane, name))


def crds(folder: Path) -> list[Manifest]:
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))]


def as_version(crd: Manifest, version: str) -> Manifest:
    crd["spec"]["versions"][0]["name"] = version
    return crd


def test_a_job_waits_until_podgroups_are_installed(jobs: Jobs, others: Jobs, ledger: Ledger) -> None:
    jobs.cluster.uninstall(NEIGHBOUR_CRDS)
    jobs.apply(job("mnist", scheduler={"t9kScheduler": {"queue": "default"}}))
    message = not_initialized(jobs, "InitializationFailed", "PodGroup")
    assert message == "PodGroup scheduler.tensorstack.dev/v1beta1 is not installed"
    assert not jobs.children("mnist")
    another_runs_through(others)
    jobs.cluster.install(NEIGHBOUR_CRDS)
    wait_for("the job goes on", lambda: initialized(jobs)[0] == "True")
    assert jobs.cluster.get("-n", jobs.namespace, "podgroup", "mnist")["spec"]["minMember"] == 1
    comes_to_rest(jobs, ledger, "mnist")


def test_a_job_runs_without_the_tensorboard_that_nobody_installed(
    jobs: Jobs, others: Jobs, ledger: Ledger
) -> None:
    jobs.cluster.uninstall(NEIGHBOUR_CRDS)
    jobs.apply(job("mnist", replica_type("worker", 1, life=AT_ONCE), tensorboardSpec={"image": "none"}))
    jobs.wait("mnist", "phase", "Succeeded")
    board = comes_to_rest(jobs, ledger, "mnist")["tensorboard"]
    assert (board["ready"], board["reason"], board["action"], board["type"]) == (
        False,
        "DependentError",
        "Create",
        "Warning",
    )
    assert board["note"] == "TensorBoard tensorstack.dev/v1beta1 is not installed"
    another_runs_through(others)


# ---- people who change what is not theirs ------------------------------------------------------------------


def test_a_status_that_a_user_wrote_is_set_right(jobs: Jobs, others: Jobs, ledger: Ledger) -> None:
    jobs.apply(job("mnist"))
    jobs.wait("mnist", "phase", "Running")
    lie = json.dumps({"status": {"phase": "Succeeded", "backoffCount": 7, "conditions": None}})
    # kubectl may remember the version of the test before, and asks the server again for a version that it lacks
    kind = "pytorchtrainingjobs.v1beta1.batch.tensorstack.dev"
    jobs.kubectl("patch", kind, "mnist", "--subresource=status", "--type=merge", "-p", lie)
    another_runs_through(others)
    status = comes_to_rest(jobs, ledger, "mnist", within=90)
    assert (status["phase"], status["backoffCount"]) == ("Running", 0)


def test_a_pod_whose_evidence_a_user_took_away_is_lost_and_made_again(
    jobs: Jobs, others: Jobs, ledger: Ledger
) -> None:
    jobs.apply(job("mnist", replica_type("worker", 2, restartPolicy="Never")))
    jobs.wait("mnist", "phase", "Running")
    pod = f"{jobs.base('mnist')}-worker-1"
    jobs.kubectl("patch", "pod", pod, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    jobs.kubectl("delete", "pod", pod, "--force", "--grace-period=0")
    assert jobs.event_message("mnist", "ReplicaLost") == f"Replica {pod} was deleted and is created again"
    jobs.wait("mnist", "aggregate.running", 2)
    another_runs_through(others)
    assert comes_to_rest(jobs, ledger, "mnist")["backoffCount"] == 0
    finalizers = jobs.children("mnist")["worker-1"]["metadata"]["finalizers"]
    assert finalizers == [EVIDENCE]


LABELS: Final = (
    "tensorstack.dev/owner-kind-",
    "tensorstack.dev/owner-name=somebody",
    "replica-index=0",
    "replica-index-",
    "replica-type=chief",
)


@pytest.mark.parametrize("change", LABELS)
def test_a_job_whose_pods_were_relabelled_still_comes_to_its_end(
    jobs: Jobs, others: Jobs, change: str, ledger: Ledger
) -> None:
    jobs.apply(job("mnist", replica_type("worker", 2)))
    jobs.wait("mnist", "phase", "Running")
    jobs.kubectl("label", "--overwrite", "pod", f"{jobs.base('mnist')}-worker-1", change)
    another_runs_through(others)
    jobs.wait("mnist", "aggregate.running", 2)
    for index in (1, 0):
        jobs.end(f"{jobs.base('mnist')}-worker-{index}")
        jobs.wait("mnist", "aggregate.succeeded", 2 - index)
    jobs.wait("mnist", "phase", "Succeeded")
    comes_to_rest(jobs, ledger, "mnist")
    base = jobs.base("mnist")
    jobs.delete("mnist")
    wait_for("no pod is left", lambda: base not in jobs.kubectl("get", "pods", "-o", "name"))


# ---- nodes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("off", [timedelta(hours=1), timedelta(hours=-1)], ids=["ahead", "behind"])
def test_the_clock_of_a_node_does_not_move_the_jobs(
    jobs: Jobs, others: Jobs, off: timedelta, ledger: Ledger
) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    by_hand = replica_type("worker", 1, pod={"schedulerName": "nobody"}, restartPolicy="OnFailure")
    jobs.apply(job("mnist", by_hand, runPolicy={"activeDeadlineSeconds": 600}))
    pod = f"{jobs.base('mnist')}-worker-0"
    jobs.wait("mnist", "aggregate.pending", 1)
    for code in (137, 0):
        jobs.wait("mnist", "aggregate.pending", 1)
        jobs.node_says(pod, reported("Running", {"running": {"startedAt": at(off)}}))
        jobs.wait("mnist", "aggregate.running", 1)
        end = {"exitCode": code, "startedAt": at(off), "finishedAt": at(off)}
        jobs.node_says(pod, reported("Failed" if code else "Succeeded", {"terminated": end}))
    jobs.wait("mnist", "phase", "Succeeded")
    another_runs_through(others)
    status = comes_to_rest(jobs, ledger, "mnist")
    after = datetime.now(UTC)
    times = [status["startTime"], status["completionTime"]]
    times += [condition["lastTransitionTime"] for condition in status["conditions"]]
    assert all(before <= datetime.fromisoformat(time) <= after for time in times)
    assert status["backoffCount"] == 1


def at(off: timedelta) -> str:
    return (datetime.now(UTC) + off).strftime("%Y-%m-%dT%H:%M:%SZ")


def reported(phase: str, state: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A pod's status as a kubelet writes it."""
    container = {"name": "pytorch", "image": "none", "imageID": "", "ready": False, "restartCount": 0}
    return {"phase": phase, "containerStatuses": [{**container, "state": state}], **more}


def test_an_evicted_pod_costs_a_restart_and_says_why(jobs: Jobs, others: Jobs, ledger: Ledger) -> None:
    jobs.apply(job("mnist", replica_type("worker", 2)))
    jobs.wait("mnist", "phase", "Running")
    pod = f"{jobs.base('mnist')}-worker-1"
    target = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}
    jobs.node_says(pod, {**evicted, "conditions": [target], "containerStatuses": None})
    message = jobs.event_message("mnist", "ReplicaRestart")
    assert message.startswith(f"Restart replica {pod} ")
    jobs.until(
        "mnist",
        "restarted",
        lambda status: (status["backoffCount"], status["aggregate"]["running"]) == (1, 2),
    )
    another_runs_through(others)
    comes_to_rest(jobs, ledger, "mnist")
    uid = jobs.get("mnist")["metadata"]["uid"]
    failures = [event for _, event in ledger.story(uid).events() if event.type == "ReplicaFailed"]
    assert [(failure.cause.kind, failure.cause.exit_code) for failure in failures] == [
        ("preempted or evicted", None)
    ]


def test_a_preempted_pod_is_made_again_and_costs_nothing(jobs: Jobs, others: Jobs, ledger: Ledger) -> None:
    most = {"requests": {"cpu": "100"}}
    jobs.apply(job("mnist", replica_type("worker", 1, container={"resources": most})))
    jobs.wait("mnist", "phase", "Running")
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
    urgent = foreign("Pod", "urgent")
    urgent["spec"] |= {"priorityClassName": "urgent"}
    urgent["spec"]["containers"][0]["resources"] = most
    jobs.apply({**priority, "metadata": {"name": "urgent"}}, urgent)
    jobs.kubectl("wait", "pod/urgent", "--for=condition=Ready", "--timeout=90s")
    pod = f"{jobs.base('mnist')}-worker-0"
    assert jobs.event_message("mnist", "ReplicaLost") == f"Replica {pod} was deleted and is created again"
    another_runs_through(others)
    jobs.kubectl("delete", "pod", "urgent")
    jobs.wait("mnist", "aggregate.running", 1)
    assert comes_to_rest(jobs, ledger, "mnist")["backoffCount"] == 0


# ---- size --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_job_of_hundreds_of_replicas_is_made_completely(jobs: Jobs, others: Jobs, ledger: Ledger) -> None:
    number = sized(300, 1000)
    jobs.apply(job("mnist", replica_type("worker", number)))
    another_runs_through(others)
    jobs.wait("mnist", "aggregate.running", number, within=180)
    assert len(jobs.children("mnist")) == number
    assert list(jobs.children("mnist", "services")) == [jobs.base("mnist")]
    status = comes_to_rest(jobs, ledger, "mnist", within=90)
    assert status["phase"] == "Running"
    assert len(json.dumps(status)) < MOST_OF_AN_OBJECT
    jobs.patch("mnist", runMode={"pause": {"enabled": True}})
    jobs.wait("mnist", "aggregate.deleted", number, within=240)
