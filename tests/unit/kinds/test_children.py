"""The objects of a PyTorchTrainingJob, point by point; whole jobs are in `tests/golden/`."""

from typing import Any

import pytest

from statemachine.ids import ATTEMPT, JobUid
from statemachine.kinds import kind_of
from statemachine.state import JobState
from tests.unit.kinds.build import (
    API,
    ELASTIC,
    KIND,
    TORCHRUN,
    Spec,
    children,
    container,
    env,
    pod,
    pods,
    replicas,
    spec,
    state,
    template,
)

DEBUG: Spec = {"runMode": {"debug": {"enabled": True}}}


def args_of(of: Spec, replica: str = "worker-0", *, resumed: bool = False) -> list[str]:
    """The arguments of a pod's training container."""
    args: list[str] = pod(state(of, resumed=resumed), replica)["spec"]["containers"][0]["args"]
    return args


# ---- R3, R4, R13, R14 -------------------------------------------------------------------------------------------


def test_children_come_in_the_order_of_creation() -> None:
    job = state(spec(replicas("worker", 2), scheduler={"t9kScheduler": {}}, tensorboardSpec={"image": "tb"}))
    assert [(child["kind"], child["metadata"]["name"]) for child in children(job)] == [
        ("PodGroup", "mnist"),
        ("Service", "mnist-7ac1b"),
        ("TensorBoard", "mnist-7ac1b"),
        ("Pod", "mnist-7ac1b-worker-0"),
        ("Pod", "mnist-7ac1b-worker-1"),
    ]


def test_every_child_is_the_job_s_own() -> None:
    job = state(spec(scheduler={"t9kScheduler": {}}, tensorboardSpec={}), namespace="team")
    for child in children(job):
        meta = child["metadata"]
        assert meta["namespace"] == "team"
        (owner,) = meta["ownerReferences"]
        assert (owner["apiVersion"], owner["kind"], owner["name"], owner["uid"]) == (
            API,
            KIND,
            "mnist",
            job.uid,
        )
        assert (owner["controller"], owner["blockOwnerDeletion"]) == (True, True)
        assert meta["labels"]["tensorstack.dev/owner-name"] == "mnist"
        assert meta["labels"]["tensorstack.dev/owner-kind"] == KIND


def test_labels_say_which_replica_a_pod_is() -> None:
    labels = pod(state(spec(replicas("ps"), replicas("worker", 2))), "worker-1")["metadata"]["labels"]
    assert labels == {
        "tensorstack.dev/owner-name": "mnist",
        "tensorstack.dev/owner-kind": "PyTorchTrainingJob",
        "tensorstack.dev/component": "pytorchtrainingjob",
        "tensorstack.dev/component-type": "user",
        "replica-type": "worker",
        "replica-index": "1",
        "pytorchtrainingjob": "mnist",
        "pytorchtrainingjob-replica": "mnist-7ac1b-worker-1",
    }


def test_only_the_master_has_the_role() -> None:
    manifests = pods(state(spec(replicas("ps"), replicas("worker", 2))))
    assert [pod["metadata"]["labels"].get("job-role") for pod in manifests.values()] == ["master", None, None]


def test_the_user_s_labels_and_annotations_stay_unless_they_clash() -> None:
    meta = {
        "labels": {"app": "mnist", "replica-index": "9"},
        "annotations": {"sidecar.istio.io/inject": "false", ATTEMPT: "9"},
    }
    metadata = pod(state(spec({"type": "worker", "template": {**template(), "metadata": meta}})))["metadata"]
    assert metadata["labels"]["app"] == "mnist"
    assert metadata["labels"]["replica-index"] == "0"
    assert metadata["annotations"] == {"sidecar.istio.io/inject": "false", ATTEMPT: "1"}


def test_the_attempt_is_the_replica_s() -> None:
    job = state(spec(replicas("worker", 2)), attempts={"worker-1": 3})
    children = [child for child in kind_of(API, KIND).children(job) if child.kind == "Pod"]
    assert [child.attempt for child in children] == [1, 3]
    assert pod(job, "worker-1")["metadata"]["annotations"][ATTEMPT] == "3"


@pytest.mark.parametrize("name", ["pytorch-port", "pytorchjob-port"])
def test_the_master_s_port_is_everybody_s(name: str) -> None:
    ports = [{"name": "http", "containerPort": 80}, {"name": name, "containerPort": 2345}]
    job = state(spec(replicas("ps", 1, container(ports=ports)), replicas("worker")))
    assert {env(manifest)["MASTER_PORT"] for manifest in pods(job).values()} == {"2345"}
    services = [child for child in children(job) if child["kind"] == "Service"]
    assert {service["spec"]["ports"][0]["port"] for service in services} == {2345}


def test_the_rest_of_a_template_passes_untouched() -> None:
    rest = {
        "restartPolicy": "Always",
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
        "nodeSelector": {"a": "b"},
        "schedulerName": "mine",
    }
    sidecar = {"name": "sidecar", "image": "s", "env": [{"name": "RANK", "value": "x"}]}
    made = pod(state(spec({"type": "worker", "template": template(container(), sidecar, **rest)})))["spec"]
    assert made["restartPolicy"] == "Never"
    assert {key: made[key] for key in rest if key != "restartPolicy"} == {
        key: value for key, value in rest.items() if key != "restartPolicy"
    }
    assert made["containers"][1] == sidecar


def test_a_manifest_shares_nothing_with_the_spec() -> None:
    job = state(spec())
    before = pod(job)
    pod(job)["spec"]["containers"][0]["args"].append("changed")
    assert pod(job) == before


def test_a_queue_is_on_group_and_pods() -> None:
    of = spec(replicas("worker", 3), scheduler={"t9kScheduler": {"queue": "gpu", "priority": 50}})
    group = children(state(of))[0]
    assert group["spec"] == {"minMember": 3, "queue": "gpu", "priority": 50}
    made = pod(state(of))
    assert made["spec"]["schedulerName"] == "t9k-scheduler"
    queue = {key: value for key, value in made["metadata"]["labels"].items() if "scheduler" in key}
    assert queue == {
        "scheduler.tensorstack.dev/group-name": "mnist",
        "scheduler.tensorstack.dev/queue": "gpu",
        "scheduler.tensorstack.dev/role": "worker",
    }


def test_tensorboard_has_the_user_s_spec_and_holds_nothing_up() -> None:
    wish = {"image": "tb", "logDir": {"pvc": [{"name": "logs", "subPath": ["a"]}]}, "extra": 1}
    job = state(spec(tensorboardSpec=wish))
    (child,) = [child for child in kind_of(API, KIND).children(job) if child.kind == "TensorBoard"]
    assert (child.mutable, child.optional, child.build()["spec"]) == (True, True, wish)


# ---- section 3: env; section 4: launch line -----------------------------------------------------------------------


def test_ranks_count_over_all_types() -> None:
    manifests = pods(state(spec(replicas("ps"), replicas("worker", 2))))
    assert [(env(manifest)["RANK"], env(manifest)["WORLD_SIZE"]) for manifest in manifests.values()] == [
        ("0", "3"),
        ("1", "3"),
        ("2", "3"),
    ]


def test_generated_variables_come_first_and_replace_the_user_s() -> None:
    own = [{"name": "URL", "value": "$(MASTER_ADDR)"}, {"name": "RANK", "value": "7"}]
    made = pod(state(spec(replicas("worker", 1, container(env=own)))))["spec"]["containers"][0]["env"]
    names = [entry["name"] for entry in made]
    assert names == ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "PYTHONUNBUFFERED", "URL"]


def test_unbuffered_output_is_the_user_s_choice() -> None:
    own = [{"name": "PYTHONUNBUFFERED", "value": "0"}]
    made = pod(state(spec(replicas("worker", 1, container(env=own)))))
    assert env(made)["PYTHONUNBUFFERED"] == "0"
    names = [variable["name"] for variable in made["spec"]["containers"][0]["env"]]
    assert names.count("PYTHONUNBUFFERED") == 1


def test_the_container_named_python_trains_then_pytorch_then_the_first() -> None:
    def trains(*names: str) -> str:
        job = state(spec(replicas("worker", 1, *(container(name=name) for name in names))))
        training_container = kind_of(API, KIND).training_container(job, "worker")
        with_env = [
            container_there["name"]
            for container_there in pod(job)["spec"]["containers"]
            if "env" in container_there
        ]
        assert with_env == [training_container]
        return training_container

    assert trains("pytorch", "python") == "python"
    assert trains("a", "pytorch") == "pytorch"
    assert trains("a", "b") == "a"


def test_there_is_no_training_container_of_an_unknown_type() -> None:
    assert kind_of(API, KIND).training_container(state(spec()), "ps") == ""


def test_torchrun_gets_its_options_in_order() -> None:
    config = {
        "enabled": True,
        "maxRestarts": 3,
        "procPerNode": 4,
        "rdzvBackend": "c10d",
        "extraOptions": ["--tee=3"],
    }
    assert args_of(spec(replicas("worker", 2), torchrunConfig=config)) == [
        "--nnodes=2",
        "--nproc_per_node=4",
        "--rdzv_id=mnist-7ac1b",
        "--rdzv_backend=c10d",
        "--rdzv_endpoint=mnist-7ac1b-worker-0:23456",
        "--max_restarts=3",
        "--role=worker",
        "--tee=3",
        "train.py",
    ]


def test_elastic_torchrun_gets_the_range() -> None:
    assert args_of(spec(**TORCHRUN, **ELASTIC))[0] == "--nnodes=2:4"


def test_another_rendezvous_has_its_own_endpoint() -> None:
    extra = ["--rdzv_endpoint", "etcd:2379"]
    config = {"enabled": True, "rdzvBackend": "etcd-v2", "extraOptions": extra}
    assert args_of(spec(torchrunConfig=config)) == [
        "--nnodes=1",
        "--rdzv_id=mnist-7ac1b",
        "--rdzv_backend=etcd-v2",
        "--role=worker",
        *extra,
        "train.py",
    ]


@pytest.mark.parametrize(
    "extra", [["--rdzv-id=mine"], ["--rdzv_id", "mine"], ["--rdzv_id=mine"], ["--rdzv-id", "mine"]]
)
def test_the_user_s_options_win(extra: list[str]) -> None:
    made = args_of(spec(torchrunConfig={"enabled": True, "extraOptions": extra}))
    assert [name for name in made if name.startswith(("--rdzv_id", "--rdzv-id"))] == extra[:1]
    assert any(name.startswith("--rdzv_backend") for name in made)


def test_torchrun_leaves_ranks_to_torchrun() -> None:
    variables = env(pod(state(spec(**TORCHRUN))))
    assert list(variables) == ["MASTER_ADDR", "MASTER_PORT", "PYTHONUNBUFFERED"]


# ---- R10: debug; R11: resume --------------------------------------------------------------------------------------


def test_debug_sleeps_and_takes_off_what_would_kill_it() -> None:
    probes: dict[str, Any] = {"livenessProbe": {}, "readinessProbe": {}, "startupProbe": {}, "lifecycle": {}}
    item = {"type": "worker", "template": template(container(**probes), initContainers=[container(name="i")])}
    made = pod(state(spec(item, **TORCHRUN, **DEBUG)))["spec"]
    trains = made["containers"][0]
    assert (trains["command"], trains["args"]) == (["sleep", "inf"], [])
    assert not probes.keys() & trains.keys()
    assert [variable["name"] for variable in made["initContainers"]] == ["i"]


def test_debug_may_skip_init_containers_of_one_type() -> None:
    item = {"template": template(initContainers=[container(name="i")])}
    entry = {"type": "ps", "skipInitContainer": True, "command": ["sshd"]}
    mode = {"debug": {"enabled": True, "replicaSpecs": [entry]}}
    job = state(spec({"type": "worker", **item}, {"type": "ps", **item}, runMode=mode))
    assert "initContainers" in pod(job, "worker-0")["spec"]
    assert "initContainers" not in pod(job, "ps-0")["spec"]
    assert pod(job, "ps-0")["spec"]["containers"][0]["command"] == ["sshd"]


def resume(**entry: Any) -> Spec:
    """A run mode whose resumeSpecs have one entry for `worker`."""
    return {"runMode": {"pause": {"enabled": True, "resumeSpecs": [{"type": "worker", **entry}]}}}


def test_resume_args_replace_the_script_inside_the_launch_line() -> None:
    of = spec(**TORCHRUN, **resume(args=["train.py", "--resume"]))
    assert args_of(of, resumed=True)[-3:] == ["--role=worker", "train.py", "--resume"]


def test_a_resume_command_replaces_the_launch_line() -> None:
    made = pod(state(spec(**TORCHRUN, **resume(command=["sh"])), resumed=True))["spec"]["containers"][0]
    assert (made["command"], made["args"]) == (["sh"], [])


def test_resume_specs_wait_for_a_pause_to_end() -> None:
    of = spec(runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["other.py"]}]}})
    assert args_of(of) == ["train.py"]
    assert args_of(of, resumed=True) == ["other.py"]


def test_debug_wins_over_resume_specs() -> None:
    mode = resume(command=["sh"], skipInitContainer=True)["runMode"]
    item = {"type": "worker", "template": template(initContainers=[container(name="i")])}
    job = state(spec(item, runMode={**mode, "debug": {"enabled": True}}), resumed=True)
    made = pod(job)["spec"]
    assert made["containers"][0]["command"] == ["sleep", "inf"]
    assert "initContainers" in made


# ---- enumeration --------------------------------------------------------------------------------------------------


def test_a_job_without_a_plan_has_no_children() -> None:
    assert list(kind_of(API, KIND).children(JobState(JobUid("u"), api_version=API, kind=KIND))) == []


def test_every_replica_of_hundreds_has_its_children() -> None:
    job = state(spec(replicas("worker", 200)))
    kind = kind_of(API, KIND)
    assert sum(1 for _ in kind.children(job)) == 1 + 200
