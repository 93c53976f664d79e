"""The objects of a PyTorchJob. Source: kubeflow-pytorchjob.md, sections 3 and 8."""

from pathlib import Path

import pytest
import yaml

from tests.unit.kinds import build
from tests.unit.kinds.build import Spec
from tests.unit.kinds.kubeflow import (
    admit,
    children,
    container,
    env,
    pod,
    replica,
    spec,
    state,
    template,
    types,
    workers_only,
)

METRICS = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]
PORT = {"name": "pytorchjob-port", "containerPort": 23456, "protocol": "TCP"}


def master_env(
    rank: int, *, world: int = 3, nodes: str = "3", processes: str = "auto"
) -> list[tuple[str, str]]:
    """The environment of a job with a Master."""
    return [
        ("PYTHONUNBUFFERED", "1"),
        ("MASTER_PORT", "23456"),
        ("PET_MASTER_PORT", "23456"),
        ("MASTER_ADDR", "mnist-master-0"),
        ("PET_MASTER_ADDR", "mnist-master-0"),
        ("WORLD_SIZE", str(world)),
        ("RANK", str(rank)),
        ("PET_NODE_RANK", str(rank)),
        ("PET_NPROC_PER_NODE", processes),
        ("PET_NNODES", nodes),
    ]


@pytest.mark.parametrize(("name", "rank"), [("master-0", 0), ("worker-0", 1), ("worker-1", 2)])
def test_the_environment_is_the_operator_s_in_its_order(name: str, rank: int) -> None:
    assert env(spec(), name) == master_env(rank)


@pytest.mark.parametrize(("said", "world"), [("4", 12), ("gpu", 3), ("cpu", 3)])
def test_the_world_counts_processes_where_their_number_is_known(said: str, world: int) -> None:
    assert env(spec(nprocPerNode=said), "worker-0") == master_env(1, world=world, processes=said)


def test_workers_alone_learn_how_many_they_are() -> None:
    assert env(workers_only(2, nprocPerNode="2"), "worker-1") == [
        ("PYTHONUNBUFFERED", "1"),
        ("PET_NPROC_PER_NODE", "2"),
        ("PET_NNODES", "2"),
    ]


def test_elastic_workers_learn_where_to_meet() -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 3, "maxRestarts": 100}
    assert env(workers_only(2, elasticPolicy=elastic), "worker-0") == [
        ("PYTHONUNBUFFERED", "1"),
        ("PET_NPROC_PER_NODE", "auto"),
        ("PET_RDZV_ENDPOINT", "mnist-worker-0:23456"),
        ("PET_RDZV_BACKEND", "c10d"),
        ("PET_NNODES", "1:3"),
        ("PET_MAX_RESTARTS", "100"),
    ]


def test_options_of_the_rendezvous_come_last_and_only_if_said() -> None:
    elastic = {
        "rdzvBackend": "etcd",
        "rdzvHost": "etcd",
        "rdzvPort": 2379,
        "rdzvId": "run",
        "rdzvConf": [{"key": "a", "value": "1"}, {"key": "b"}],
        "nProcPerNode": 2,
        "standalone": True,
    }
    assert env(workers_only(2, elasticPolicy=elastic), "worker-0")[1:] == [
        ("PET_RDZV_ENDPOINT", "etcd:2379"),
        ("PET_RDZV_BACKEND", "etcd"),
        ("PET_NNODES", "2:2"),
        ("PET_NPROC_PER_NODE", "2"),
        ("PET_RDZV_ID", "run"),
        ("PET_RDZV_CONF", "a=1,b="),
        ("PET_STANDALONE", ""),
    ]


@pytest.mark.parametrize("elastic", [{"standalone": False}, {"rdzvConf": []}])
def test_options_that_say_nothing_are_left_out(elastic: Spec) -> None:
    names = [name for name, _ in env(workers_only(elasticPolicy=elastic), "worker-0")]
    assert names[-1] == "PET_NNODES"


def test_every_container_gets_the_environment_behind_its_own() -> None:
    own = [{"name": "RANK", "value": "9"}, {"name": "LOG", "value": "x"}]
    of = spec(types(Worker=replica(1, {"name": "side", "image": "i", "env": own}, container())))
    given = master_env(1, world=2, nodes="2")
    assert env(of, "worker-0", 0) == [("LOG", "x"), *given]
    assert env(of, "worker-0", 1) == given


def test_the_port_that_the_master_declares_is_everybody_s() -> None:
    ports = [{"name": "pytorchjob-port", "containerPort": 29500}]
    of = spec(types(Master=replica(1, container(ports=ports))))
    assert dict(env(of, "worker-0"))["MASTER_PORT"] == "29500"
    assert pod(of, "master-0")["spec"]["containers"][0]["ports"] == ports
    assert pod(of, "worker-0")["spec"]["containers"][0]["ports"] == [PORT]


def test_only_the_container_that_trains_gets_the_port() -> None:
    metrics = {"name": "metrics", "containerPort": 9000}
    side = {"name": "side", "image": "i"}
    of = workers_only()
    of["pytorchReplicaSpecs"]["Worker"]["template"] = template(side, container(ports=[metrics]))
    first, second = pod(of, "worker-0")["spec"]["containers"]
    assert ("ports" not in first, second["ports"]) == (True, [metrics, PORT])


def test_a_service_has_all_ports_of_its_replica() -> None:
    ports = [{"containerPort": 80}, {"name": "log", "containerPort": 514, "protocol": "UDP"}]
    (service,) = children(spec({"Worker": replica(1, container(ports=ports))}), "Service")
    assert service["metadata"]["name"] == "mnist-worker-0"
    assert service["spec"]["clusterIP"] == "None"
    assert [(port["name"], port["port"], port["protocol"]) for port in service["spec"]["ports"]] == [
        ("port-80", 80, "TCP"),
        ("log", 514, "UDP"),
        ("pytorchjob-port", 23456, "TCP"),
    ]


def test_a_service_has_each_number_once() -> None:
    ports = [
        {"name": "torch", "containerPort": 23456},
        {"containerPort": 53},
        {"containerPort": 53, "protocol": "UDP"},
    ]
    (service,) = children(spec({"Worker": replica(1, container(ports=ports))}), "Service")
    numbered = [(port["name"], port["port"]) for port in service["spec"]["ports"]]
    assert numbered == [("torch", 23456), ("port-53", 53), ("port-53-udp", 53)]


NEW = {
    "training.kubeflow.org/operator-name": "pytorchjob-controller",
    "training.kubeflow.org/job-name": "mnist",
    "training.kubeflow.org/replica-type": "worker",
    "training.kubeflow.org/replica-index": "1",
}
OLD = {"group-name": "kubeflow.org", "job-name": "mnist", "replica-type": "worker", "replica-index": "1"}


def test_services_carry_new_labels_and_pods_old_ones_too() -> None:
    service = children(spec(), "Service")[2]
    assert service["metadata"]["labels"] == service["spec"]["selector"] == NEW
    assert pod(spec(), "worker-1")["metadata"]["labels"] == {**NEW, **OLD}


@pytest.mark.parametrize(("of", "master"), [(spec(), "master-0"), (workers_only(), "worker-0")])
def test_one_pod_has_the_role_of_the_master(of: Spec, master: str) -> None:
    role = ("training.kubeflow.org/job-role", "job-role")
    marked = {
        name: [manifest["metadata"]["labels"].get(key) for key in role]
        for name, manifest in build.pods(state(of)).items()
    }
    assert [name for name, marks in marked.items() if marks != [None, None]] == [master]
    assert marked[master] == ["master", "master"]


def test_labels_and_annotations_of_the_template_are_kept_and_ours_win() -> None:
    meta = {"labels": {"team": "a", "job-name": "other"}, "annotations": {"sidecar.istio.io/inject": "false"}}
    metadata = pod(spec({"Worker": {"template": {"metadata": meta, **template()}}}), "worker-0")["metadata"]
    assert (metadata["labels"]["team"], metadata["labels"]["job-name"]) == ("a", "mnist")
    assert metadata["annotations"] == {"sidecar.istio.io/inject": "false", "jobledger.dev/attempt": "1"}


@pytest.mark.parametrize(
    ("policy", "of_pod"),
    [("Always", "Always"), ("OnFailure", "OnFailure"), ("Never", "Never"), ("ExitCode", "Never")],
)
def test_the_pod_s_policy_is_the_type_s_but_never_for_exit_codes(policy: str, of_pod: str) -> None:
    of = spec({"Worker": {"restartPolicy": policy, "template": template(restartPolicy="Always")}})
    assert pod(of, "worker-0")["spec"]["restartPolicy"] == of_pod


def test_workers_wait_for_the_master_behind_the_user_s_own_init_containers() -> None:
    fetch = {"name": "fetch", "image": "i"}
    of = spec({"Master": {"template": template(initContainers=[fetch])}, "Worker": {
        "template": template(initContainers=[fetch])}})  # fmt: skip
    assert pod(of, "master-0")["spec"]["initContainers"] == [fetch]
    first, wait = pod(of, "worker-0", settings={"init_image": "mirror/alpine:3"})["spec"]["initContainers"]
    assert (first, wait["name"], wait["image"]) == (fetch, "init-pytorch", "mirror/alpine:3")
    assert wait["command"][:2] == ["sh", "-c"]
    assert "nslookup mnist-master-0" in wait["command"][2]


def test_workers_without_a_master_wait_for_nobody() -> None:
    assert "initContainers" not in pod(workers_only(), "worker-0")["spec"]


def test_command_and_args_stay_as_they_are() -> None:
    of = spec({"Worker": replica(1, container(command=["python"], args=["--backend", "nccl"]))})
    containers = pod(of, "worker-0")["spec"]["containers"][0]
    assert (containers["command"], containers["args"]) == (["python"], ["--backend", "nccl"])


def test_names_are_the_operator_s_and_services_come_before_pods() -> None:
    names = ["mnist-master-0", "mnist-worker-0", "mnist-worker-1"]
    objects = [(child["kind"], child["metadata"]["name"]) for child in build.children(state(spec()))]
    assert objects == [*(("Service", name) for name in names), *(("Pod", name) for name in names)]


def test_every_child_is_the_job_s_and_can_be_watched() -> None:
    of = workers_only(elasticPolicy={"metrics": METRICS})
    job = state(of, settings={"gang_scheduler": "volcano"})
    for child in build.children(job):
        (owner,) = child["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("PyTorchJob", job.uid, True)
        assert "training.kubeflow.org/operator-name" in child["metadata"]["labels"]


EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("kubeflow-*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_nothing_wrong_in_them(path: Path) -> None:
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    admission = admit(given["spec"], name=given["metadata"]["name"])
    assert (build.texts(admission), build.notices(admission)) == ([], [])
