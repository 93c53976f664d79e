"""XGBoostTrainingJob: XG1, XG2, the shared rules where it has its own paths, and its children."""

from typing import Any

import pytest

from tests.unit.kinds.build import children, env, notices, pod, texts
from tests.unit.kinds.xgboost import BASE, admit, container, replicas, spec, state

ONE_MASTER = "spec.replicaSpecs: exactly one master replica is required"


def test_a_good_spec_has_nothing_wrong_and_nothing_suspicious() -> None:
    assert (texts(admit(spec())), notices(admit(spec()))) == ([], [])


@pytest.mark.parametrize(
    "items",
    [
        [replicas("worker")],
        [replicas("master", 0)],
        [replicas("master", 2), replicas("worker")],
    ],
)
def test_xg1_refuses_jobs_without_a_master_or_with_several(items: list[dict[str, Any]]) -> None:
    admission = admit(spec(*items))
    assert texts(admission) == [ONE_MASTER]
    assert [problem.rule for problem in admission.problems] == ["XG1"]


def test_xg1_a_master_is_one_where_no_number_is_given() -> None:
    master = replicas("master")
    del master["replicas"]
    assert texts(admit(spec(replicas("worker", 0), master))) == []


def test_xg2_every_template_has_the_container() -> None:
    other = container(name="main")
    admission = admit(spec(replicas("master"), replicas("worker", 1, other)))
    where = "spec.replicaSpecs[1].template.spec.containers"
    assert texts(admission) == [f'{where}: a container named "xgboost" is required']
    assert [problem.rule for problem in admission.problems] == ["XG2"]
    assert texts(admit(spec(replicas("master", 1, other, container())))) == []


@pytest.mark.parametrize(("number", "longest"), [(1, 48), (10, 48), (11, 47)])
def test_g2_leaves_room_for_the_hash_and_the_digits_of_the_index(number: int, longest: int) -> None:
    of = spec(replicas("master"), replicas("worker", number))
    assert texts(admit(of, name="a" * longest)) == []
    assert [problem.rule for problem in admit(of, name="a" * (longest + 1)).problems] == ["G2"]


def test_g3_there_are_two_types() -> None:
    admission = admit(spec(replicas("master"), replicas("ps")))
    assert [(problem.rule, problem.path) for problem in admission.problems] == [
        ("G3", "spec.replicaSpecs[1].type")
    ]


def test_g16_warns_of_variables_that_the_controller_sets() -> None:
    admission = admit(spec(replicas("master", 1, container(env=[{"name": "RANK", "value": "7"}]))))
    assert [reason for reason, _ in notices(admission)] == ["EnvOverridden"]


@pytest.mark.parametrize("order", ["master first", "worker first"])
def test_ranks_do_not_depend_on_the_order(order: str) -> None:
    items = [replicas("master"), replicas("worker", 2)]
    job = state(spec(*(items if order == "master first" else reversed(items))))
    ranks = {name: env(pod(job, name))["RANK"] for name in ("master-0", "worker-0", "worker-1")}
    assert ranks == {"master-0": "0", "worker-0": "1", "worker-1": "2"}
    assert pod(job, "master-0")["metadata"]["labels"]["job-role"] == "master"
    assert "job-role" not in pod(job, "worker-0")["metadata"]["labels"]


@pytest.mark.parametrize(
    ("ports", "port"),
    [
        ([], "9991"),
        ([{"name": "http", "containerPort": 80}], "9991"),
        ([{"name": "xgboostjob-port", "containerPort": 7}], "7"),
        (
            [
                {"name": "xgboostjob-port", "containerPort": 7},
                {"name": "xgboost-port", "containerPort": 8},
            ],
            "8",
        ),
    ],
)
def test_all_meet_at_the_port_that_the_master_declares(ports: list[dict[str, Any]], port: str) -> None:
    worker = container(ports=[{"name": "xgboost-port", "containerPort": 5}])
    job = state(spec(replicas("master", 1, container(ports=ports)), replicas("worker", 1, worker)))
    for name in ("master-0", "worker-0"):
        assert env(pod(job, name)) == {
            "MASTER_ADDR": f"{BASE}-master-0",
            "MASTER_PORT": port,
            "WORLD_SIZE": "2",
            "RANK": "0" if name == "master-0" else "1",
            "PYTHONUNBUFFERED": "1",
        }


def test_debug_and_resume_start_the_training_container_otherwise() -> None:
    debug = spec(runMode={"debug": {"enabled": True}})
    assert pod(state(debug), "master-0")["spec"]["containers"][0]["command"] == ["sleep", "inf"]
    resume = spec(runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["--again"]}]}})
    made = pod(state(resume, resumed=True), "worker-0")["spec"]["containers"][0]
    assert (made["command"], made["args"]) == (["python", "train.py"], ["--again"])


def test_the_pod_group_has_all_replicas() -> None:
    of = spec(replicas("worker", 3), replicas("master"), scheduler={"t9kScheduler": {"queue": "q"}})
    group = children(state(of))[0]
    assert group["spec"] == {"minMember": 4, "queue": "q", "priority": 0}
