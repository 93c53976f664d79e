"""Rules G1-G17 of spec R2, on the kind that has them all."""

from typing import Any

import pytest

from tests.unit.kinds.build import (
    ELASTIC,
    TORCHRUN,
    admit,
    container,
    merged,
    notices,
    of_rule,
    pod,
    replicas,
    spec,
    state,
    template,
    texts,
)

NAME = "metadata.name must be a DNS-1035 label: lower-case letters, digits and '-', starting with a letter"
TOO_LONG = "metadata.name is too long: the name of a replica would exceed 63 characters"
CONTAINERS = "spec.replicaSpecs[0].template.spec.containers"


@pytest.mark.parametrize("name", ["a", "mnist", "a-1", "x2"])
def test_g1_dns_labels_are_good_names(name: str) -> None:
    assert texts(admit(spec(), name=name)) == []


@pytest.mark.parametrize("name", ["", "1a", "A", "a.b", "a-", "-a", "a_b", "é", "a\n"])
def test_g1_refuses_what_no_service_can_be_called(name: str) -> None:
    assert texts(admit(spec(), name=name)) == [NAME]


def elastic(most: int) -> dict[str, Any]:
    """A torchrun job of so many replicas at most."""
    return {**TORCHRUN, "elastic": {"enabled": True, "minReplicas": 2, "maxReplicas": most}}


@pytest.mark.parametrize(
    ("of", "digits"),
    [
        (spec(), 1),
        (spec(replicas("worker", 10)), 1),
        (spec(replicas("worker", 11)), 2),
        (spec(replicas("worker", 1), replicas("worker2", 0)), 2),
        (spec(replicas("worker", 10_000)), 4),
        (spec(replicas("worker", 1), **elastic(101)), 3),
        (spec(replicas("worker", 101), **elastic(5)), 1),
        (spec(replicas("worker", 11, scalingWeight=0), replicas("b"), **elastic(14)), 2),
    ],
)
def test_g2_leaves_room_for_the_digits_that_are_needed(of: dict[str, Any], digits: int) -> None:
    longest = 63 - 6 - 1 - len("worker") - 1 - digits
    assert of_rule(admit(of, name="a" * longest), "G2") == []
    assert [str(problem) for problem in of_rule(admit(of, name="a" * (longest + 1)), "G2")] == [TOO_LONG]


@pytest.mark.parametrize("type_", ["Worker", "1", "w-", "", "w.1", "a" * 21])
def test_g3_refuses_types_that_are_no_labels(type_: str) -> None:
    admission = admit(spec(replicas(type_)))
    assert [problem.path for problem in of_rule(admission, "G3")] == ["spec.replicaSpecs[0].type"]


def test_g3_says_what_a_type_must_look_like() -> None:
    pattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
    assert texts(admit(spec(replicas("W")))) == [
        f"spec.replicaSpecs[0].type: Invalid value: \"W\": must match '{pattern}'"
    ]


def test_g4_refuses_a_type_listed_twice() -> None:
    assert texts(admit(spec(replicas("a"), replicas("b"), replicas("a")))) == [
        "spec.replicaSpecs: replica types must be unique"
    ]
    assert texts(admit(spec(replicas("a"), replicas("b")))) == []


@pytest.mark.parametrize("bad", [{}, {"spec": {}}, {"spec": {"containers": []}}])
def test_g5_wants_a_container(bad: dict[str, Any]) -> None:
    admission = admit(spec({"type": "worker", "template": bad}))
    assert texts(admission) == [f"{CONTAINERS}: Required value: at least one container"]


def test_g5_wants_names_and_images() -> None:
    first: dict[str, Any] = {"name": "pytorch"}
    second: dict[str, Any] = {"image": "i", "name": ""}
    assert texts(admit(spec(replicas("worker", 1, first, second)))) == [
        f"{CONTAINERS}[0].image: Required value",
        f"{CONTAINERS}[1].name: Required value",
    ]


def test_g5_wants_different_names() -> None:
    admission = admit(spec(replicas("worker", 1, container(), container(name="x"), container(name="x"))))
    assert texts(admission) == [f'{CONTAINERS}[2].name: Duplicate value: "x"']


def test_g5_knows_init_containers_too() -> None:
    item = {"type": "worker", "template": template(initContainers=[container(), {"name": "init"}])}
    where = "spec.replicaSpecs[0].template.spec.initContainers"
    assert texts(admit(spec(item))) == [
        f'{where}[0].name: Duplicate value: "pytorch"',
        f"{where}[1].image: Required value",
    ]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"args": ["train.py", 5]}, "args[1]: Invalid value: 5: must be of type string"),
        ({"args": "train.py"}, 'args: Invalid value: "train.py": must be of type array'),
        ({"env": {"A": "b"}}, 'env: Invalid value: "object": must be of type array'),
        ({"env": [{"name": "A", "value": 1}]}, "env[0].value: Invalid value: 1: must be of type string"),
    ],
)
def test_g5_finds_values_of_a_wrong_type(change: dict[str, Any], text: str) -> None:
    admission = admit(spec(replicas("worker", 1, container(**change))))
    assert texts(admission) == [f"{CONTAINERS}[0].{text}"]


@pytest.mark.parametrize(
    ("resource", "request_", "limit"),
    [
        ("cpu", "4", "2"),
        ("cpu", 4, 2),
        ("cpu", "2001m", "2"),
        ("memory", "1Gi", "1G"),
        ("memory", "1e3", "999"),
    ],
)
def test_g6_refuses_requests_above_the_limit(resource: str, request_: object, limit: object) -> None:
    resources = {"requests": {resource: request_}, "limits": {resource: limit}}
    assert texts(admit(spec(replicas("worker", 1, container(resources=resources))))) == [
        f'{CONTAINERS}[0].resources.requests: Invalid value: "{request_}": '
        f"must be less than or equal to {resource} limit of {limit}"
    ]


@pytest.mark.parametrize(("request_", "limit"), [("2", 2), ("2000m", "2"), ("1Gi", "1024Mi"), ("1G", "1Gi")])
def test_g6_allows_requests_up_to_the_limit(request_: object, limit: object) -> None:
    resources = {"requests": {"cpu": request_, "memory": "1Gi"}, "limits": {"cpu": limit}}
    assert texts(admit(spec(replicas("worker", 1, container(resources=resources))))) == []


def test_g6_wants_quantities() -> None:
    admission = admit(spec(replicas("worker", 1, container(resources={"limits": {"memory": "4Gb"}}))))
    assert texts(admission) == [
        f'{CONTAINERS}[0].resources.limits[memory]: Invalid value: "4Gb": '
        "must be a quantity such as 2, 500m or 4Gi"
    ]


@pytest.mark.parametrize("mode", ["debug.replicaSpecs", "pause.resumeSpecs"])
def test_g7_refuses_repeated_types(mode: str) -> None:
    first, _, second = mode.partition(".")
    admission = admit(spec(runMode={first: {second: [{"type": "worker"}, {"type": "worker"}]}}))
    assert texts(admission) == [f"spec.runMode.{mode}: unknown or repeated replica type"]


def test_g7_refuses_to_resume_types_that_there_are_not() -> None:
    admission = admit(spec(runMode={"pause": {"resumeSpecs": [{"type": "ps"}]}}))
    assert texts(admission) == ["spec.runMode.pause.resumeSpecs: unknown or repeated replica type"]


def test_g18_warns_of_types_to_debug_that_there_are_not() -> None:
    of = spec(runMode={"debug": {"enabled": True, "replicaSpecs": [{"type": "node"}, {"type": "worker"}]}})
    sentence = 'no replica type "node"; types that are not named take the defaults'
    admission = admit(of)
    assert (texts(admission), notices(admission)) == (
        [],
        [("DebugTypeIgnored", f"runMode.debug.replicaSpecs: {sentence}")],
    )
    assert pod(state(of))["spec"]["containers"][0]["command"] == ["sleep", "inf"]


def test_g7_accepts_each_type_once() -> None:
    both = [{"type": "ps"}, {"type": "worker"}]
    mode = {"debug": {"replicaSpecs": both}, "pause": {"resumeSpecs": both}}
    assert texts(admit(spec(replicas("worker"), replicas("ps"), runMode=mode))) == []


@pytest.mark.parametrize(
    "debug", [{"enabled": True}, {"replicaSpecs": [{"type": "worker", "command": ["sh"]}]}]
)
def test_g8_keeps_debug_as_it_was(debug: dict[str, Any]) -> None:
    text = "spec.runMode.debug is immutable; create the job again without debug"
    assert texts(admit(spec(runMode={"debug": debug}), spec())) == [text]
    assert texts(admit(spec(), spec(runMode={"debug": debug}))) == [text]


def test_g8_lets_defaults_be_written_out() -> None:
    old = spec(runMode={"debug": {"enable": True, "replicaSpecs": [{"type": "worker"}]}})
    new = spec(
        runMode={"debug": {"enabled": True, "replicaSpecs": [{"type": "worker", "skipInitContainer": False}]}}
    )
    assert texts(admit(new, old)) == []
    assert texts(admit(spec(runMode={"debug": {"enabled": False}}), spec())) == []


def test_g9_keeps_resume_specs_as_they_were() -> None:
    old = spec(runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}})
    new = spec(runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["b"]}]}})
    assert texts(admit(new, old)) == ["spec.runMode.pause.resumeSpecs is immutable"]
    assert texts(admit(merged(old), old)) == []


@pytest.mark.parametrize(
    ("priority", "bound"), [(-1, "greater than or equal to 0"), (101, "less than or equal to 100")]
)
def test_g10_bounds_the_priority(priority: int, bound: str) -> None:
    admission = admit(spec(scheduler={"t9kScheduler": {"priority": priority}}))
    path = "spec.scheduler.t9kScheduler.priority"
    assert texts(admission) == [f"{path}: Invalid value: {priority}: must be {bound}"]
    assert [problem.rule for problem in admission.problems] == ["G10"]


def test_g11_bounds_the_run_policy() -> None:
    policy = {"activeDeadlineSeconds": 0, "backoffLimit": -1, "cleanUpPolicy": "Some"}
    admission = admit(spec(runPolicy=policy))
    assert texts(admission) == [
        "spec.runPolicy.activeDeadlineSeconds: Invalid value: 0: must be greater than or equal to 1",
        "spec.runPolicy.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
        'spec.runPolicy.cleanUpPolicy: Unsupported value: "Some": supported values: "None", "All", "Unfinished"',
    ]
    assert {problem.rule for problem in admission.problems} == {"G11"}
    assert texts(admit(spec(runPolicy={"activeDeadlineSeconds": 1, "backoffLimit": 0}))) == []


@pytest.mark.parametrize("path", ["torchrunConfig", "elastic", "runMode.debug", "runMode.pause"])
def test_g12_refuses_two_spellings_that_disagree(path: str) -> None:
    def both(old: bool, new: bool) -> dict[str, Any]:
        tree: dict[str, Any] = {"enable": old, "enabled": new}
        for step in reversed(path.split(".")):
            tree = {step: tree}
        return spec(**tree)

    text = f"spec.{path}.enable is a deprecated alias of spec.{path}.enabled; set only one"
    assert text in texts(admit(both(old=True, new=False)))
    assert of_rule(admit(both(old=True, new=True)), "G12") == []


def test_g12_holds_for_the_old_spelling_of_sub_path() -> None:
    claim = {"name": "logs", "subpath": ["a"], "subPath": ["b"]}
    admission = admit(spec(tensorboardSpec={"logDir": {"pvc": [claim]}}))
    where = "spec.tensorboardSpec.logDir.pvc[0]"
    assert texts(admission) == [f"{where}.subpath is a deprecated alias of {where}.subPath; set only one"]


@pytest.mark.parametrize("good", ["t9k://pvc/logs", "t9k://pvc/logs/a/b", "t9k://minio/key/bucket/path"])
def test_g13_accepts_volumes_and_buckets(good: str) -> None:
    assert texts(admit(spec(tensorboardSpec={"trainingLogFilesets": [good]}))) == []


@pytest.mark.parametrize("bad", ["", "/logs", "t9k://pvc/", "t9k://minio/key", "s3://bucket"])
def test_g13_refuses_other_addresses(bad: str) -> None:
    admission = admit(spec(tensorboardSpec={"trainingLogFilesets": ["t9k://pvc/logs", bad]}))
    assert texts(admission) == [
        "spec.tensorboardSpec.trainingLogFilesets[1]: "
        "must be t9k://pvc/<name>/<path> or t9k://minio/<secret>/<bucket>/<path>"
    ]


def test_g14_warns_once_of_a_restart_policy_in_templates() -> None:
    item = {"template": template(restartPolicy="OnFailure")}
    admission = admit(spec({"type": "a", **item}, {"type": "b", **item}))
    message = "restartPolicy in the pod template is ignored; the controller sets Never"
    assert notices(admission) == [("PodTemplateRestartPolicyIgnored", message)]
    assert admission.plan is not None


@pytest.mark.parametrize(("size", "warned"), [("2Gi", True), ("1Gi", False), ("1025Mi", True), (None, False)])
def test_g15_warns_of_shared_memory_above_the_memory_limit(size: str | None, warned: bool) -> None:
    volume = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": size}}
    trains = container(resources={"limits": {"memory": "1Gi"}})
    admission = admit(spec({"type": "worker", "template": template(trains, volumes=[volume])}))
    message = 'volume "dshm" sizeLimit exceeds the memory limit of container "pytorch"'
    assert notices(admission) == ([("SharedMemoryTooLarge", message)] if warned else [])


def test_g15_says_nothing_of_a_volume_on_disk() -> None:
    volume = {"name": "scratch", "emptyDir": {"sizeLimit": "2Gi"}}
    trains = container(resources={"limits": {"memory": "1Gi"}})
    assert notices(admit(spec({"type": "worker", "template": template(trains, volumes=[volume])}))) == []


def test_g16_warns_of_variables_that_the_controller_sets() -> None:
    own = [
        {"name": "MASTER_ADDR", "value": "me"},
        {"name": "RANK", "value": "7"},
        {"name": "LR", "value": "1"},
    ]
    admission = admit(spec(replicas("worker", 1, container(env=own))))
    assert notices(admission) == [
        ("EnvOverridden", 'env "MASTER_ADDR" of container "pytorch" is replaced by the controller'),
        ("EnvOverridden", 'env "RANK" of container "pytorch" is replaced by the controller'),
    ]


def test_g16_leaves_ranks_to_the_user_under_torchrun() -> None:
    trains = container(env=[{"name": "RANK", "value": "7"}])
    assert notices(admit(spec(replicas("worker", 1, trains), **TORCHRUN))) == []


@pytest.mark.parametrize(
    ("new", "text"),
    [
        ({"replicaSpecs": [replicas("worker", 2, scalingWeight=2)]}, "spec.replicaSpecs[0].scalingWeight"),
        ({"replicaSpecs": [replicas("worker", 3)]}, "spec.replicaSpecs[0].replicas"),
        ({"replicaSpecs": [replicas("node", 2)]}, "spec.replicaSpecs[0].type"),
        (
            {"replicaSpecs": [replicas("worker", 2, restartPolicy="Never")]},
            "spec.replicaSpecs[0].restartPolicy",
        ),
        ({"replicaSpecs": [replicas("worker", 2), replicas("ps")]}, "spec.replicaSpecs"),
        ({"torchrunConfig": {"enabled": True}}, "spec.torchrunConfig.enabled"),
        ({"torchrunConfig": {"maxRestarts": 3}}, "spec.torchrunConfig.maxRestarts"),
        ({"torchrunConfig": {"procPerNode": "gpu"}}, "spec.torchrunConfig.procPerNode"),
        ({"torchrunConfig": {"extraOptions": ["--tee=3"]}}, "spec.torchrunConfig.extraOptions"),
        ({"scheduler": {"t9kScheduler": {}}}, "spec.scheduler"),
    ],
)
def test_g17_keeps_what_cannot_change(new: dict[str, Any], text: str) -> None:
    old = spec(replicas("worker", 2))
    admission = admit(merged(old, **new), old)
    assert texts(admission) == [f"{text} is immutable"]
    assert admission.spec == old


def test_g17_keeps_the_rendezvous_backend() -> None:
    options = ["--rdzv_endpoint=etcd:2379"]
    old = spec(torchrunConfig={"extraOptions": options})
    new = spec(torchrunConfig={"extraOptions": options, "rdzvBackend": "etcd"})
    assert texts(admit(new, old)) == ["spec.torchrunConfig.rdzvBackend is immutable"]


def test_g17_keeps_queue_and_priority() -> None:
    old = spec(scheduler={"t9kScheduler": {"queue": "a"}})
    for change in ({"queue": "b"}, {"queue": "a", "priority": 1}):
        admission = admit(spec(scheduler={"t9kScheduler": change}), old)
        assert texts(admission) == ["spec.scheduler is immutable"]


def test_g17_is_not_broken_by_writing_defaults_out() -> None:
    old = spec({"type": "worker", "template": template()}, **TORCHRUN, **ELASTIC)
    new = spec(
        replicas("worker", 1, restartPolicy="OnFailure", scalingWeight=1),
        torchrunConfig={"enabled": True, "rdzvBackend": "c10d"},
        elastic={"enabled": True, "minReplicas": 2, "maxReplicas": 4, "expectedReplicas": 2},
        runPolicy={"backoffLimit": 3, "cleanUpPolicy": "None"},
        runMode={"debug": {"enabled": False}, "pause": {"enabled": False}},
    )
    admission = admit(new, old)
    assert texts(admission) == []
    assert (admission.changes, admission.spec) == ({}, old)


def test_g19_bounds_the_replicas() -> None:
    path = "spec.replicaSpecs[0].replicas"
    admission = admit(spec(replicas("worker", 2_000_000_000)))
    assert texts(admission) == [
        f"{path}: Invalid value: 2000000000: must be less than or equal to 10000",
    ]
    assert [problem.rule for problem in admission.problems] == ["G19"]
    assert texts(admit(spec(replicas("worker", 10_000)))) == []


def test_g19_bounds_the_replicas_of_all_types_together() -> None:
    admission = admit(spec(replicas("a", 6_000), replicas("b", 4_001)))
    assert texts(admission) == ["spec.replicaSpecs: Invalid value: 10001: a job has at most 10000 replicas"]
    assert texts(admit(spec(replicas("a", 6_000), replicas("b", 4_000)))) == []


def test_g19_bounds_elastic_jobs_by_the_most_replicas() -> None:
    of = elastic(10_001)
    sentence = "Invalid value: 10001: must be less than or equal to 10000"
    assert texts(admit(spec(**of))) == [f"spec.elastic.maxReplicas: {sentence}"]
    assert texts(admit(spec(replicas("a", 6_000), replicas("b", 6_000), **elastic(10)))) == []


def test_g19_seconds_of_any_number_are_taken() -> None:
    assert texts(admit(spec(runPolicy={"activeDeadlineSeconds": 2**63 - 1}))) == []


def test_g19_a_job_that_was_admitted_with_more_is_still_a_job() -> None:
    old = spec(replicas("worker", 20_000))
    new = merged(old, runMode={"pause": {"enabled": True}})
    assert (texts(admit(new, old)), admit(new, old).plan is not None) == ([], True)
