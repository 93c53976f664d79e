"""Pods that another controller makes for a child of a job, and the end of such a child."""

from datetime import UTC, datetime
from typing import Any

import pytest

from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Verb
from statemachine.ids import JOB_UID, JobUid
from statemachine.observations import ChildObserved

AT = datetime(2026, 1, 2, tzinfo=UTC)
JOB = JobUid("u-job")


def owned_by(api_version: str, kind: str, name: str, uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}]


def pod(phase: str | None = "Running", **status: Any) -> dict[str, Any]:
    """A pod of the Job of a job."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "words-batchjob-x4k2p",
            "uid": "u-pod",
            "annotations": {JOB_UID: JOB},
            "ownerReferences": owned_by("batch/v1", "Job", "words-batchjob", "u-batch"),
        },
        "status": {"phase": phase, **status},
    }


def job(**status: Any) -> dict[str, Any]:
    """The Job of a job."""
    owner = owned_by("batch.tensorstack.dev/v1beta1", "BeamJob", "words", JOB)
    meta = {"name": "words-batchjob", "uid": "u-batch", "ownerReferences": owner}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "status": status}


def facts_of(raw: dict[str, Any], verb: Verb = Verb.MODIFIED) -> list[tuple[str, str, str, dict[str, str]]]:
    """Kind, uid, uid of the one that is gone, and facts of each observation."""
    observations = observe(Change(verb, raw, AT))
    assert all(
        isinstance(observation, ChildObserved) and observation.job == JOB for observation in observations
    )
    return [
        (observation.kind, observation.uid, observation.gone_uid, observation.facts)
        for observation in observations
        if isinstance(observation, ChildObserved)
    ]


def test_a_pod_of_a_job_s_job_is_reported_with_its_phase() -> None:
    statuses = [{"name": "main", "state": {"running": {}}, "restartCount": 2}]
    facts = {"of": "words-batchjob", "phase": "Running", "restarts": "2", "container main": "Running"}
    assert facts_of(pod(containerStatuses=statuses)) == [("Pod", "u-pod", "", facts)]


def test_the_exit_code_of_a_container_is_reported() -> None:
    statuses = [{"name": "main", "state": {"terminated": {"exitCode": 3}}}]
    assert facts_of(pod("Failed", containerStatuses=statuses))[0][3]["container main"] == "Terminated 3"


def test_a_deleted_pod_is_reported_with_its_end_first() -> None:
    ended = {"of": "words-batchjob", "phase": "Succeeded"}
    assert facts_of(pod("Succeeded"), Verb.DELETED) == [("Pod", "u-pod", "", ended), ("Pod", "", "u-pod", {})]
    assert facts_of(pod("Running"), Verb.DELETED) == [("Pod", "", "u-pod", {})]


@pytest.mark.parametrize("lost", ["annotations", "ownerReferences", "uid"])
def test_a_pod_that_does_not_say_whose_it_is_is_nobody_s(lost: str) -> None:
    raw = pod()
    del raw["metadata"][lost]
    assert facts_of(raw) == []


def test_a_pod_of_another_controller_is_nobody_s() -> None:
    raw = pod()
    raw["metadata"]["ownerReferences"] = owned_by("apps/v1", "ReplicaSet", "words-batchjob", "u-batch")
    assert facts_of(raw) == []


def test_a_status_that_cannot_be_made_out_says_nothing() -> None:
    assert facts_of(pod(None)) == []


def test_a_job_is_reported_with_its_counts_and_its_end() -> None:
    assert facts_of(job(active=1, failed=2)) == [("Job", "u-batch", "", {"active": "1", "failed": "2"})]
    over = [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "x" * 5000}]
    facts = {"failed": "3", "ended": "Failed", "reason": "BackoffLimitExceeded", "message": "x" * 1024}
    assert facts_of(job(failed=3, conditions=over)) == [("Job", "u-batch", "", facts)]
    early = [{"type": "FailureTarget", "status": "True"}, {"type": "Complete", "status": "False"}]
    assert facts_of(job(conditions=early)) == [("Job", "u-batch", "", {})]


def test_the_last_form_of_a_deleted_job_is_reported_before_its_deletion() -> None:
    over = [{"type": "Complete", "status": "True"}]
    assert facts_of(job(conditions=over), Verb.DELETED) == [
        ("Job", "u-batch", "", {"ended": "Complete"}),
        ("Job", "", "u-batch", {}),
    ]
    assert facts_of(job(), Verb.DELETED) == [("Job", "", "u-batch", {})]


def test_what_is_not_of_the_right_type_is_no_fact() -> None:
    assert facts_of(job(active="many", conditions={"type": "Complete"})) == [("Job", "u-batch", "", {})]
