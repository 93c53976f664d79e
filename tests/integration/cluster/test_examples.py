"""The worked examples A to G of pytorchtrainingjob.md §7 on a real control plane, seen through kubectl only."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import pytest

from tests.harness import ControlPlane, wait_for
from tests.support.cluster_controller import ControllerProcess
from tests.support.cluster_jobs import Jobs, Manifest, job, replica_type
from tests.support.cluster_log import Ledger, comes_to_rest

pytestmark = pytest.mark.integration

INITIALIZED: Final = ("True", "-", "The job has been initialized successfully.")
NORMAL: Final = "All pods are running normally."
DONE: Final = "The job has finished successfully."
EXIT: Final = "The job exited with an error code."
SETUP: Final = {"initContainers": [{"name": "setup", "image": "none"}]}
SSHD: Final = ["/usr/bin/sshd"]


@pytest.fixture(scope="module")
def controller(
    simulated: ControlPlane, neighbour_crds: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerProcess]:
    with ControllerProcess(simulated, tmp_path_factory.mktemp("examples")) as running:
        yield running


@pytest.fixture
def ledger(controller: ControllerProcess) -> Ledger:
    return Ledger(controller.store)


@pytest.fixture
def jobs(simulated: ControlPlane, controller: ControllerProcess, namespace: str) -> Jobs:
    return Jobs(simulated, namespace)


def container(pod: Manifest) -> Manifest:
    container_there: Manifest = pod["spec"]["containers"][0]
    return container_there


def env(pod: Manifest) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container(pod).get("env", ())}


def uids(pods: dict[str, Manifest]) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in pods.items()}


def events(jobs: Jobs, name: str) -> list[str]:
    return [reason for _, reason, _ in jobs.events(name)]


def announced(jobs: Jobs, name: str, reason: str, times: int) -> None:
    """There come to be so many Events of that reason on the job."""
    wait_for(f"Events {reason}", lambda: events(jobs, name).count(reason) == times, 90)


def test_example_a_four_workers_find_each_other_and_the_first_decides(jobs: Jobs, ledger: Ledger) -> None:
    name = "pytorch-example"
    command = {"command": ["python", "dist_mnist.py"]}
    jobs.apply(job(name, replica_type("worker", 4, container=command, restartPolicy="OnFailure")))
    jobs.wait(name, "phase", "Running")
    replicas = [f"worker-{index}" for index in range(4)]
    pods = jobs.children(name)
    assert list(pods) == replicas
    assert list(jobs.children(name, "services")) == [jobs.base(name)]
    for rank, pod in enumerate(pods.values()):
        assert container(pod)["command"] == ["python", "dist_mnist.py"]
        assert pod["spec"]["restartPolicy"] == "Never"
        assert env(pod) == {
            "MASTER_ADDR": f"{jobs.base(name)}-worker-0",
            "MASTER_PORT": "23456",
            "WORLD_SIZE": "4",
            "RANK": str(rank),
            "PYTHONUNBUFFERED": "1",
        }
    roles = [pod["metadata"]["labels"].get("job-role") for pod in pods.values()]
    assert roles == ["master", None, None, None]
    assert not jobs.children(name, "podgroups")
    assert not jobs.children(name, "tensorboards")

    jobs.end(f"{jobs.base(name)}-worker-0")
    jobs.kubectl("wait", f"pj/{name}", "--for=condition=Completed", "--timeout=90s")
    status = comes_to_rest(jobs, ledger, name)
    assert (status["aggregate"]["running"], status["aggregate"]["succeeded"]) == (3, 1)
    assert jobs.conditions(name) == {
        "Initialized": INITIALIZED,
        "ReplicaFailure": ("False", "-", NORMAL),
        "Running": ("False", "Succeeded", DONE),
        "Completed": ("True", "Succeeded", DONE),
        "Failed": ("False", "Succeeded", DONE),
    }
    assert uids(jobs.children(name)) == uids(pods)
    expected = [("Normal", "Created", f"A PyTorchTrainingJob has been created: {name}")]
    expected += [
        ("Normal", "Start", INITIALIZED[2]),
        ("Normal", "Running", NORMAL),
        ("Normal", "Succeeded", DONE),
    ]
    wait_for("these Events, and no others", lambda: sorted(jobs.events(name)) == sorted(expected), 90)
    row = jobs.row(name, "-o", "wide")
    assert list(row) == ["NAME", "PHASE", "RUNNING", "SUCCEEDED", "FAILED", "AGE", "RESTARTS", "QUEUE"]
    assert list(row.values())[:5] == [name, "Succeeded", "3", "1", "0"]


TORCHRUN: Final = {"enabled": True, "maxRestarts": 3, "procPerNode": "4", "rdzvBackend": "c10d"}


def ddp(name: str, *, enabled: bool) -> Manifest:
    node = replica_type("node", 2, container={"command": ["python"], "args": ["train.py", "--epochs", "5"]})
    return job(name, node, torchrunConfig={**TORCHRUN, "enabled": enabled})


def test_example_b_torchrun_gets_its_line_and_without_it_the_same_manifest_runs_plainly(
    jobs: Jobs, ledger: Ledger
) -> None:
    jobs.apply(ddp("ddp", enabled=True), ddp("plain", enabled=False))
    jobs.wait("ddp", "phase", "Running")
    base = jobs.base("ddp")
    line = ["--nnodes=2", "--nproc_per_node=4", f"--rdzv_id={base}", "--rdzv_backend=c10d"]
    line += [f"--rdzv_endpoint={base}-node-0:23456", "--max_restarts=3", "--role=node"]
    for pod in jobs.children("ddp").values():
        assert container(pod)["command"] == ["torchrun"]
        assert container(pod)["args"] == [*line, "train.py", "--epochs", "5"]
        assert set(env(pod)) == {"MASTER_ADDR", "MASTER_PORT", "PYTHONUNBUFFERED"}
    assert jobs.event_message("ddp", "CommandIgnored") == "command is ignored when torchrun is enabled"

    jobs.wait("plain", "phase", "Running")
    pods = jobs.children("plain")
    assert {name: (container(pod)["command"], container(pod)["args"]) for name, pod in pods.items()} == {
        name: (["python"], ["train.py", "--epochs", "5"]) for name in ("node-0", "node-1")
    }
    assert "CommandIgnored" not in events(jobs, "plain")
    comes_to_rest(jobs, ledger, "ddp")


def test_example_c_137_is_restarted_and_1_is_not(jobs: Jobs, ledger: Ledger) -> None:
    slowly = {"start-seconds": 2}
    jobs.apply(job("mnist", replica_type("worker", 1, restartPolicy="ExitCode", life=slowly)))
    jobs.until("mnist", "all children accepted", lambda status: status.get("conditions"))
    assert list(jobs.conditions("mnist").items())[:2] == [
        ("Initialized", INITIALIZED),
        ("ReplicaFailure", ("False", "-", NORMAL)),
    ]
    jobs.wait("mnist", "phase", "Running")
    pod = f"{jobs.base('mnist')}-worker-0"
    first = uids(jobs.children("mnist"))
    jobs.end(pod, 137)
    failed = jobs.until("mnist", "the failure is counted", lambda status: status["backoffCount"] == 1)
    assert failed["phase"] == "Running"
    jobs.kubectl("wait", "pj/mnist", "--for=condition=ReplicaFailure", "--timeout=60s")
    reason = f'Replica {pod} failed: container "pytorch" exited with code 137.'
    assert jobs.conditions("mnist")["ReplicaFailure"] == ("True", "ReplicaFailed", reason)
    jobs.kubectl("wait", "pj/mnist", "--for=condition=ReplicaFailure=False", "--timeout=90s")
    second = uids(jobs.children("mnist"))
    assert first.keys() == second.keys()
    assert first != second

    jobs.end(pod, 1)
    jobs.kubectl("wait", "pj/mnist", "--for=condition=Failed", "--timeout=90s")
    status = comes_to_rest(jobs, ledger, "mnist")
    assert (status["phase"], status["backoffCount"]) == ("Failed", 1)
    conditions = jobs.conditions("mnist")
    assert conditions["Running"] == conditions["Completed"] == ("False", "Failed", EXIT)
    assert conditions["Failed"] == ("True", "Failed", EXIT)
    assert conditions["ReplicaFailure"][0] == "True"
    assert status["tasks"][0]["replicas"][0]["containers"] == [
        {"name": "pytorch", "state": "Terminated", "exitCode": 1}
    ]
    assert uids(jobs.children("mnist")) == second
    assert (
        jobs.event_message("mnist", "ReplicaRestart")
        == f"Restart replica {pod} (exit code 137), restart 1 of 3"
    )
    assert jobs.event_message("mnist", "Failed") == EXIT
    assert jobs.row("mnist", "-o", "wide")["RESTARTS"] == "1"
    jobs.kubectl("annotate", "pod", pod, "somebody=else")  # the pod is reported again
    assert comes_to_rest(jobs, ledger, "mnist") == status


def test_example_c_without_budget_fails_at_the_first(jobs: Jobs, ledger: Ledger) -> None:
    ends = {"run-seconds": 0, "exit-code": 137}
    worker = replica_type("worker", 1, restartPolicy="ExitCode", life=ends)
    jobs.apply(job("mnist", worker, runPolicy={"backoffLimit": 0}))
    jobs.kubectl("wait", "pj/mnist", "--for=condition=Failed", "--timeout=90s")
    message = "The job has failed because the restart limit (0) has been reached."
    assert jobs.conditions("mnist")["Failed"] == ("True", "BackoffLimitExceeded", message)
    comes_to_rest(jobs, ledger, "mnist")


def shared_budget(jobs: Jobs, *names: str) -> None:
    """Jobs of one ps and four workers, three failures later."""
    types = [replica_type("ps", 1), replica_type("worker", 4)]
    jobs.apply(*[job(name, *types, runPolicy={"backoffLimit": 3}) for name in names])
    for name in names:
        jobs.wait(name, "aggregate.running", 5)
    for spent, replica in enumerate(("worker-1", "worker-2", "worker-1"), 1):
        for name in names:
            jobs.end(f"{jobs.base(name)}-{replica}", 1)
        for name in names:
            jobs.until(name, "restarted", partial(is_restarted, spent))
    for name in names:
        jobs.end(f"{jobs.base(name)}-worker-3", 1)
        jobs.wait(name, "aggregate.failed", 1)


def is_restarted(spent: int, status: dict[str, Any]) -> bool:
    return bool(status["backoffCount"] == spent and status["aggregate"]["running"] == 5)


def test_example_d_all_replicas_share_one_budget(jobs: Jobs, ledger: Ledger) -> None:
    shared_budget(jobs, "train", "well")
    pods = jobs.children("train")
    ranks = {name: (env(pod)["RANK"], env(pod)["WORLD_SIZE"]) for name, pod in pods.items()}
    assert ranks == {"ps-0": ("0", "5"), **{f"worker-{index}": (str(index + 1), "5") for index in range(4)}}
    status = jobs.status("train")
    assert (status["phase"], status["backoffCount"]) == ("Running", 3)
    assert [(task["type"], task["restartCount"]) for task in status["tasks"]] == [("ps", 0), ("worker", 3)]
    assert jobs.conditions("train")["ReplicaFailure"][0] == "True"
    assert pods["worker-3"]["status"]["phase"] == "Failed"

    jobs.end(f"{jobs.base('train')}-ps-0", 1)
    jobs.kubectl("wait", "pj/train", "--for=condition=Failed", "--timeout=90s")
    message = "The job has failed because the restart limit (3) has been reached."
    assert jobs.conditions("train")["Failed"] == ("True", "BackoffLimitExceeded", message)
    jobs.end(f"{jobs.base('well')}-ps-0", 0)
    jobs.kubectl("wait", "pj/well", "--for=condition=Completed", "--timeout=90s")
    for reason, times in (("Failed", 1), ("ReplicaRestart", 3), ("ReplicaFailed", 2)):
        announced(jobs, "train", reason, times)
    for name in ("train", "well"):
        comes_to_rest(jobs, ledger, name)


def elastic(**more: Any) -> Manifest:
    bounds = {"enabled": True, "minReplicas": 4, "maxReplicas": 10, "expectedReplicas": 7, **more}
    worker = replica_type("worker", 1, container={"args": ["train.py"]})
    scheduler = {"t9kScheduler": {"queue": "default", "priority": 10}}
    return job("mnist", worker, torchrunConfig={"enabled": True}, elastic=bounds, scheduler=scheduler)


def test_example_e_scale_follows_the_wish_within_its_bounds(jobs: Jobs, ledger: Ledger) -> None:
    jobs.apply(elastic())
    jobs.wait("mnist", "aggregate.pending", 7)
    pods = jobs.children("mnist")
    assert {container(pod)["args"][0] for pod in pods.values()} == {"--nnodes=4:10"}
    assert {pod["spec"]["schedulerName"] for pod in pods.values()} == {"t9k-scheduler"}
    group = jobs.cluster.get("-n", jobs.namespace, "podgroup", "mnist")["spec"]
    assert group == {"minMember": 4, "priority": 10, "queue": "default"}

    for index in range(5):  # the cluster has room for five
        jobs.bind(f"{jobs.base('mnist')}-worker-{index}")
    jobs.wait("mnist", "aggregate.running", 5)
    status = jobs.status("mnist")
    assert (status["phase"], status["aggregate"]["pending"]) == ("Running", 2)
    for index in (5, 6):
        jobs.bind(f"{jobs.base('mnist')}-worker-{index}")
    jobs.wait("mnist", "aggregate.running", 7)

    jobs.kubectl("scale", "pj/mnist", "--replicas=5")
    jobs.kubectl(
        "wait", "--for=delete", "--timeout=90s", *[f"pod/{jobs.base('mnist')}-worker-{i}" for i in (5, 6)]
    )
    left = jobs.until("mnist", "five are left", lambda status: sum(status["aggregate"].values()) == 5)
    assert left["backoffCount"] == 0
    assert uids(jobs.children("mnist")) == {f"worker-{i}": uids(pods)[f"worker-{i}"] for i in range(5)}
    assert jobs.event_message("mnist", "Scaled") == "Scale changed from 7 to 5 replicas"

    too_many = jobs.refused("scale", "pj/mnist", "--replicas=11")
    assert "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas" in too_many
    bounds = jobs.refused("patch", "pj/mnist", "--type=merge", "-p", '{"spec":{"elastic":{"minReplicas":3}}}')
    assert "spec.elastic.minReplicas is immutable" in bounds
    comes_to_rest(jobs, ledger, "mnist")
    assert jobs.row("mnist", "-o", "wide")["QUEUE"] == "default"


def test_example_f_a_job_created_paused_resumes_with_its_resume_specs(jobs: Jobs, ledger: Ledger) -> None:
    life = {"start-seconds": 1, "stop-seconds": 2}
    worker = replica_type("worker", 2, container={"command": ["python"]}, pod=SETUP, life=life)
    resume = {"type": "worker", "skipInitContainer": True, "command": SSHD}
    jobs.apply(job("mnist", worker, runMode={"pause": {"enabled": True, "resumeSpecs": [resume]}}))
    jobs.kubectl("wait", "pj/mnist", "--for=condition=Paused", "--timeout=90s")
    assert jobs.status("mnist")["aggregate"]["deleted"] == 2
    assert not jobs.children("mnist")

    jobs.patch("mnist", runMode={"pause": {"enabled": False}})
    jobs.wait("mnist", "phase", "Resuming")
    jobs.wait("mnist", "phase", "Running")
    pods = jobs.children("mnist")
    for pod in pods.values():
        assert "initContainers" not in pod["spec"]
        assert (container(pod)["command"], container(pod).get("args")) == (SSHD, None)

    jobs.patch("mnist", runMode={"pause": {"enabled": True}})
    jobs.wait("mnist", "phase", "Paused")
    jobs.node_says(f"{jobs.base('mnist')}-worker-1", terminated(143))
    jobs.wait("mnist", "aggregate.deleted", 2)
    assert not jobs.children("mnist")
    status = comes_to_rest(jobs, ledger, "mnist")
    assert (status["phase"], status["backoffCount"]) == ("Paused", 0)
    assert [replica["containers"][0].get("exitCode") for replica in status["tasks"][0]["replicas"]] == [
        None,
        143,
    ]
    announced(jobs, "mnist", "Paused", 2)
    jobs.event_message("mnist", "Resuming")

    other = '{"spec":{"runMode":{"pause":{"resumeSpecs":[{"type":"worker","args":["other"]}]}}}}'
    refused = jobs.refused("patch", "pj/mnist", "--type=merge", "-p", other)
    assert "spec.runMode.pause.resumeSpecs is immutable" in refused


def terminated(code: int) -> dict[str, Any]:
    """The status of a pod whose container was ended."""
    state = {"terminated": {"exitCode": code, "reason": "Error"}}
    ended = {
        "name": "pytorch",
        "image": "none",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": state,
    }
    return {"phase": "Failed", "containerStatuses": [ended]}


def test_example_g_debug_runs_its_command_in_the_usual_surroundings(jobs: Jobs, ledger: Ledger) -> None:
    entry = {"type": "worker", "skipInitContainer": True, "command": SSHD}
    spec = {"torchrunConfig": {"enabled": True}}
    jobs.apply(
        job("given", replica_type("worker", 1, pod=SETUP), **spec, runMode=debug(replicaSpecs=[entry])),
        job("default", replica_type("worker", 1, pod=SETUP), **spec, runMode=debug()),
    )
    for name in ("given", "default"):
        jobs.wait(name, "phase", "Running")
    given = jobs.children("given")["worker-0"]
    assert "initContainers" not in given["spec"]
    assert (container(given)["command"], container(given).get("args")) == (SSHD, None)
    assert env(given)["MASTER_ADDR"] == f"{jobs.base('given')}-worker-0"
    assert list(jobs.children("given", "services")) == [jobs.base("given")]
    default = jobs.children("default")["worker-0"]
    assert [init_container["name"] for init_container in default["spec"]["initContainers"]] == ["setup"]
    assert container(default)["command"] == ["sleep", "inf"]
    comes_to_rest(jobs, ledger, "given")


def debug(**more: Any) -> dict[str, Any]:
    return {"debug": {"enabled": True, **more}}
