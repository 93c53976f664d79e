"""Laws of job kinds: nothing trips `admit`; canonical forms stay as they are; names fit; replicas spread fully."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachine.kind import Kind
from statemachine.kinds import KINDS
from statemachine.kinds.t9k.elastic import distributed
from statemachine.schema.fields import SpecPart
from statemachine.schema.quantities import quantity
from statemachine.schema.tables import fields, walk
from tests.properties.lives import NAME, written
from tests.unit.kinds.build import UID, state

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.names.kind)

WORDS = st.sampled_from(sorted({
    *(path.rpartition(".")[2].removesuffix("[]") for kind in KINDS for path, _ in walk(kind.model)),
    *(shape.was for kind in KINDS for _, shape in walk(kind.model) if shape.was),
    *("spec", "metadata", "labels", "annotations", "containers", "initContainers", "name", "image", "args"),
    *("command", "env", "ports", "resources", "requests", "limits", "memory", "nvidia.com/gpu", "workingDir"),
    *("volumes", "volumeMounts", "mountPath", "emptyDir", "medium", "sizeLimit"),
}))  # fmt: skip
"""Names of fields that some kind knows, and of those in pods that it looks at."""

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


@every_kind
@given(
    name=st.text(max_size=70), spec=JSON, old=st.none() | JSON.filter(lambda value: isinstance(value, dict))
)
def test_admit_never_raises(kind: Kind, name: str, spec: Any, old: Any) -> None:
    admission = kind.admit(name, spec, old)
    assert (admission.plan is None) is bool(admission.problems)
    assert all(str(problem) for problem in admission.problems)


@every_kind
@given(part=JSON, data=st.data())
def test_no_broken_part_trips_admission(kind: Kind, part: Any, data: st.DataObject) -> None:
    model: type[SpecPart] = kind.model
    good = data.draw(written(kind))
    whole = {**good, data.draw(st.sampled_from(list(fields(model)))): part}
    for new, old in ((whole, None), (whole, good), (good, whole)):
        admission = kind.admit(NAME, new, old)
        assert (admission.plan is None) is bool(admission.problems)


@every_kind
@given(data=st.data())
def test_a_canonical_form_is_its_own(kind: Kind, data: st.DataObject) -> None:
    spec = data.draw(written(kind))
    admission = kind.admit(NAME, spec, uid=UID)
    assert admission.problems == ()
    again = kind.admit(NAME, admission.spec, uid=UID)
    assert (again.spec, again.plan, again.problems) == (admission.spec, admission.plan, ())
    assert [notice for notice in again.notices if notice.reason in ("DeprecatedField", "UnknownField")] == []


@every_kind
@given(data=st.data())
def test_an_update_with_the_same_spec_changes_nothing(kind: Kind, data: st.DataObject) -> None:
    spec = data.draw(written(kind))
    admission = kind.admit(NAME, spec, uid=UID)
    again = kind.admit(NAME, spec, admission.spec, uid=UID)
    assert (again.spec, again.changes, again.frozen, again.notices) == (admission.spec, {}, (), ())
    assert again.plan == admission.plan


@every_kind
@given(
    name=st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63),
    resumed=st.booleans(),
    data=st.data(),
)
def test_names_of_children_are_unique_and_fit(
    kind: Kind, name: str, resumed: bool, data: st.DataObject
) -> None:
    spec = data.draw(written(kind))
    if kind.admit(name, spec).plan is None:
        return
    children = list(kind.children(state(spec, name=name, kind=kind.names.kind, resumed=resumed)))
    named = [(child.kind, child.name) for child in children]
    assert len(set(named)) == len(named)
    assert all(len(child_name) <= 63 for _, child_name in named)
    assert all(child.build()["metadata"]["name"] == child.name for child in children)


@every_kind
@given(data=st.data())
def test_every_replica_has_its_pod(kind: Kind, data: st.DataObject) -> None:
    job = state(data.draw(written(kind)), name=NAME, kind=kind.names.kind)
    made = [child.replica for child in kind.children(job) if child.kind == "Pod"]
    assert sorted(made) == sorted(job.running_plan.replicas())


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
    decimal = quantity(text)
    assert decimal is None or decimal.is_finite()
