"""Which pod's log is meant, and what is said where there is none."""

from collections.abc import Callable
from typing import Any

import pytest

from jobledger.program.errors import NotPossible, UnknownReplica
from tests.unit.plugin.words import JOBS, Asked, Reply, cluster, job, listed, status

PODS = "/api/v1/namespaces/team/pods"


def pod(
    type_: str, index: int, *, phase: str = "Running", master: bool = False, owner: str = "uid-train"
) -> Any:
    role = {"job-role": "master"} if master else {}
    return {
        "metadata": {
            "name": f"train-x-{type_}-{index}",
            "labels": {"replica-type": type_, "replica-index": str(index), **role},
            "ownerReferences": [{"uid": owner}],
        },
        "spec": {"containers": [{"name": "main"}, {"name": "side"}], "initContainers": [{"name": "init"}]},
        "status": {"phase": phase},
    }


STATUS: dict[str, Any] = {
    "tasks": [{"type": "master", "replicas": [{}]}, {"type": "worker", "replicas": [{}, {}]}]
}
ALL = listed(
    pod("worker", 0, owner="uid-of-an-older-train"),
    pod("worker", 0),
    pod("worker", 1),
    pod("master", 0, master=True),
)


def said(pods: Any = ALL, *, phase: str = "Running", **wanted: Any) -> tuple[str, dict[str, str]]:
    """What the log of `wanted` is, and how it was asked for."""
    asked_for: list[Asked] = []

    def log(name: str) -> Callable[[Asked], Reply]:
        def answer(asked: Asked) -> Reply:
            asked_for.append(asked)
            return Reply(name.encode(), kind="text/plain")

        return answer

    logs = {f"{PODS}/train-x-{name}/log": log(name) for name in ("master-0", "worker-0", "worker-1")}
    manifest = job(phase=phase, **STATUS)
    with (
        cluster(more={f"{JOBS}/train": manifest, PODS: pods, **logs}) as (asked, _),
        asked.logs("team", "train", **wanted) as pieces,
    ):
        return b"".join(pieces).decode(), asked_for[0].query


def test_the_primary_is_meant_where_none_is_named() -> None:
    assert said() == ("master-0", {"container": "main"})


def test_a_replica_is_named_by_its_name_or_its_pods() -> None:
    assert said(replica="worker-1")[0] == "worker-1"
    assert said(replica="train-x-worker-1")[0] == "worker-1"


def test_pods_of_an_older_job_of_the_same_name_are_not_ours() -> None:
    with pytest.raises(NotPossible, match="has no pod now"):
        said(listed(pod("worker", 0, owner="uid-of-an-older-train")), replica="worker-0")


def test_containers_and_earlier_runs_are_asked_for() -> None:
    assert said(container="side", previous=True, follow=True)[1] == {
        "container": "side",
        "previous": "true",
        "follow": "true",
    }
    assert said(container="init")[1] == {"container": "init"}


def test_labels_choose_the_pods_on_the_server() -> None:
    def pods(asked: Asked) -> Any:
        assert asked.query["labelSelector"] == "tensorstack.dev/owner-name=train"
        return ALL

    assert said(pods)[0] == "master-0"


def test_following_waits_until_the_replica_has_begun() -> None:
    looks: list[int] = []

    def pods(_: Asked) -> Any:
        looks.append(1)
        if len(looks) < 3:
            return listed(*([pod("master", 0, phase="Pending", master=True)] if len(looks) == 2 else []))
        return ALL

    assert said(pods, follow=True)[0] == "master-0"
    assert len(looks) == 3


@pytest.mark.parametrize(
    ("pods", "wanted", "error", "says"),
    [
        (ALL, {"replica": "worker-9"}, UnknownReplica, "it has master-0, worker-0, worker-1"),
        (ALL, {"replica": "workr-1"}, UnknownReplica, 'did you mean "worker-1"'),
        (ALL, {"container": "x"}, UnknownReplica, "it has main, side, init"),
        (listed(), {}, NotPossible, r"replica master-0 .* has no pod now \(Succeeded\)"),
        (
            listed(),
            {"replica": "worker-1", "follow": True},
            NotPossible,
            "where there is no pod there is no log",
        ),
    ],
)
def test_what_is_not_there_is_a_sentence(pods: Any, wanted: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        said(pods, phase="Succeeded", **wanted)


@pytest.mark.parametrize(
    ("phase", "previous", "error", "says"),
    [
        ("Pending", False, NotPossible, "has not been started"),
        ("Running", True, UnknownReplica, "has no earlier run in its pod"),
        ("Running", False, NotPossible, "has no log: no such thing"),
    ],
)
def test_a_kubelet_without_a_log_is_a_sentence(
    phase: str, previous: bool, error: type[Exception], says: str
) -> None:
    pods = listed(pod("master", 0, phase=phase, master=True))
    more = {f"{JOBS}/train": job(), PODS: pods, f"{PODS}/train-x-master-0/log": status(400, "no such thing")}
    with (
        cluster(more=more) as (asked, _),
        pytest.raises(error, match=says),
        asked.logs("team", "train", previous=previous),
    ):
        raise AssertionError
