"""TensorFlowTrainingJob: TF1-TF4, the shared rules where it has its own paths, TF_CONFIG, and its other children."""

from typing import Any

import pytest

from tests.unit.kinds.build import children, env, notices, pod, pods, texts
from tests.unit.kinds.tensorflow import (
    BASE,
    admit,
    container,
    hosts,
    listening,
    replicas,
    spec,
    state,
    tf_config,
)

ONE_CHIEF = "spec.replicaSpecs: at most one chief replica"
NOBODY_TRAINS = "spec.replicaSpecs: a chief or a worker is required"


def test_a_good_spec_has_nothing_wrong_and_nothing_suspicious() -> None:
    assert (texts(admit(spec())), notices(admit(spec()))) == ([], [])


def test_tf1_every_template_has_the_container() -> None:
    other = container(name="tf")
    admission = admit(spec(replicas("chief"), replicas("worker", 1, other)))
    where = "spec.replicaSpecs[1].template.spec.containers"
    assert texts(admission) == [f'{where}: a container named "tensorflow" is required']
    assert [problem.rule for problem in admission.problems] == ["TF1"]
    assert texts(admit(spec(replicas("chief", 1, other, container())))) == []


def test_tf2_refuses_several_chiefs() -> None:
    admission = admit(spec(replicas("chief", 2), replicas("worker")))
    assert texts(admission) == [ONE_CHIEF]
    assert [problem.rule for problem in admission.problems] == ["TF2"]


@pytest.mark.parametrize(
    "items",
    [
        [replicas("ps", 2)],
        [replicas("evaluator")],
        [replicas("chief", 0), replicas("ps")],
        [replicas("worker", 0), replicas("chief", 0)],
    ],
)
def test_tf3_refuses_jobs_in_which_nobody_trains(items: list[dict[str, Any]]) -> None:
    admission = admit(spec(*items))
    assert texts(admission) == [NOBODY_TRAINS]
    assert [problem.rule for problem in admission.problems] == ["TF3"]


@pytest.mark.parametrize("type_", ["chief", "worker"])
def test_tf3_a_type_without_a_number_has_one_replica(type_: str) -> None:
    one = replicas(type_)
    del one["replicas"]
    assert texts(admit(spec(one))) == []


def test_tf4_warns_of_several_evaluators() -> None:
    admission = admit(spec(replicas("worker"), replicas("evaluator", 2)))
    assert texts(admission) == []
    assert notices(admission) == [("EvaluatorReplicas", "more than one evaluator is unusual")]
    assert notices(admit(spec(replicas("worker"), replicas("evaluator")))) == []


@pytest.mark.parametrize(("number", "longest"), [(1, 45), (10, 45), (11, 44)])
def test_g2_leaves_room_for_the_hash_and_the_digits_of_the_index(number: int, longest: int) -> None:
    of = spec(replicas("worker"), replicas("evaluator", number))
    assert texts(admit(of, name="a" * longest)) == []
    assert [problem.rule for problem in admit(of, name="a" * (longest + 1)).problems] == ["G2"]


def test_g3_there_are_four_types() -> None:
    four = [replicas(type_) for type_ in ("evaluator", "ps", "worker", "chief")]
    assert texts(admit(spec(*four))) == []
    admission = admit(spec(replicas("worker"), replicas("master")))
    assert [(problem.rule, problem.path) for problem in admission.problems] == [
        ("G3", "spec.replicaSpecs[1].type")
    ]


def test_g13_log_filesets_are_addresses_in_a_volume_or_in_object_storage() -> None:
    admission = admit(spec(tensorboardSpec={"trainingLogFilesets": ["t9k://pvc/logs/a", "/logs"]}))
    assert [(problem.rule, problem.path) for problem in admission.problems] == [
        ("G13", "spec.tensorboardSpec.trainingLogFilesets[1]")
    ]


def test_g16_warns_of_the_variable_that_the_controller_sets() -> None:
    of = spec(replicas("chief", 1, container(env=[{"name": "TF_CONFIG", "value": "{}"}])))
    assert [reason for reason, _ in notices(admit(of))] == ["EnvOverridden"]
    assert tf_config(pod(state(of), "chief-0"))["task"] == {"type": "chief", "index": 0}


def test_tf_config_is_compact_and_in_the_order_of_tensorflow_s_documents() -> None:
    job = state(spec(replicas("ps", 2), replicas("worker", 2), replicas("chief")))
    assert env(pod(job, "worker-1")) == {
        "TF_CONFIG": f'{{"cluster":{{"chief":["{BASE}-chief-0:2222"],'
        f'"worker":["{BASE}-worker-0:2222","{BASE}-worker-1:2222"],'
        f'"ps":["{BASE}-ps-0:2222","{BASE}-ps-1:2222"]}},'
        '"task":{"type":"worker","index":1}}',
        "PYTHONUNBUFFERED": "1",
    }


def test_tf_config_differs_between_replicas_only_in_the_task() -> None:
    job = state(spec(replicas("ps", 2), replicas("worker", 11), replicas("chief"), replicas("evaluator")))
    said = {name: tf_config(manifest) for name, manifest in pods(job).items()}
    cluster = {"chief": hosts("chief", 1), "worker": hosts("worker", 11), "ps": hosts("ps", 2)}
    assert [config["cluster"] for config in said.values()] == [cluster] * 15
    tasks = {name: f"{config['task']['type']}-{config['task']['index']}" for name, config in said.items()}
    assert list(tasks.values()) == list(tasks)


def test_an_evaluator_has_a_task_and_is_not_in_the_cluster() -> None:
    job = state(spec(replicas("worker", 2), replicas("evaluator")))
    assert tf_config(pod(job, "evaluator-0")) == {
        "cluster": {"worker": hosts("worker", 2)},
        "task": {"type": "evaluator", "index": 0},
    }


def test_a_type_without_replicas_is_not_in_the_cluster() -> None:
    job = state(spec(replicas("chief", 0), replicas("worker"), replicas("ps", 0)))
    assert tf_config(pod(job))["cluster"] == {"worker": hosts("worker", 1)}


def test_a_single_replica_has_it_too() -> None:
    assert tf_config(pod(state(spec(replicas("worker"))))) == {
        "cluster": {"worker": hosts("worker", 1)},
        "task": {"type": "worker", "index": 0},
    }


@pytest.mark.parametrize("order", ["chief first", "worker first"])
def test_the_chief_is_the_primary_in_any_order(order: str) -> None:
    items = [replicas("chief"), replicas("worker", 2)]
    job = state(spec(*(items if order == "chief first" else reversed(items))))
    assert job.running_plan.primary == "chief-0"
    roles = {name: manifest["metadata"]["labels"].get("job-role") for name, manifest in pods(job).items()}
    assert roles == {"chief-0": "master", "worker-0": None, "worker-1": None}


@pytest.mark.parametrize("items", [[replicas("worker", 2)], [replicas("chief", 0), replicas("worker", 2)]])
def test_worker_0_is_the_primary_without_a_chief(items: list[dict[str, Any]]) -> None:
    job = state(spec(replicas("ps"), *items))
    assert job.running_plan.primary == "worker-0"
    assert pod(job, "worker-0")["metadata"]["labels"]["job-role"] == "master"
    assert "job-role" not in pod(job, "ps-0")["metadata"]["labels"]


@pytest.mark.parametrize(
    ("ports", "port"),
    [
        ([], 2222),
        ([{"name": "http", "containerPort": 80}], 2222),
        ([{"name": "tfjob-port", "containerPort": 7}], 7),
        ([{"name": "tfjob-port", "containerPort": 7}, {"name": "tensorflow-port", "containerPort": 8}], 8),
    ],
)
def test_a_type_listens_where_its_container_says(ports: list[dict[str, Any]], port: int) -> None:
    job = state(spec(replicas("worker", 1, container(ports=ports)), replicas("ps")))
    cluster = tf_config(pod(job))["cluster"]
    assert cluster == {"worker": hosts("worker", 1, port), "ps": hosts("ps", 1)}


def service_ports(*items: dict[str, Any], shared: bool = True) -> list[list[tuple[str, int]]]:
    """Name and number of the ports of each Service of a job."""
    made = [child for child in children(state(spec(*items), shared=shared)) if child["kind"] == "Service"]
    return [[(port["name"], port["port"]) for port in manifest["spec"]["ports"]] for manifest in made]


def test_one_service_has_one_port_for_all_types_that_agree() -> None:
    assert service_ports(replicas("chief"), replicas("worker", 2), replicas("evaluator")) == [
        [("tensorflow-port", 2222)]
    ]


def test_it_has_a_port_of_another_name_for_each_type_that_differs() -> None:
    items = (replicas("chief"), replicas("worker", 2, listening(3000)), replicas("ps", 1, listening(2222)))
    assert service_ports(*items) == [[("tensorflow-port", 2222), ("worker-tensorflow-port", 3000)]]


def test_a_replica_with_a_service_of_its_own_has_its_own_port_there() -> None:
    items = (replicas("chief"), replicas("worker", 1, listening(3000, "tfjob-port")))
    assert service_ports(*items, shared=False) == [[("tensorflow-port", 2222)], [("tensorflow-port", 3000)]]


def test_debug_and_resume_start_the_training_container_otherwise() -> None:
    debug = spec(runMode={"debug": {"enabled": True}})
    asleep = pod(state(debug), "chief-0")
    assert asleep["spec"]["containers"][0]["command"] == ["sleep", "inf"]
    assert tf_config(asleep)["task"] == {"type": "chief", "index": 0}
    resume = spec(runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["--again"]}]}})
    made = pod(state(resume, resumed=True), "worker-0")["spec"]["containers"][0]
    assert (made["command"], made["args"]) == (["python", "train.py"], ["--again"])


def test_children_come_in_the_order_of_creation() -> None:
    of = spec(
        replicas("worker", 2),
        replicas("chief"),
        scheduler={"t9kScheduler": {"queue": "q"}},
        tensorboardSpec={"image": "tensorboard:2"},
    )
    made = [(child["kind"], child["metadata"]["name"]) for child in children(state(of))]
    assert made == [
        ("PodGroup", "keras"),
        ("Service", BASE),
        ("TensorBoard", BASE),
        ("Pod", f"{BASE}-worker-0"),
        ("Pod", f"{BASE}-worker-1"),
        ("Pod", f"{BASE}-chief-0"),
    ]
    group, board = children(state(of))[0], children(state(of))[2]
    assert group["spec"] == {"minMember": 3, "queue": "q", "priority": 0}
    assert board["spec"] == {"image": "tensorboard:2"}
    assert [child.name for child in state(of).running_plan.children] == [BASE]
