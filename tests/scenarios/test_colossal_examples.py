"""The worked examples A to F of colossalaijob.md §7, as stories; their children are also golden files."""

from typing import Any

from statemachine.phases import Phase
from tests.support.scenario import Story
from tests.unit.kinds.build import Spec, notices
from tests.unit.kinds.colossal import (
    KIND,
    admit,
    old_launcher,
    old_spec,
    old_workers,
    spec,
    with_torch_args,
    workers,
)

EXAMPLE = "colossalai-example"
EXIT = "The job exited with an error code."
MOUNT = {"mountPath": "/workspace", "name": "code"}
CLAIM = {"name": "code", "persistentVolumeClaim": {"claimName": "colossalai"}}


def documented() -> Spec:
    """The first manifest of the documentation."""
    image = "hpcaitech/colossalai:0.3.0"
    limits, requests = {"cpu": 1, "memory": "2Gi"}, {"cpu": "500m", "memory": "1Gi"}
    gpu = {"nvidia.com/gpu": 1}
    container = {
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "name": "worker",
        "resources": {
            "limits": {"cpu": 2, "memory": "8Gi", **gpu},
            "requests": {"cpu": 1, "memory": "4Gi", **gpu},
        },
        "volumeMounts": [MOUNT],
    }
    pod = {"restartPolicy": "OnFailure", "containers": [container], "volumes": [CLAIM]}
    return {
        "ssh": {"authMountPath": "/root/.ssh", "sshdPath": "/usr/sbin/sshd"},
        "launcher": {
            "image": image,
            "workingDir": "/workspace",
            "env": [],
            "resources": {"limits": limits, "requests": requests},
        },
        "worker": {
            "replicas": 2,
            "procPerWorker": 1,
            "command": ["train.py", "arg1"],
            "torchArgs": [],
            "template": {"spec": pod},
        },
    }


def started(of: Spec) -> Story:
    """The example's job with both workers ready and the launcher running."""
    story = Story(of, name=EXAMPLE, kind=KIND).submit().ready("worker-0", "worker-1")
    return story.pod("launcher-0", "Running")


def container(story: Story, pod: str) -> dict[str, Any]:
    """The first container of a pod."""
    container_there: dict[str, Any] = story.children[f"Pod/{EXAMPLE}-{pod}"]["spec"]["containers"][0]
    return container_there


def line(story: Story, pod: str) -> list[str]:
    """The whole command line of a pod."""
    return [*container(story, pod)["command"], *container(story, pod)["args"]]


def launch_line(*rest: str) -> list[str]:
    """The launcher's command line with what follows the options that are always there."""
    master = f"--master_addr={EXAMPLE}-worker-0"
    options = ["--nproc_per_node=1", "--hostfile=/t9k/hostfile", master, "--master_port=29500"]
    return ["colossalai", "run", *options, *rest]


def test_example_a_the_documented_manifest_becomes_these_objects() -> None:
    story = Story(documented(), name=EXAMPLE, kind=KIND).submit()
    before = [
        f"Secret/{EXAMPLE}-ssh",
        f"ConfigMap/{EXAMPLE}-hostfile",
        f"Service/{EXAMPLE}-worker-0",
        f"Service/{EXAMPLE}-worker-1",
        f"Pod/{EXAMPLE}-worker-0",
        f"Pod/{EXAMPLE}-worker-1",
    ]
    assert list(story.children) == before
    hosts = f"{EXAMPLE}-worker-0\n{EXAMPLE}-worker-1\n"
    assert story.children[f"ConfigMap/{EXAMPLE}-hostfile"]["data"] == {"hostfile": hosts}
    worker = story.children[f"Pod/{EXAMPLE}-worker-1"]["spec"]
    assert line(story, "worker-1") == ["/usr/sbin/sshd", "-D"]
    assert CLAIM in worker["volumes"]
    assert MOUNT in worker["containers"][0]["volumeMounts"]
    assert worker["restartPolicy"] == "Never"
    story.ready("worker-0", "worker-1")
    assert list(story.children) == [*before, f"Pod/{EXAMPLE}-launcher"]
    assert line(story, "launcher") == launch_line("train.py", "arg1")
    launcher = container(story, "launcher")
    assert launcher["workingDir"] == "/workspace"
    assert launcher["resources"]["limits"] == {"cpu": 1, "memory": "2Gi"}
    assert story.children[f"Pod/{EXAMPLE}-launcher"]["metadata"]["labels"]["job-role"] == "master"
    assert "PodTemplateRestartPolicyIgnored" in story.reasons


def test_example_a_the_secret_says_nothing_of_its_keys() -> None:
    secret = Story(documented(), name=EXAMPLE, kind=KIND).submit().children[f"Secret/{EXAMPLE}-ssh"]
    assert (secret["type"], sorted(secret)) == ("Opaque", ["apiVersion", "kind", "metadata", "type"])


def test_example_b_torch_args_travel_in_a_list_of_their_own() -> None:
    story = started(with_torch_args("--max_restarts=3", "--rdzv_id", "7"))
    extra = "--extra_launch_args=max_restarts=3,rdzv_id=7"
    assert line(story, "launcher") == launch_line(extra, "train.py")


def test_example_b_what_cannot_be_passed_fails_the_job() -> None:
    story = Story(with_torch_args("a"), name=EXAMPLE, kind=KIND).submit()
    message = "spec.worker.torchArgs[0]: cannot be passed to colossalai run"
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "InvalidSpec", message)
    assert story.children == {}


def test_example_c_the_workers_go_at_the_end_and_the_launcher_stays() -> None:
    story = started(spec(runPolicy={"cleanUpWorkers": True})).pod("launcher-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    assert ("CleanedUp", "Deleted 2 pods (policy cleanUpWorkers)") in story.announced()
    assert story.pods == ["launcher-0.1"]
    story.gone("worker-0").gone("worker-1")
    counts = {phase: number for phase, number in story.status["aggregate"].items() if number}
    assert counts == {"succeeded": 1, "deleted": 2}


def test_example_c_without_clean_up_the_workers_go_on() -> None:
    story = started(spec()).pod("launcher-0", "Succeeded")
    assert story.pods == ["worker-0.1", "worker-1.1", "launcher-0.1"]


def test_example_d_a_worker_s_failure_is_reported_and_the_launcher_decides() -> None:
    story = started(spec()).at(30).pod("worker-1", "Failed", exit_code=255)
    assert story.phase is Phase.RUNNING
    text = f'Replica {EXAMPLE}-worker-1 failed: container "worker" exited with code 255.'
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", text)
    assert story.at(35).pod("launcher-0", "Failed", exit_code=1).phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "Failed", EXIT)
    assert story.condition("Completed") == ("False", "Failed", EXIT)
    assert story.condition("Running") == ("False", "Failed", EXIT)
    assert [replica.attempt for replica in story.state.replicas.values()] == [1, 1, 1]


def test_example_e_only_the_workers_are_in_the_pod_group() -> None:
    story = started(spec(scheduler={"t9kScheduler": {"queue": "default", "priority": 50}}))
    group = story.children[f"PodGroup/{EXAMPLE}"]["spec"]
    assert group == {"minMember": 2, "queue": "default", "priority": 50}
    prefix = "scheduler.tensorstack.dev/"

    def queueing(pod: str) -> dict[str, str]:
        manifest = story.children[f"Pod/{EXAMPLE}-{pod}"]
        assert manifest["spec"]["schedulerName"] == "t9k-scheduler"
        labels = manifest["metadata"]["labels"].items()
        return {key.removeprefix(prefix): value for key, value in labels if key.startswith(prefix)}

    assert queueing("worker-0") == {"group-name": EXAMPLE, "queue": "default", "role": "worker"}
    assert queueing("launcher") == {"queue": "default"}


def test_example_f_the_older_form_is_the_same_job() -> None:
    script = ["/w/train.py", "--x"]
    old = old_spec(old_launcher(), old_workers(4), torch={"procPerWorker": 1, "script": script})
    new = spec(workers(4, procPerWorker=1, command=script))

    def built(of: Spec) -> dict[str, Any]:
        names = [f"worker-{index}" for index in range(4)]
        return Story(of, name=EXAMPLE, kind=KIND).submit().ready(*names).children

    assert built(old) == built(new)
    assert len(built(new)) == 11
    assert {reason for reason, _ in notices(admit(old))} == {"DeprecatedField"}
