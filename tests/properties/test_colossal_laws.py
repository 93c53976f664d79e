"""Laws of what ColossalAIJobs are made into: names fit, nothing is missing, nothing trips admission."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from statemachine.ids import replica_name
from statemachine.kinds.colossalaijob import KIND
from statemachine.kinds.colossalaijob.spec import ColossalAISpec
from statemachine.kinds.common.shape import fields
from tests.properties.of_kinds.colossalaijob import NAMES, specs
from tests.properties.test_kinds import JSON
from tests.unit.kinds.build import Spec, env
from tests.unit.kinds.colossal import old_spec, spec, state

COLOSSAL = KIND.names.kind


@given(specs(), NAMES, st.booleans())
def test_names_are_unique_and_fit(of: Spec, name: str, resumed: bool) -> None:
    job = state(of, name=name, kind=COLOSSAL, resumed=resumed)
    named = [(child.kind, child.name) for child in KIND.children(job)]
    assert len(set(named)) == len(named)
    assert all(len(each) <= 63 for _, each in named)


@given(specs())
def test_every_pod_has_its_whole_environment_and_the_user_s(of: Spec) -> None:
    job = state(of, name="gpt", kind=COLOSSAL)
    for child in KIND.children(job):
        if child.kind == "Pod":
            built = child.build()
            pod = next(each for each in built["spec"]["containers"] if each["name"] in ("launcher", "worker"))
            found = env({"spec": {"containers": [pod]}})
            slot = job.spec["launcher"] if child.name == "gpt-launcher" else None
            own = (slot or job.spec["worker"]["template"]["spec"]["containers"][0]).get("env") or []
            assert found["PYTHONUNBUFFERED"] in ("1", "v")
            assert {each["name"]: each["value"] for each in own}.items() <= found.items()
            assert len(found) == len(pod["env"])


@given(specs())
def test_the_launcher_finds_every_worker_and_its_keys(of: Spec) -> None:
    job = state(of, name="gpt", kind=COLOSSAL)
    built = {(child.kind, child.name): child.build() for child in KIND.children(job)}
    hosts = built["ConfigMap", "gpt-hostfile"]["data"]["hostfile"].splitlines()
    assert hosts == [name for kind, name in built if kind == "Service"]
    assert [f"gpt-{replica_name('worker', index)}" for index in range(len(hosts))] == hosts
    for (kind, _), pod in built.items():
        if kind == "Pod":
            volumes = [each["name"] for each in pod["spec"]["volumes"]]
            assert len(set(volumes)) == len(volumes)
            mounts = [each["name"] for each in pod["spec"]["containers"][0]["volumeMounts"]]
            assert "ssh-auth" in mounts
            assert set(mounts) <= set(volumes)


@given(specs())
def test_a_canonical_form_is_its_own_and_the_same_update_changes_nothing(of: Spec) -> None:
    found = KIND.admit("gpt", of)
    assert found.problems == ()
    again = KIND.admit("gpt", found.spec)
    assert (again.spec, again.plan, again.problems) == (found.spec, found.plan, ())
    update = KIND.admit("gpt", of, found.spec)
    assert (update.spec, update.changes, update.frozen, update.notices) == (found.spec, {}, (), ())


@given(JSON, st.sampled_from(list(fields(ColossalAISpec))), st.sampled_from([spec(), old_spec()]))
def test_no_broken_part_trips_admission(part: Any, broken: str, good: Spec) -> None:
    whole = {**good, broken: part}
    found = KIND.admit("gpt", whole)
    assert (found.plan is None) is bool(found.problems)
    KIND.admit("gpt", whole, good)
    KIND.admit("gpt", good, whole)


@given(JSON, st.sampled_from(["torchConfig", "replicaSpecs"]), st.integers(0, 1), st.text(max_size=8))
def test_no_broken_older_form_trips_admission(part: Any, broken: str, at: int, field: str) -> None:
    whole = old_spec()
    place = whole[broken] if broken == "torchConfig" else whole[broken][at]
    for name in [*place, field]:
        found = KIND.admit("gpt", {**whole, broken: _with(whole[broken], at, name, part)})
        assert (found.plan is None) is bool(found.problems)


def _with(old: Any, at: int, name: str, value: Any) -> Any:
    """A part of the older form with one field replaced; of a list, in the item at `at`."""
    if isinstance(old, dict):
        return {**old, name: value}
    return [_with(each, at, name, value) if index == at else each for index, each in enumerate(old)]
