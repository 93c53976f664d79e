"""Laws of what MPIJobs are made into: the launcher asks for no devices, and every process can be reached."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from statemachine.kinds.mpijob import KIND
from statemachine.spec import Launch
from tests.properties.of_kinds.mpijob import specs
from tests.properties.test_kinds import JSON
from tests.unit.kinds.build import Spec
from tests.unit.kinds.mpi import old_spec, spec, state, workers


@given(specs())
def test_every_worker_is_a_line_of_the_hostfile_and_the_launcher_has_it(of: Spec) -> None:
    built = {(child.kind, child.name): child.build() for child in KIND.children(state(of))}
    lines = built["ConfigMap", "walk-hostfile"]["data"]["hostfile"].splitlines()
    assert [line.partition(" slots=")[0] for line in lines] == [
        name for kind, name in built if kind == "Pod" and name != "walk-launcher"
    ]
    assert all(int(line.partition(" slots=")[2]) >= 1 for line in lines)
    launcher = built["Pod", "walk-launcher"]["spec"]
    (only,) = launcher["containers"]
    assert {"ssh-auth", "hostfile"} <= {mount["name"] for mount in only["volumeMounts"]}
    assert {mount["name"] for mount in only["volumeMounts"]} <= {
        volume["name"] for volume in launcher["volumes"]
    }


@given(specs())
def test_every_variable_of_the_user_s_is_exported_once(of: Spec) -> None:
    job = state(of)
    if job.running_plan.launch is Launch.WHEN_READY:
        pods = {child.name: child.build() for child in KIND.children(job) if child.kind == "Pod"}
        (only,) = pods["walk-launcher"]["spec"]["containers"]
        options = job.spec["worker"].get("extraMPIArgs") or []
        args = only["args"][: len(only["args"]) - len(job.spec["worker"]["cmd"])]
        exported = [value for option, value in pairwise(args) if option == "-x"]
        (container,) = job.spec["worker"]["template"]["spec"]["containers"]
        assert {variable["name"] for variable in container["env"]} | {"PATH", "LD_LIBRARY_PATH"} == {
            *exported
        }
        assert len(exported) - len({*exported}) <= max(0, options.count("-x") - 1)


@given(JSON, st.sampled_from(["mpiConfig", "replicaSpecs"]), st.integers(0, 1), st.text(max_size=8))
def test_no_broken_older_form_trips_admission(part: Any, broken: str, at: int, field: str) -> None:
    whole = old_spec()
    place = whole[broken] if broken == "mpiConfig" else whole[broken][at]
    for name in [*place, field]:
        admission = KIND.admit("walk", {**whole, broken: _with(whole[broken], at, name, part)})
        assert (admission.plan is None) is bool(admission.problems)


@given(JSON, st.sampled_from(["processesPerWorker", "processRecovery", "extraMPIArgs"]))
def test_no_broken_options_trip_admission(part: Any, field: str) -> None:
    both = {"processesPerWorker": 2, "processRecovery": {"enable": True}, field: part}
    admission = KIND.admit("walk", spec(workers(**both)))
    assert (admission.plan is None) is bool(admission.problems)
    assert KIND.canonical(admission.spec) == admission.spec


def _with(old: Any, at: int, name: str, value: Any) -> Any:
    """A part of the older form with one field replaced; of a list, in the item at `at`."""
    if isinstance(old, dict):
        return {**old, name: value}
    return [_with(item, at, name, value) if index == at else item for index, item in enumerate(old)]
