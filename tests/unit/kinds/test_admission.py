"""What `admit` makes of manifests: aliases, unknown fields, broken values, updates."""

import dataclasses
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import Field, create_model

from statemachine.errors import Problem
from statemachine.ids import CLUSTER_DOMAIN, JobUid
from statemachine.kinds import KINDS
from statemachine.kinds.common.kind import ModelKind
from statemachine.rulebook import Draft, Layer, Rule
from statemachine.schema.fields import Mutable
from statemachine.state import JobState
from tests.unit.kinds.build import (
    ELASTIC,
    TORCHRUN,
    admit,
    container,
    merged,
    notices,
    replicas,
    spec,
    template,
    texts,
)

WORKER = replicas()

# ---- canonical form ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["torchrunConfig", "elastic", "runMode.debug", "runMode.pause"])
def test_enable_becomes_enabled_with_a_warning(path: str) -> None:
    def tree(name: str) -> dict[str, Any]:
        manifest: dict[str, Any] = {name: False}
        for step in reversed(path.split(".")):
            manifest = {step: manifest}
        return manifest

    admission = admit(spec(**tree("enable")))
    assert admission.spec == spec(**tree("enabled"))
    message = f"spec.{path}.enable is deprecated, use spec.{path}.enabled"
    assert notices(admission) == [("DeprecatedField", message)]


def test_min_nodes_is_dropped_with_a_warning() -> None:
    admission = admit(spec(torchrunConfig={"enabled": True, "minNodes": 2}))
    assert admission.spec["torchrunConfig"] == {"enabled": True}
    message = "spec.torchrunConfig.minNodes is deprecated, use spec.elastic.minReplicas"
    assert notices(admission) == [("DeprecatedField", message)]


def test_unknown_fields_are_dropped_and_the_nearest_known_one_is_named() -> None:
    admission = admit({**spec(), "replicaSpec": [], "replicaSpecs": [{**WORKER, "restartpolicy": "Never"}]})
    assert admission.spec == spec()
    assert notices(admission) == [
        (
            "UnknownField",
            "spec.replicaSpecs[0].restartpolicy is no known field and is ignored; "
            'did you mean "restartPolicy"?',
        ),
        ("UnknownField", 'spec.replicaSpec is no known field and is ignored; did you mean "replicaSpecs"?'),
    ]


def test_templates_and_tensorboard_keep_what_nobody_knows() -> None:
    item = {"type": "worker", "template": {**template(hostPID=True), "x": 1}}
    whole = spec(item, tensorboardSpec={"image": "tb", "tolerations": []})
    admission = admit(whole)
    assert (admission.spec, texts(admission)) == (whole, [])
    assert [reason for reason, _ in notices(admission)] == ["UnknownPodField"]


def test_a_null_is_no_value() -> None:
    nothing = spec(runMode=None, elastic={"enabled": None}, replicaSpecs=[{**WORKER, "replicas": None}])
    admission = admit(nothing)
    assert texts(admission) == []
    assert admission.plan is not None
    assert admission.plan.scale == 1


def test_the_order_of_fields_does_not_matter() -> None:
    backwards = dict(reversed(spec(runPolicy={"backoffLimit": 1}, **TORCHRUN).items()))
    assert list(admit(backwards).spec) == ["replicaSpecs", "torchrunConfig", "runPolicy"]


# ---- broken values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (None, "spec: Required value"),
        ([], 'spec: Invalid value: "array": must be of type object'),
        ("x", 'spec: Invalid value: "x": must be of type object'),
        ({}, "spec.replicaSpecs: Required value"),
        ({"replicaSpecs": []}, "spec.replicaSpecs: Too few: 0: must have at least 1 items"),
        ({"replicaSpecs": {}}, 'spec.replicaSpecs: Invalid value: "object": must be of type array'),
        ({"replicaSpecs": [None]}, "spec.replicaSpecs[0]: Required value"),
        ({"replicaSpecs": [{"type": "a"}]}, "spec.replicaSpecs[0].template: Required value"),
        (spec(elastic=[]), 'spec.elastic: Invalid value: "array": must be of type object'),
        (
            spec(elastic={"enabled": "yes"}),
            'spec.elastic.enabled: Invalid value: "yes": must be of type boolean',
        ),
        (spec(elastic={"enable": 1}), "spec.elastic.enable: Invalid value: 1: must be of type boolean"),
        (
            spec(runPolicy={"backoffLimit": 2**31}),
            "spec.runPolicy.backoffLimit: Invalid value: 2147483648: must be less than or equal to 2147483647",
        ),
        (
            spec(runPolicy={"backoffLimit": "3"}),
            'spec.runPolicy.backoffLimit: Invalid value: "3": must be of type integer',
        ),
    ],
)
def test_broken_values_are_named_with_their_paths(broken: Any, text: str) -> None:
    assert texts(admit(broken)) == [text]


def test_more_than_sixteen_types_are_too_many() -> None:
    admission = admit(spec(*(replicas(f"t{index}") for index in range(17))))
    assert texts(admission) == ["spec.replicaSpecs: Too many: 17: must have at most 16 items"]


def test_all_problems_come_at_once_in_field_order() -> None:
    item = replicas("worker", 0, {"name": "a"})
    admission = admit(spec(item, runPolicy={"backoffLimit": -1}, **ELASTIC), name="A")
    assert [problem.rule for problem in admission.problems] == ["G1", "PT1", "G5", "G11"]
    assert admission.plan is None


def test_a_loop_in_yaml_is_a_problem() -> None:
    loop: dict[str, Any] = spec()
    loop["replicaSpecs"][0]["template"]["spec"]["self"] = loop["replicaSpecs"][0]["template"]
    (text,) = texts(admit(loop))
    assert text == "spec.replicaSpecs[0].template.spec.self: Invalid value: contains itself"


def test_a_spec_that_holds_itself_is_a_problem() -> None:
    loop: dict[str, Any] = {}
    loop["replicaSpecs"] = loop
    (text,) = texts(admit(loop))
    assert text.endswith("Invalid value: contains itself")


def test_deep_nesting_is_a_problem() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = [deep]
    (text,) = texts(admit({**spec(), "runMode": deep}))
    assert text.endswith("Invalid value: nested more than 64 levels deep")


def test_a_yaml_bomb_is_a_problem() -> None:
    bomb: list[Any] = ["x"]
    for _ in range(30):
        bomb = [bomb, bomb]
    assert texts(admit(spec(bomb=bomb))) == ["spec: Too long: holds more than 200000 values"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (date(2024, 1, 1), "a date is no JSON value; put it in quotes to make it a string"),
        (float("nan"), "must be a finite number"),
        (2**63, "must be an integer of 64 bits"),
        ({1: "a"}, "field name 1 must be a string"),
    ],
)
def test_what_json_cannot_say_is_a_problem(value: object, text: str) -> None:
    assert texts(admit(spec(tensorboardSpec={"image": value}))) == [
        f"spec.tensorboardSpec.image: Invalid value: {text}"
    ]


# ---- updates ----------------------------------------------------------------------------------------------------


def test_mutable_values_are_taken_over_and_named() -> None:
    old = spec(**TORCHRUN, **ELASTIC, runPolicy={"backoffLimit": 3, "activeDeadlineSeconds": 60})
    new = merged(
        old,
        elastic={**ELASTIC["elastic"], "expectedReplicas": 3},
        runMode={"pause": {"enable": True}},
        runPolicy={"backoffLimit": 5},
        tensorboardSpec={"image": "tb"},
    )
    admission = admit(new, old)
    assert admission.changes == {
        "spec.elastic.expectedReplicas": 3,
        "spec.runPolicy.activeDeadlineSeconds": None,
        "spec.runPolicy.backoffLimit": 5,
        "spec.runMode.pause.enabled": True,
        "spec.tensorboardSpec": {"image": "tb"},
    }
    assert admission.spec == merged(new, runMode={"pause": {"enabled": True}})
    assert admission.plan is not None
    assert (
        admission.plan.scale,
        admission.plan.paused,
        [child.name for child in admission.plan.children],
    ) == (
        3,
        True,
        ["mnist-7ac1b"],
    )


def test_parts_of_the_tensorboard_are_named() -> None:
    old = spec(tensorboardSpec={"image": "a", "resources": {"limits": {"example.com/gpu": 1}}})
    new = spec(tensorboardSpec={"image": "a", "resources": {"limits": {"example.com/gpu": 2}}})
    admission = admit(new, old)
    assert admission.changes == {"spec.tensorboardSpec.resources.limits[example.com/gpu]": 2}
    assert admission.spec == new
    assert admit(spec(), new).changes == {"spec.tensorboardSpec": None}


def test_edits_inside_templates_are_no_problem_but_have_no_effect() -> None:
    old = spec(replicas(), replicas("ps", 1, container(env=[{"name": "A", "value": "1"}])))
    new = spec(
        replicas("worker", 1, container(image="other")),
        replicas("ps", 1, container(env=[{"name": "A", "value": "2"}, {"name": "B"}])),
    )
    admission = admit(new, old)
    assert texts(admission) == []
    assert admission.frozen == (
        "spec.replicaSpecs[0].template.spec.containers[0].image",
        "spec.replicaSpecs[1].template.spec.containers[0].env",
    )
    assert (admission.spec, admission.changes) == (old, {})


@pytest.mark.parametrize(
    ("old", "new"),
    [({"priority": 1}, {"priority": True}), ({"priority": 1}, {}), ({}, {"priority": 1})],
    ids=["other type", "taken away", "added"],
)
def test_an_edit_inside_a_template_is_one_whatever_it_does(old: dict[str, Any], new: dict[str, Any]) -> None:
    was, now = ({"type": "worker", "template": template(container(), **manifest)} for manifest in (old, new))
    path = "spec.replicaSpecs[0].template.spec.priority"
    admission = admit(spec(now), spec(was))
    assert (admission.frozen, admission.changes) == ((path,), {})


def test_a_field_is_fixed_by_its_whole_name() -> None:
    kind = KINDS[0]
    assert kind.fixed_when_finished({"spec.runPolicy.backoffLimit": 1}) == ("spec.runPolicy",)
    assert kind.fixed_when_finished({"spec.runPolicy": None}) == ("spec.runPolicy",)
    assert kind.fixed_when_finished({"spec.runPolicyOfAnother": 1}) == ()


def test_a_refused_update_changes_nothing() -> None:
    old = spec()
    admission = admit(spec(replicas("worker", 2), runMode={"pause": {"enabled": True}}), old)
    assert admission.plan is None
    assert (admission.spec, admission.changes) == (old, {})


def test_warnings_are_given_once() -> None:
    old = spec(replicas("worker", 1, container(command=["python"])), torchrunConfig={"enable": True})
    assert [reason for reason, _ in notices(admit(old))] == ["DeprecatedField", "CommandIgnored"]
    assert notices(admit(merged(old, runMode={"pause": {"enabled": True}}), old)) == []


def test_an_update_of_a_job_that_was_never_valid_is_refused() -> None:
    assert texts(admit(spec(), {"replicaSpecs": []})) != []


def test_a_finished_job_keeps_its_run_policy() -> None:
    changes = {"spec.runPolicy.backoffLimit": 4, "spec.runMode.pause.enabled": True}
    assert KINDS[0].fixed_when_finished(changes) == ("spec.runPolicy",)
    assert KINDS[0].fixed_when_finished({"spec.tensorboardSpec": None}) == ()


def test_a_number_too_long_to_print_is_a_problem() -> None:
    admission = admit(spec(runPolicy={"backoffLimit": 10**5000}))
    assert texts(admission) == ["spec.runPolicy.backoffLimit: Invalid value: must be an integer of 64 bits"]


# ---- a release that brings a rule ---------------------------------------------------------------------------------


def refuses_images(draft: Draft) -> Iterator[Problem]:
    """A rule of a later release: no container may have this image."""
    for index, value in enumerate(draft.spec["replicaSpecs"]):
        image = value["template"]["spec"]["containers"][0]["image"]
        if image == "old":
            path = f"spec.replicaSpecs[{index}].template.spec.containers[0].image"
            yield Problem("G99", path, f'Invalid value: "{image}"')


def later(image: str, **more: Any) -> tuple[ModelKind[Any], dict[str, Any]]:
    """A kind with one more rule, and a spec of a job whose image is this."""
    [kind] = [
        kind for kind in KINDS if kind.names.kind == "PyTorchTrainingJob" and isinstance(kind, ModelKind)
    ]
    rule = Rule("G99", Layer.CONTROLLER, "The image is not old.", "Invalid value", refuses_images)
    strict: ModelKind[Any] = dataclasses.replace(kind, rules=(*kind.rules, rule))
    return strict, spec(replicas(template=template(container(image=image))), **more)


def test_a_job_that_a_later_rule_would_refuse_can_be_paused() -> None:
    strict, before = later("old")
    _, after = later("old", runMode={"pause": {"enabled": True}})
    assert [problem.rule for problem in strict.admit("train", before).problems] == ["G99"]
    admission = strict.admit("train", after, before)
    assert (admission.problems, admission.changes) == ((), {"spec.runMode.pause.enabled": True})
    assert admission.plan is not None
    assert admission.plan.paused


def test_what_an_update_brings_is_held_to_every_rule() -> None:
    strict, before = later("new")
    _, after = later("old", runMode={"pause": {"enabled": True}})
    admission = strict.admit("train", after, before)
    assert ([problem.rule for problem in admission.problems], admission.plan) == (["G99"], None)


# ---- a release that tightens a model ------------------------------------------------------------------------------


def tightened(**fields: Any) -> ModelKind[Any]:
    """A PyTorchTrainingJob whose run policy asks for more than it did."""
    [kind] = [
        kind for kind in KINDS if kind.names.kind == "PyTorchTrainingJob" and isinstance(kind, ModelKind)
    ]
    base = kind.model.model_fields["run_policy"].annotation
    stricter: Any = create_model("Stricter", __base__=base, **fields)
    held: Any = (Annotated[stricter, Mutable(until_finished=True)], stricter.model_construct())
    model = create_model("Spec", __base__=kind.model, run_policy=held)
    return dataclasses.replace(kind, model=model)


SMALL = tightened(backoff_limit=(Annotated[int, Field(ge=0, le=5)], 3))
NEEDED = tightened(reason=(str, ...))


@pytest.mark.parametrize("strict", [SMALL, NEEDED], ids=["bound", "required"])
def test_a_job_that_a_tightened_model_would_refuse_lives_on(strict: ModelKind[Any]) -> None:
    before = spec(**TORCHRUN, **ELASTIC, runPolicy={"backoffLimit": 10})
    assert strict.admit("train", before).plan is None
    after = merged(
        before,
        runMode={"pause": {"enabled": True}},
        elastic={**ELASTIC["elastic"], "expectedReplicas": 3},
    )
    admission = strict.admit("train", after, before)
    assert admission.problems == ()
    assert admission.changes == {"spec.runMode.pause.enabled": True, "spec.elastic.expectedReplicas": 3}
    assert admission.plan is not None
    assert (admission.plan.paused, admission.plan.scale, admission.plan.backoff_limit) == (True, 3, 10)


@pytest.mark.parametrize("strict", [SMALL, NEEDED], ids=["bound", "required"])
def test_its_children_are_as_they_were(strict: ModelKind[Any]) -> None:
    before = spec(runPolicy={"backoffLimit": 10})
    [kind] = [kind for kind in KINDS if kind.names == strict.names]
    admission = kind.admit("train", before, uid=JobUid("u1"))
    named = {CLUSTER_DOMAIN: "cluster.local"}
    job = JobState(
        JobUid("u1"), name="train", namespace="a", spec=admission.spec, plan=admission.plan, settings=named
    )
    made = [child.build() for child in strict.children(job)]
    assert made == [child.build() for child in kind.children(job)] != []


def test_what_an_update_brings_is_held_to_the_tightened_model() -> None:
    before, after = spec(runPolicy={"backoffLimit": 2}), spec(runPolicy={"backoffLimit": 9})
    admission = SMALL.admit("train", after, before)
    assert admission.plan is None
    assert [problem.path for problem in admission.problems] == ["spec.runPolicy.backoffLimit"]
    assert SMALL.admit("train", spec(runPolicy={"backoffLimit": 8}), after).plan is None
    assert SMALL.admit("train", before, after).changes == {"spec.runPolicy.backoffLimit": 2}


@pytest.mark.parametrize(
    "old", [{}, {"replicaSpecs": "x"}, {"replicaSpecs": [3]}, {"replicaSpecs": {"a": 1}}]
)
def test_an_update_of_what_was_never_a_spec_is_refused(old: dict[str, Any]) -> None:
    assert texts(admit(spec(), old)) != []
