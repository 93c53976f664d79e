"""Rules GJ1-GJ8 of GenericJob, and the shared ones where this kind has its own paths."""

from typing import Any

import pytest

from tests.unit.kinds.build import Spec, merged, notices, of_rule, texts
from tests.unit.kinds.generic import DEBUG, HTTP, admit, container, replicas, restarting, ruled, spec

CONTAINERS = "spec.replicaSpecs[0].template.spec.containers"

both_lists = pytest.mark.parametrize("rules", ["successRules", "failureRules"])


def with_words(*words: str, **more: Any) -> Spec:
    """A job whose workers have these arguments."""
    return spec(replicas("worker", 2, container(args=list(words))), **more)


def test_a_good_spec_has_nothing_wrong_and_nothing_suspicious() -> None:
    admission = admit(ruled(replicas("ps", 1), replicas(), success=[{"ps": [0]}], **HTTP))
    assert (texts(admission), notices(admission)) == ([], [])


# ---- GJ1-GJ3 -----------------------------------------------------------------------------------------------------


@both_lists
def test_gj1_refuses_rules_about_types_that_there_are_not(rules: str) -> None:
    admission = admit(spec(**{rules: [{"worker": [0]}, {"ps": [0], "worker": [1], "a": [5]}]}))
    assert texts(admission) == [
        f'spec.{rules}[1]: unknown replica type "ps"',
        f'spec.{rules}[1]: unknown replica type "a"',
    ]
    assert {problem.rule for problem in admission.problems} == {"GJ1"}


@both_lists
@pytest.mark.parametrize(
    ("ranks", "wrong"),
    [
        ([0, 1], []),
        ([2], [2]),
        ([-1], [-1]),
        ([0, 0], [0]),
        ([1, 7, 1], [7, 1]),
        (["1", 1], [1]),
        (["2"], [2]),
    ],
)
def test_gj2_ranks_are_those_of_replicas_and_are_there_once(
    rules: str, ranks: list[Any], wrong: list[int]
) -> None:
    admission = admit(spec(**{rules: [{"worker": ranks}]}))
    assert texts(admission) == [f"spec.{rules}[0].worker: rank {rank} is out of range" for rank in wrong]
    assert {problem.rule for problem in admission.problems} <= {"GJ2"}


def test_gj2_counts_one_replica_where_no_number_is_given() -> None:
    item = replicas()
    del item["replicas"]
    assert texts(admit(spec(item, successRules=[{"worker": [0]}]))) == []
    assert [problem.rule for problem in admit(spec(item, successRules=[{"worker": [1]}])).problems] == ["GJ2"]


@pytest.mark.parametrize("rank", ["x", "", "-1", "1.0", "²", None, True, 1.5])
def test_a_rank_is_a_number_or_a_decimal_string(rank: Any) -> None:
    admission = admit(spec(successRules=[{"worker": [rank]}]))
    assert [problem.path for problem in admission.problems] == ["spec.successRules[0].worker[0]"]


@both_lists
def test_gj3_every_rule_names_a_replica(rules: str) -> None:
    admission = admit(spec(**{rules: [{}, {"worker": [0]}, {"worker": []}]}))
    assert texts(admission) == [f"spec.{rules}[{index}]: must name at least one replica" for index in (0, 2)]
    assert {problem.rule for problem in admission.problems} == {"GJ3"}


def test_empty_lists_of_rules_are_as_good_as_none() -> None:
    assert texts(admit(spec(successRules=[], failureRules=[]))) == []


# ---- GJ4-GJ5 -----------------------------------------------------------------------------------------------------


def test_gj4_there_has_to_be_a_replica() -> None:
    admission = admit(spec(replicas("a", 0), replicas("b", 0)))
    assert texts(admission) == ["spec.replicaSpecs: at least one replica is required"]
    assert [problem.rule for problem in admission.problems] == ["GJ4"]
    assert texts(admit(spec(replicas("a", 0), replicas("b", 1)))) == []


@pytest.mark.parametrize(
    ("ports", "problems"),
    [
        ([], []),
        ([{"port": 80}], []),
        ([{"name": "a", "port": 1}, {"name": "b", "port": 65535}], []),
        ([{"port": 0}], ["[0].port: Invalid value: 0: must be between 1 and 65535"]),
        ([{"port": 65536}], ["[0].port: Invalid value: 65536: must be between 1 and 65535"]),
        (
            [{"name": "a", "port": 1}, {"name": "a", "port": 2}],
            ['[1].name: Duplicate value: "a"'],
        ),
        (
            [{"name": "a", "port": 1}, {"port": 2}],
            ["[1].name: Required value: there are several ports"],
        ),
    ],
)
def test_gj5_ports_are_numbers_with_names_of_their_own(ports: list[Spec], problems: list[str]) -> None:
    admission = admit(spec(service={"ports": ports}))
    assert texts(admission) == [f"spec.service.ports{problem}" for problem in problems]
    assert {problem.rule for problem in admission.problems} <= {"GJ5"}


# ---- GJ6 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word",
    [
        "$(type)/$(rank)",
        "$(replicas[worker])",
        "$(service.worker[1].host):$(service.port[http])",
        "$(HOME) $(service) $(port[x]) $(replicas) $$(service.ps[0].host) $(service.worker[0].host",
    ],
)
def test_gj6_takes_what_can_be_resolved_and_what_is_not_its_own(word: str) -> None:
    assert texts(admit(with_words(word, **HTTP))) == []


@pytest.mark.parametrize(
    "name",
    [
        "replicas[ps]",
        "replicas[]",
        "service.ps[0].host",
        "service.worker[2].host",
        "service.worker[-1].host",
        "service.worker[0]",
        "service.worker[0].port",
        "service.port[grpc]",
        "service.port[]",
    ],
)
def test_gj6_refuses_what_stands_for_nothing(name: str) -> None:
    admission = admit(with_words("--x", f"a$({name})b", **HTTP))
    assert texts(admission) == [f"{CONTAINERS}[0].args[1]: variable $({name}) cannot be resolved"]
    assert [problem.rule for problem in admission.problems] == ["GJ6"]


def test_gj6_a_port_without_a_name_is_not_known_by_one() -> None:
    admission = admit(with_words("$(service.port[])", service={"ports": [{"port": 80}]}))
    assert [problem.rule for problem in admission.problems] == ["GJ6"]


def test_gj6_hosts_and_ports_are_those_of_services() -> None:
    admission = admit(with_words("$(service.worker[0].host)", "$(service.port[http])"))
    assert [problem.path for problem in admission.problems] == [
        f"{CONTAINERS}[0].args[{index}]" for index in (0, 1)
    ]
    assert texts(admit(with_words("$(service.worker[0].host)", service={}))) == []


def test_gj6_looks_at_commands_arguments_and_values_of_all_containers() -> None:
    bad = "$(replicas[ps])"
    item = replicas(
        "worker",
        1,
        container(command=[bad], env=[{"name": "A", "value": bad}]),
        container(name="b", args=[bad]),
    )
    item["template"]["spec"]["initContainers"] = [{"name": "i", "image": "i", "command": [bad]}]
    item["template"]["spec"]["containers"][0]["workingDir"] = bad
    pod = "spec.replicaSpecs[0].template.spec"
    assert sorted(problem.path for problem in admit(spec(item)).problems) == [
        f"{pod}.containers[0].command[0]",
        f"{pod}.containers[0].env[0].value",
        f"{pod}.containers[1].args[0]",
        f"{pod}.initContainers[0].command[0]",
    ]


@pytest.mark.parametrize(("mode", "field"), [("debug", "replicaSpecs"), ("pause", "resumeSpecs")])
def test_gj6_looks_at_what_run_modes_start(mode: str, field: str) -> None:
    entry = {"type": "worker", "command": ["$(type)", "$(replicas[ps])"]}
    admission = admit(spec(runMode={mode: {field: [entry]}}))
    assert [problem.path for problem in admission.problems] == [f"spec.runMode.{mode}.{field}[0].command[1]"]


# ---- GJ7-GJ8 -----------------------------------------------------------------------------------------------------


def test_gj7_exit_codes_are_no_policy_here() -> None:
    admission = admit(spec(restarting("worker", 1, "ExitCode", 1)))
    path = "spec.replicaSpecs[0].restartPolicy.policy"
    supported = 'supported values: "Always", "OnFailure", "Never"'
    assert texts(admission) == [f'{path}: Unsupported value: "ExitCode": {supported}']
    assert [problem.rule for problem in admission.problems] == ["GJ7"]


@pytest.mark.parametrize(
    ("policy", "limit", "warned"), [("Always", 1, True), ("Always", 0, False), ("OnFailure", 1, False)]
)
def test_gj8_warns_of_restarts_after_success(policy: str, limit: int, warned: bool) -> None:
    admission = admit(spec(restarting("worker", 1, policy, limit)))
    assert texts(admission) == []
    assert [reason for reason, _ in notices(admission)] == (["AlwaysRestart"] if warned else [])


# ---- shared rules ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "longest"), [(1, 54), (10, 54), (11, 53), (10_000, 51)])
def test_g2_leaves_room_for_the_digits_of_the_index(number: int, longest: int) -> None:
    assert texts(admit(spec(replicas("worker", number)), name="a" * longest)) == []
    admission = admit(spec(replicas("worker", number)), name="a" * (longest + 1))
    assert [problem.rule for problem in admission.problems] == ["G2"]


def test_g2_looks_at_the_longest_of_all_types() -> None:
    of = spec(replicas("a", 101), replicas("worker", 1))
    assert texts(admit(of, name="a" * 54)) == []
    assert [problem.rule for problem in admit(of, name="a" * 55).problems] == ["G2"]


def test_g3_g4_types_are_labels_and_there_once() -> None:
    assert [problem.rule for problem in admit(spec(replicas("W"))).problems] == ["G3"]
    assert [problem.rule for problem in admit(spec(replicas("a"), replicas("a"))).problems] == ["G4"]


def test_g5_names_the_template() -> None:
    admission = admit(spec(replicas("worker", 1, container(image=""))))
    assert texts(admission) == [f"{CONTAINERS}[0].image: Required value"]


@pytest.mark.parametrize("path", ["debug.replicaSpecs", "pause.resumeSpecs"])
def test_g7_knows_the_types_of_the_job(path: str) -> None:
    mode, _, field = path.partition(".")

    def asked(*types: str) -> list[str]:
        return texts(admit(spec(runMode={mode: {field: [{"type": type_} for type_ in types]}})))

    assert asked("worker") == []
    text = f"spec.runMode.{path}: unknown or repeated replica type"
    assert asked("worker", "worker") == [text]
    assert asked("ps") == ([] if mode == "debug" else [text])


def test_g8_debug_stays_as_it_was() -> None:
    assert [problem.rule for problem in admit(spec(**DEBUG), spec()).problems] == ["G8"]


def test_g12_the_older_spelling_of_a_switch_is_taken() -> None:
    admission = admit(spec(runMode={"pause": {"enable": True}}))
    assert notices(admission) == [
        ("DeprecatedField", "spec.runMode.pause.enable is deprecated, use spec.runMode.pause.enabled")
    ]
    assert admission.plan is not None
    assert admission.plan.paused


def test_g16_no_variable_is_the_controller_s() -> None:
    item = replicas("worker", 1, container(env=[{"name": "RANK", "value": "7"}]))
    assert notices(admit(spec(item))) == []


OLD = ruled(
    restarting("worker", 2, "OnFailure", 1), success=[{"worker": [0]}], failure=[{"worker": [1]}], **HTTP
)


@pytest.mark.parametrize(
    ("new", "path"),
    [
        ({"replicaSpecs": [restarting("worker", 3, "OnFailure", 1)]}, "replicaSpecs[0].replicas"),
        ({"replicaSpecs": [restarting("node", 2, "OnFailure", 1)]}, "replicaSpecs[0].type"),
        ({"replicaSpecs": [restarting("worker", 2, "Never", 1)]}, "replicaSpecs[0].restartPolicy.policy"),
        ({"replicaSpecs": [restarting("worker", 2, "OnFailure", 2)]}, "replicaSpecs[0].restartPolicy.limit"),
        ({"replicaSpecs": [*OLD["replicaSpecs"], replicas("ps")]}, "replicaSpecs"),
        ({"successRules": [{"worker": [0, 1]}]}, "successRules"),
        ({"failureRules": []}, "failureRules"),
        ({"service": {"ports": [{"name": "http", "port": 2223}]}}, "service"),
        ({"scheduler": {"t9kScheduler": {}}}, "scheduler"),
    ],
)
def test_g17_keeps_what_cannot_change(new: Spec, path: str) -> None:
    admission = admit(merged(OLD, **new), OLD)
    said = [str(problem) for problem in of_rule(admission, "G17")]
    assert said == [f"spec.{path} is immutable"]
    assert admission.spec == admit(OLD).spec


def test_g17_is_not_broken_by_writing_defaults_out() -> None:
    old = spec(replicas("worker", 1), successRules=[{"worker": ["0"]}])
    new = spec(
        restarting("worker", 1, "OnFailure", 0),
        successRules=[{"worker": [0]}],
        cleanUpPolicy="None",
        runMode={"debug": {"enabled": False}, "pause": {"enabled": False}},
    )
    admission = admit(new, old)
    assert (texts(admission), admission.changes) == ([], {})


def test_the_clean_up_policy_may_change() -> None:
    admission = admit(merged(OLD, cleanUpPolicy="All"), OLD)
    assert (texts(admission), admission.changes) == ([], {"spec.cleanUpPolicy": "All"})


def test_g19_bounds_the_replicas() -> None:
    admission = admit(spec(replicas("a", 6_000), replicas("b", 4_001)))
    assert texts(admission) == ["spec.replicaSpecs: Invalid value: 10001: a job has at most 10000 replicas"]
    assert [problem.rule for problem in admit(spec(replicas("a", 10_001))).problems] == ["G19"]
