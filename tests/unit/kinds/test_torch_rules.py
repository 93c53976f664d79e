"""Rules PT1-PT12 of PyTorchTrainingJob, and R10's warning."""

from typing import Any

import pytest

from statemachine.kind import Scaling
from statemachine.kinds import kind_of
from tests.unit.kinds.build import (
    API,
    ELASTIC,
    KIND,
    TORCHRUN,
    admit,
    container,
    env,
    merged,
    notices,
    pod,
    pods,
    replicas,
    spec,
    state,
    texts,
)


def test_pt1_needs_a_master() -> None:
    text = "spec.replicaSpecs[0].replicas: must be at least 1, its first replica is the master"
    assert texts(admit(spec(replicas("worker", 0), replicas("ps", 1)))) == [text]
    assert texts(admit(spec(replicas("worker", 1), replicas("ps", 0)))) == []


ELASTIC_IGNORED = (
    "ElasticIgnored",
    "spec.elastic is ignored: it takes effect only with torchrunConfig.enabled=true",
)


@pytest.mark.parametrize(
    ("of", "warnings"),
    [
        (spec(**ELASTIC), [ELASTIC_IGNORED]),
        (spec(**ELASTIC, torchrunConfig={"enabled": False}), [ELASTIC_IGNORED]),
        (spec(**ELASTIC, **TORCHRUN), []),
        (spec(elastic={"enabled": False}), []),
    ],
)
def test_pt2_elastic_takes_effect_with_torchrun_alone(of: dict[str, Any], warnings: list[Any]) -> None:
    admission = admit(of)
    assert (texts(admission), notices(admission)) == ([], warnings)


def test_pt2_without_torchrun_a_job_runs_as_if_elastic_were_off() -> None:
    of = spec(replicas("worker", 3), elastic={**ELASTIC["elastic"], "expectedReplicas": 4})
    plain = admit(spec(replicas("worker", 3))).plan
    assert admit(of).plan == plain
    kind = kind_of(API, KIND)
    assert (kind.scaling(of), kind.scaling({**of, **TORCHRUN})) == (None, Scaling(2, 4, 4))
    assert len(pods(state(of))) == 3
    assert env(pod(state(of)))["WORLD_SIZE"] == "3"


@pytest.mark.parametrize("ends", [{}, {"minReplicas": 1}, {"maxReplicas": 1}])
def test_pt3_elastic_needs_both_ends(ends: dict[str, int]) -> None:
    admission = admit(spec(**TORCHRUN, elastic={"enabled": True, **ends}))
    assert texts(admission) == ["spec.elastic: minReplicas and maxReplicas are required"]
    assert texts(admit(spec(elastic=ends))) == []


@pytest.mark.parametrize(("low", "high"), [(0, 3), (-1, 3), (4, 3)])
def test_pt4_orders_the_ends(low: int, high: int) -> None:
    ends = {"minReplicas": low, "maxReplicas": high}
    text = "spec.elastic: must satisfy 1 <= minReplicas <= maxReplicas"
    assert text in texts(admit(spec(**TORCHRUN, elastic={"enabled": True, **ends})))


@pytest.mark.parametrize(("wish", "good"), [(1, False), (2, True), (4, True), (5, False)])
def test_pt5_keeps_the_wish_in_range(wish: int, good: bool) -> None:
    admission = admit(spec(**TORCHRUN, elastic={**ELASTIC["elastic"], "expectedReplicas": wish}))
    text = "spec.elastic.expectedReplicas: must be between minReplicas and maxReplicas"
    assert texts(admission) == ([] if good else [text])


@pytest.mark.parametrize(
    ("change", "name"), [({"minReplicas": 1}, "minReplicas"), ({"maxReplicas": 9}, "maxReplicas")]
)
def test_pt6_keeps_the_range(change: dict[str, int], name: str) -> None:
    old = spec(**TORCHRUN, **ELASTIC)
    admission = admit(merged(old, elastic={**ELASTIC["elastic"], **change}), old)
    assert texts(admission) == [f"spec.elastic.{name} is immutable"]


def test_pt6_keeps_elastic_on_or_off() -> None:
    old = spec(**TORCHRUN, **ELASTIC)
    off = merged(old, elastic={**ELASTIC["elastic"], "enabled": False})
    assert texts(admit(off, old)) == ["spec.elastic.enabled is immutable"]
    assert texts(admit(old, off)) == ["spec.elastic.enabled is immutable"]


@pytest.mark.parametrize("good", ["1", "16", 4, "gpu", "cpu", "auto"])
def test_pt7_accepts_numbers_and_devices(good: object) -> None:
    admission = admit(spec(torchrunConfig={"procPerNode": good}))
    assert texts(admission) == []
    assert admission.spec["torchrunConfig"] == {"procPerNode": str(good)}


@pytest.mark.parametrize("bad", ["0", "-1", "", "tpu", "1.5", 0, -2, True, 1.5, []])
def test_pt7_refuses_all_else(bad: object) -> None:
    admission = admit(spec(torchrunConfig={"procPerNode": bad}))
    text = 'spec.torchrunConfig.procPerNode: must be a positive number, "gpu", "cpu" or "auto"'
    assert texts(admission) == [text]
    assert [problem.rule for problem in admission.problems] == ["PT7"]


@pytest.mark.parametrize("backend", ["etcd", "etcd-v2"])
def test_pt8_etcd_needs_an_endpoint(backend: str) -> None:
    text = "spec.torchrunConfig: rdzvBackend etcd needs --rdzv_endpoint in extraOptions"
    assert texts(admit(spec(torchrunConfig={"rdzvBackend": backend}))) == [text]
    for option in (["--rdzv_endpoint=e:1"], ["--rdzv-endpoint", "e:1"]):
        assert texts(admit(spec(torchrunConfig={"rdzvBackend": backend, "extraOptions": option}))) == []


def test_pt9_torchrun_needs_a_script() -> None:
    bare = {"name": "pytorch", "image": "i"}
    sidecar = {"name": "sidecar", "image": "i"}
    admission = admit(spec(replicas(), replicas("ps", 1, sidecar, bare), **TORCHRUN))
    path = "spec.replicaSpecs[1].template.spec.containers[1].args"
    assert texts(admission) == [f"{path}: Required value: torchrun needs the training script in args"]


def test_pt9_does_not_hold_in_debug_or_without_torchrun() -> None:
    bare = replicas("worker", 1, {"name": "pytorch", "image": "i"})
    assert texts(admit(spec(bare))) == []
    assert texts(admit(spec(bare, **TORCHRUN, runMode={"debug": {"enabled": True}}))) == []


def test_pt10_warns_that_the_command_is_ignored() -> None:
    item = replicas("worker", 1, container(command=["python"]))
    message = "command is ignored when torchrun is enabled"
    assert notices(admit(spec(item, **TORCHRUN))) == [("CommandIgnored", message)]
    assert notices(admit(spec(item))) == []


@pytest.mark.parametrize(
    ("items", "low", "good"),
    [
        ([replicas("a"), replicas("b")], 1, False),
        ([replicas("a"), replicas("b")], 2, True),
        ([replicas("a", 2, scalingWeight=0), replicas("b")], 2, False),
        ([replicas("a", 2, scalingWeight=0), replicas("b")], 3, True),
        ([replicas("a", 2, scalingWeight=0)], 9, False),
    ],
)
def test_pt11_leaves_a_replica_for_every_type(items: list[dict[str, Any]], low: int, good: bool) -> None:
    elastic = {"enabled": True, "minReplicas": low, "maxReplicas": 9}
    admission = admit(spec(*items, **TORCHRUN, elastic=elastic))
    text = "spec.elastic.minReplicas: too small for the number of replica types"
    assert texts(admission) == ([] if good else [text])


def test_pt12_warns_of_a_master_that_is_not_first() -> None:
    message = "the master is the first replica of replicaSpecs[0]"
    admission = admit(spec(replicas("worker"), replicas("master")))
    assert notices(admission) == [("MasterNotFirst", message)]
    assert notices(admit(spec(replicas("master"), replicas("worker")))) == []


def test_r10_warns_that_debug_wins_over_resume_specs() -> None:
    mode = {"debug": {"enabled": True}, "pause": {"resumeSpecs": [{"type": "worker"}]}}
    assert [reason for reason, _ in notices(admit(spec(runMode=mode)))] == ["ResumeSpecsIgnored"]
