"""Laws of job kinds: nothing trips `admit`; canonical forms stay as they are; names fit; replicas spread fully."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.kinds.common.quantities import quantity
from statemachine.kinds.common.shape import fields
from statemachine.kinds.pytorchtrainingjob.spec import PyTorchTrainingSpec
from statemachine.kinds.t9k.elastic import distributed
from tests.unit.kinds.build import admit, pods, state

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)

WORDS = st.sampled_from([
    "replicaSpecs", "type", "replicas", "restartPolicy", "template", "spec", "metadata", "containers", "name",
    "image", "args", "command", "env", "resources", "requests", "limits", "memory", "volumes", "emptyDir", "medium",
    "sizeLimit", "torchrunConfig", "enabled", "enable", "minNodes", "procPerNode", "extraOptions", "rdzvBackend",
    "elastic", "minReplicas", "maxReplicas", "expectedReplicas", "runPolicy", "backoffLimit", "runMode", "debug",
    "pause", "resumeSpecs", "scheduler", "t9kScheduler", "queue", "priority", "tensorboardSpec", "logDir", "pvc",
    "subpath", "subPath", "trainingLogFilesets", "scalingWeight", "labels", "annotations", "initContainers", "ports",
])  # fmt: skip

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 20)
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["worker", "4Gi", "Memory", "c10d", "OnFailure", "t9k://pvc/a"])
)


def _inside(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), children, max_size=5)


JSON = st.recursive(SCALARS, _inside, max_leaves=40)

TYPES = st.lists(
    st.sampled_from(["worker", "ps", "master", "node", "a"]), min_size=1, max_size=4, unique=True
)


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """Specs that are mostly right, in every spelling."""
    items = [_item(draw, type_) for type_ in draw(TYPES)]
    items[0]["replicas"] = draw(st.integers(1, 5))
    spec: dict[str, Any] = {"replicaSpecs": items}
    switch = st.sampled_from(["enabled", "enable"])
    if draw(st.booleans()):
        spec["torchrunConfig"] = {draw(switch): True, "procPerNode": draw(st.sampled_from([2, "gpu"]))}
        low = len(items) + sum(each["replicas"] for each in items)
        ends = {"minReplicas": low, "maxReplicas": low + 5, "expectedReplicas": low + draw(st.integers(0, 5))}
        spec["elastic"] = {draw(switch): draw(st.booleans()), **ends}
    if draw(st.booleans()):
        spec["runMode"] = {"pause": {draw(switch): draw(st.booleans())}, "debug": {draw(switch): False}}
    if draw(st.booleans()):
        spec["scheduler"] = {"t9kScheduler": {"priority": draw(st.integers(0, 100))}}
    return spec


def _item(draw: st.DrawFn, type_: str) -> dict[str, Any]:
    container = {"name": draw(st.sampled_from(["python", "pytorch", "x"])), "image": "i", "args": ["a.py"]}
    item = {
        "type": type_,
        "replicas": draw(st.integers(0, 5)),
        "template": {"spec": {"containers": [container]}},
    }
    return item | draw(st.fixed_dictionaries({}, optional={"scalingWeight": st.integers(1, 4)}))


@every_kind
@given(
    name=st.text(max_size=70), spec=JSON, old=st.none() | JSON.filter(lambda value: isinstance(value, dict))
)
def test_admit_never_raises(kind: Kind, name: str, spec: Any, old: Any) -> None:
    found = kind.admit(name, spec, old)
    assert (found.plan is None) is bool(found.problems)
    assert all(str(problem) for problem in found.problems)


@every_kind
@given(
    spec=st.dictionaries(WORDS, JSON, max_size=6), broken=st.sampled_from(list(fields(PyTorchTrainingSpec)))
)
def test_admit_never_raises_over_a_broken_part(kind: Kind, spec: dict[str, Any], broken: str) -> None:
    part = spec.get("spec", spec)
    good = {
        "replicaSpecs": [
            {"type": "worker", "template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}
        ]
    }
    found = kind.admit("job", {**good, broken: part})
    assert (found.plan is None) is bool(found.problems)
    kind.admit("job", {**good, broken: part}, good)
    kind.admit("job", good, {**good, broken: part})


@given(specs())
def test_a_canonical_form_is_its_own(spec: dict[str, Any]) -> None:
    found = admit(spec)
    again = admit(found.spec)
    assert (again.spec, again.plan, again.problems) == (found.spec, found.plan, found.problems)
    assert [notice for notice in again.notices if notice.reason in ("DeprecatedField", "UnknownField")] == []


@given(specs())
def test_an_update_with_the_same_spec_changes_nothing(spec: dict[str, Any]) -> None:
    found = admit(spec)
    again = admit(spec, found.spec)
    assert (again.spec, again.changes, again.frozen, again.notices) == (found.spec, {}, (), ())
    assert again.plan == found.plan


@given(specs())
def test_mostly_right_specs_are_right(spec: dict[str, Any]) -> None:
    assert admit(spec).problems == ()


@given(specs(), st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63))
def test_names_of_children_are_unique_and_fit(spec: dict[str, Any], name: str) -> None:
    if admit(spec, name=name).plan is None:
        return
    names = [manifest["metadata"]["name"] for manifest in pods(state(spec, name=name)).values()]
    assert len(set(names)) == len(names)
    assert all(len(each) <= 63 for each in names)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6), st.integers(0, 40))
def test_elastic_replicas_are_spread_in_full(shares: list[tuple[int, int]], more: int) -> None:
    weighted = [weight for weight, _ in shares if weight]
    if not weighted:
        return
    expected = sum(number for weight, number in shares if not weight) + len(weighted) + more
    scales = distributed(expected, shares)
    assert sum(scales) == expected
    for scale, (weight, number) in zip(scales, shares, strict=True):
        assert scale >= 1 if weight else scale == number


@given(st.integers(-(10**12), 10**12), st.sampled_from(["", "m", "k", "Mi", "E", "e3"]))
def test_quantities_keep_the_order_of_numbers(number: int, suffix: str) -> None:
    one, next_ = quantity(f"{number}{suffix}"), quantity(f"{number + 1}{suffix}")
    assert one is not None
    assert next_ is not None
    assert one < next_


@given(st.text())
def test_any_text_may_be_asked_for_its_quantity(text: str) -> None:
    found = quantity(text)
    assert found is None or found.is_finite()
