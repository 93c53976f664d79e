"""The worked examples A to D of mpijob.md §7, as stories; their children are also golden files."""

from typing import Any

from statemachine.phases import Phase
from tests.support.scenario import Story
from tests.unit.kinds.build import Spec, template
from tests.unit.kinds.mpi import KIND, container, old_launcher, old_spec, old_workers, spec, workers

EXAMPLE = "mpi-example"
EXIT = "The job exited with an error code."


def documented() -> Spec:
    """The manual's manifest."""
    options = ["-N", "3", "--enable-recovery", "--max-restarts", "100", "--allow-run-as-root"]
    worker = workers(
        5,
        container(workingDir="/usr/local/code"),
        extraMPIArgs=[*options, "-bind-to", "none"],
        cmd=["./random_walk", "20", "40", "2"],
    )
    home = {"mca": {"btl": "^openib"}, "mpiHome": "/usr/local"}
    return spec(worker, **home, runPolicy={"cleanUpWorkers": True})


def started(of: Spec, number: int = 2) -> Story:
    """The example's job with its workers ready and the launcher running."""
    story = Story(of, name=EXAMPLE, kind=KIND).submit()
    return story.ready(*(f"worker-{index}" for index in range(number))).pod("launcher-0", "Running")


def only_container(story: Story, pod: str) -> dict[str, Any]:
    """The container of a pod."""
    (container,) = story.children[f"Pod/{EXAMPLE}-{pod}"]["spec"]["containers"]
    return dict(container)


def line(story: Story) -> str:
    """The launcher's command line."""
    launcher = only_container(story, "launcher")
    return " ".join([*launcher["command"], *launcher["args"]])


def test_example_a_the_launcher_comes_when_all_workers_are_ready() -> None:
    story = Story(documented(), name=EXAMPLE, kind=KIND).submit()
    assert f"Pod/{EXAMPLE}-launcher" not in story.children
    assert [name for name in story.children if name.startswith("Pod/")] == [
        f"Pod/{EXAMPLE}-worker-{index}" for index in range(5)
    ]
    story.ready("worker-0", "worker-1", "worker-2", "worker-3")
    assert f"Pod/{EXAMPLE}-launcher" not in story.children
    assert story.ready("worker-4").phase is Phase.PENDING
    assert f"Pod/{EXAMPLE}-launcher" in story.children
    assert story.pod("launcher-0", "Running").phase is Phase.RUNNING


def test_example_a_the_manual_s_line() -> None:
    story = started(documented(), 5)
    hosts = "".join(f"{EXAMPLE}-worker-{index} slots=3\n" for index in range(5))
    assert story.children[f"ConfigMap/{EXAMPLE}-hostfile"]["data"] == {"hostfile": hosts}
    assert line(story) == (
        "/usr/local/bin/mpirun --prefix /usr/local --hostfile /t9k/hostfile --mca btl ^openib -x PATH "
        "-x LD_LIBRARY_PATH -N 3 --enable-recovery --max-restarts 100 --allow-run-as-root -bind-to none "
        "./random_walk 20 40 2"
    )
    assert only_container(story, "launcher")["workingDir"] == "/usr/local/code"


def test_example_a_the_workers_go_at_the_end_and_the_launcher_stays() -> None:
    story = started(documented(), 5).pod("launcher-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    assert ("CleanedUp", "Deleted 5 pods (policy cleanUpWorkers)") in story.announced()
    assert story.pods == ["launcher-0.1"]
    for index in range(5):
        story.gone(f"worker-{index}")
    counts = {phase: number for phase, number in story.status["aggregate"].items() if number}
    assert counts == {"succeeded": 1, "deleted": 5}
    tasks = story.status["tasks"]
    assert [(task["type"], task["restartCount"]) for task in tasks] == [("launcher", 0), ("worker", 0)]
    (launcher,) = tasks[0]["replicas"]
    assert [container["name"] for container in launcher["containers"]] == ["mpi-worker"]


def test_example_b_variables_reach_the_processes() -> None:
    worker = workers(2, container(env=[{"name": "NCCL_DEBUG", "value": "INFO"}]))
    story = started(spec(worker, mca={"pml": "ob1", "btl": "^openib"}))
    assert "--mca btl ^openib --mca pml ob1 -x NCCL_DEBUG -x PATH -x LD_LIBRARY_PATH" in line(story)


def test_example_c_the_older_forms_are_the_same_job() -> None:
    older = workers(2, processesPerWorker=9, processRecovery={"enable": True, "limit": 0})
    options = ["-N", "9", "--enable-recovery", "--max-restarts", "0"]
    oldest = old_spec(old_launcher(), old_workers(), mpi={"extraArgs": options, "script": ["./walk"]})
    stories = [started(of) for of in (spec(older), oldest, spec(workers(extraMPIArgs=options)))]
    assert stories[0].children == stories[1].children == stories[2].children
    assert " ".join(options) in line(stories[0])
    hosts = stories[0].children[f"ConfigMap/{EXAMPLE}-hostfile"]["data"]["hostfile"]
    assert hosts == f"{EXAMPLE}-worker-0 slots=9\n{EXAMPLE}-worker-1 slots=9\n"
    assert ["DeprecatedField" in story.reasons for story in stories] == [True, True, False]


def test_example_d_without_an_mpi_container_the_job_is_invalid() -> None:
    pods = template({"name": "main", "image": "openmpi:4"})
    story = Story(spec({**workers(), "template": pods}), name=EXAMPLE, kind=KIND).submit()
    text = 'spec.worker.template.spec.containers: a container named "mpi-worker" is required'
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "InvalidSpec", text)
    assert story.children == {}


# ---- 5 Life -----------------------------------------------------------------------------------------------------


def test_a_worker_s_failure_is_reported_and_the_launcher_decides() -> None:
    story = started(spec()).at(30).pod("worker-1", "Failed", exit_code=255)
    assert story.phase is Phase.RUNNING
    text = f'Replica {EXAMPLE}-worker-1 failed: container "mpi-worker" exited with code 255.'
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", text)
    assert story.at(35).pod("launcher-0", "Failed", exit_code=1).phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "Failed", EXIT)
    assert [replica.attempt for replica in story.state.replicas.values()] == [1, 1, 1]


def test_a_worker_that_ends_before_there_is_a_launcher_ends_the_job() -> None:
    story = Story(spec(), name=EXAMPLE, kind=KIND).submit().ready("worker-0")
    assert story.pod("worker-1", "Failed", exit_code=127).phase is Phase.FAILED


def test_pause_deletes_all_pods_and_resume_begins_with_the_workers() -> None:
    story = started(spec()).at(10).pause()
    for name in ("launcher-0", "worker-0", "worker-1"):
        story.gone(name)
    assert (story.phase, story.pods) == (Phase.PAUSED, [])
    story.at(20).resume()
    assert (story.phase, story.pods) == (Phase.RESUMING, ["worker-0.2", "worker-1.2"])
    story.ready("worker-0", "worker-1")
    assert story.pods[-1] == "launcher-0.2"
    assert story.pod("launcher-0", "Running").phase is Phase.RUNNING
