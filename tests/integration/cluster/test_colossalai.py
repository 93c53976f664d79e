"""ColossalAIJobs on a real control plane: keys, hostfile, and a launcher that comes after its workers."""

from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import pytest

from tests.harness import ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, Manifest
from tests.support.cluster_log import Ledger, comes_to_rest

pytestmark = pytest.mark.integration

KIND: Final = "ColossalAIJob"
WORKERS: Final = ["worker-0", "worker-1"]


@pytest.fixture(scope="module")
def controller(
    simulated: ControlPlane, neighbour_crds: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerProcess]:
    with ControllerProcess(simulated, tmp_path_factory.mktemp("colossalai")) as running:
        yield running


@pytest.fixture
def ledger(controller: ControllerProcess) -> Ledger:
    return Ledger(controller.store)


@pytest.fixture
def jobs(simulated: ControlPlane, controller: ControllerProcess, namespace: str) -> Jobs:
    return Jobs(simulated, namespace, "caj", owner=KIND)


def job(name: str, *, life: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    """A job of two workers; `life` says how simulated nodes run these."""
    annotations = {f"sim.jobledger.dev/{key}": str(value) for key, value in (life or {}).items()}
    pods = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "OnFailure", "containers": [{"name": "worker", "image": "none"}]},
    }
    worker = {"replicas": 2, "procPerWorker": 1, "command": ["train.py", "arg1"], "template": pods}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"launcher": {"image": "none", "workingDir": "/workspace"}, "worker": worker, **spec},
    }


def container(pod: Manifest) -> Manifest:
    container_there: Manifest = pod["spec"]["containers"][0]
    return container_there


def ready_since(pod: Manifest) -> datetime:
    """When the pod became Ready."""
    conditions = {condition["type"]: condition for condition in pod["status"]["conditions"]}
    assert conditions["Ready"]["status"] == "True"
    return datetime.fromisoformat(conditions["Ready"]["lastTransitionTime"])


def test_example_a_the_launcher_comes_after_its_workers_and_finds_them(jobs: Jobs, ledger: Ledger) -> None:
    name = "colossalai-example"
    jobs.apply(job(name, life={"start-seconds": 2}, runPolicy={"cleanUpWorkers": True}))
    jobs.wait(name, "phase", "Running")
    pods = jobs.children(name)
    assert list(pods) == ["launcher", *WORKERS]
    made = datetime.fromisoformat(pods["launcher"]["metadata"]["creationTimestamp"])
    assert all(ready_since(pods[worker]) <= made for worker in WORKERS)
    assert container(pods["worker-0"])["command"] == ["/usr/sbin/sshd", "-D"]
    assert container(pods["launcher"])["command"] == ["colossalai"]
    assert container(pods["launcher"])["args"] == [
        "run",
        "--nproc_per_node=1",
        "--hostfile=/t9k/hostfile",
        f"--master_addr={name}-worker-0",
        "--master_port=29500",
        "train.py",
        "arg1",
    ]
    assert jobs.children(name, "configmaps")["hostfile"]["data"] == {
        "hostfile": f"{name}-worker-0\n{name}-worker-1\n"
    }
    assert list(jobs.children(name, "services")) == ["pods"]
    jobs.event_message(name, "PodTemplateRestartPolicyIgnored")

    jobs.end(f"{name}-launcher")
    jobs.kubectl("wait", f"caj/{name}", "--for=condition=Completed", "--timeout=90s")
    status = comes_to_rest(jobs, ledger, name)
    assert (status["aggregate"]["succeeded"], status["aggregate"]["deleted"]) == (1, 2)
    assert "backoffCount" not in status
    assert list(jobs.children(name)) == ["launcher"]
    row = jobs.row(name, "-o", "wide")
    assert list(row) == ["NAME", "PHASE", "RUNNING", "SUCCEEDED", "FAILED", "AGE", "QUEUE"]
    assert list(row.values())[:5] == [name, "Succeeded", "0", "1", "0"]


def test_the_keys_are_in_their_secret_and_in_no_entry_of_the_log(jobs: Jobs, ledger: Ledger) -> None:
    name = "keys"
    jobs.apply(job(name))
    jobs.wait(name, "phase", "Running")
    data = jobs.children(name, "secrets")["ssh"]["data"]
    assert sorted(data) == ["authorized_keys", "config", "id_rsa", "id_rsa.pub"]
    assert data["authorized_keys"] == data["id_rsa.pub"]
    private = b64decode(data["id_rsa"])
    assert b"PRIVATE KEY" in private
    story = ledger.story(jobs.get(name)["metadata"]["uid"])
    for text in (private, data["id_rsa"].encode(), b64decode(data["id_rsa.pub"])):
        assert not any(text in record.body for record in story.records)
    mounts = {mount["name"]: mount for mount in container(jobs.children(name)["launcher"])["volumeMounts"]}
    assert mounts["ssh-auth"]["mountPath"] == "/root/.ssh"
    assert mounts["hostfile"]["mountPath"] == "/t9k/hostfile"


def test_example_d_a_lost_worker_is_not_made_again_and_the_launcher_decides(
    jobs: Jobs, ledger: Ledger
) -> None:
    name = "failing"
    jobs.apply(job(name))
    jobs.wait(name, "phase", "Running")
    jobs.kubectl("delete", "pod", f"{name}-worker-1")
    jobs.kubectl("wait", f"caj/{name}", "--for=condition=ReplicaFailure", "--timeout=90s")
    message = f"Replica {name}-worker-1 failed: its pod was deleted."
    assert jobs.conditions(name)["ReplicaFailure"] == ("True", "ReplicaFailed", message)
    assert jobs.phase(name) == "Running"
    jobs.end(f"{name}-launcher", 1)
    jobs.kubectl("wait", f"caj/{name}", "--for=condition=Failed", "--timeout=90s")
    comes_to_rest(jobs, ledger, name)
    assert list(jobs.children(name)) == ["launcher", "worker-0"]


def test_a_pause_takes_everything_and_resuming_starts_with_the_workers(jobs: Jobs, ledger: Ledger) -> None:
    name = "paused"
    resume = [{"type": "launcher", "args": ["resume.py"]}]
    jobs.apply(job(name, runMode={"pause": {"enabled": True, "resumeSpecs": resume}}))
    jobs.wait(name, "phase", "Paused")
    assert jobs.children(name) == {}
    jobs.patch(name, runMode={"pause": {"enabled": False}})
    jobs.wait(name, "phase", "Running")
    assert container(jobs.children(name)["launcher"])["args"][-1] == "resume.py"
    jobs.patch(name, runMode={"pause": {"enabled": True}})
    jobs.wait(name, "phase", "Paused")
    wait_for("no pod is left", lambda: not jobs.children(name))
    comes_to_rest(jobs, ledger, name)
    assert list(jobs.children(name, "secrets")) == ["ssh"]


def test_example_f_the_older_form_is_taken(jobs: Jobs) -> None:
    name = "older"
    launcher = {"spec": {"containers": [{"name": "launcher", "image": "none"}]}}
    worker = {"spec": {"containers": [{"name": "worker", "image": "none"}]}}
    older = job(name)
    older["spec"] = {
        "torchConfig": {"procPerWorker": 1, "script": ["/w/train.py", "--x"]},
        "replicaSpecs": [
            {"type": "launcher", "template": launcher},
            {"type": "worker", "replicas": 2, "template": worker},
        ],
    }
    jobs.apply(older)
    jobs.wait(name, "phase", "Running")
    assert container(jobs.children(name)["launcher"])["args"][-2:] == ["/w/train.py", "--x"]
    assert jobs.event_message(name, "DeprecatedField").startswith("spec.torchConfig.")
