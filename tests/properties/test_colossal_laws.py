"""Laws of what ColossalAIJobs are made into: names fit, nothing is missing, nothing trips admission."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from statemachine.ids import replica_name
from statemachine.kinds.colossalaijob import KIND
from tests.properties.of_kinds.colossalaijob import specs
from tests.properties.test_kinds import JSON
from tests.unit.kinds.build import Spec, env
from tests.unit.kinds.colossal import old_spec, state

COLOSSAL = KIND.names.kind


@given(specs())
def test_every_pod_has_its_whole_environment_and_the_user_s(of: Spec) -> None:
    job = state(of, name="gpt", kind=COLOSSAL)
    for child in KIND.children(job):
        if child.kind == "Pod":
            built = child.build()
            pod = next(
                container
                for container in built["spec"]["containers"]
                if container["name"] in ("launcher", "worker")
            )
            variables = env({"spec": {"containers": [pod]}})
            slot = job.spec["launcher"] if child.name == "gpt-launcher" else None
            own = (slot or job.spec["worker"]["template"]["spec"]["containers"][0]).get("env") or []
            assert variables["PYTHONUNBUFFERED"] in ("1", "v")
            assert {variable["name"]: variable["value"] for variable in own}.items() <= variables.items()
            assert len(variables) == len(pod["env"])


@given(specs())
def test_the_launcher_finds_every_worker_and_its_keys(of: Spec) -> None:
    job = state(of, name="gpt", kind=COLOSSAL)
    built = {(child.kind, child.name): child.build() for child in KIND.children(job)}
    hosts = built["ConfigMap", "gpt-hostfile"]["data"]["hostfile"].splitlines()
    assert hosts == [name for kind, name in built if kind == "Pod" and name != "gpt-launcher"]
    assert [f"gpt-{replica_name('worker', index)}" for index in range(len(hosts))] == hosts
    for (kind, _), pod in built.items():
        if kind == "Pod":
            volumes = [volume["name"] for volume in pod["spec"]["volumes"]]
            assert len(set(volumes)) == len(volumes)
            mounts = [mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]]
            assert "ssh-auth" in mounts
            assert set(mounts) <= set(volumes)


@given(JSON, st.sampled_from(["torchConfig", "replicaSpecs"]), st.integers(0, 1), st.text(max_size=8))
def test_no_broken_older_form_trips_admission(part: Any, broken: str, at: int, field: str) -> None:
    whole = old_spec()
    place = whole[broken] if broken == "torchConfig" else whole[broken][at]
    for name in [*place, field]:
        admission = KIND.admit("gpt", {**whole, broken: _with(whole[broken], at, name, part)})
        assert (admission.plan is None) is bool(admission.problems)


def _with(old: Any, at: int, name: str, value: Any) -> Any:
    """A part of the older form with one field replaced; of a list, in the item at `at`."""
    if isinstance(old, dict):
        return {**old, name: value}
    return [_with(item, at, name, value) if index == at else item for index, item in enumerate(old)]
