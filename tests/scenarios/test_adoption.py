"""Jobs that have lived without this log: it was lost, or restored, or another controller has run them (spec R3)."""

from typing import Any

import pytest

from statemachine.events import Announced, JobAdopted, ReplicaAdopted, ReplicaDismissed
from statemachine.ids import ReplicaName
from statemachine.phases import Phase
from statemachine.state import JobState
from tests.support.pytorchjob import TorchStory, training
from tests.support.scenario import Story, workers

ADOPTED = ("Adopted", "The ledger of this job begins here; what was before is not known.")


def restarted() -> Story:
    """A job that runs with one restart behind it."""
    story = Story(workers(2, policy="OnFailure")).submit().at(5).all_pods("Running")
    return (
        story.at(9).pod("worker-1", "Failed", exit_code=1).gone("worker-1").at(12).pod("worker-1", "Running")
    )


def again(story: Story) -> Story:
    """The same job object, and a log that has never heard of it."""
    other = type(story)(story.spec, name=story.name).at(story.clock + 100)
    return other.adopt(story.status)


def test_a_job_that_runs_goes_on_with_its_pods_its_counts_and_its_start() -> None:
    before = restarted()
    story = again(before)
    assert ADOPTED in story.announced()
    assert "Created" not in story.reasons
    story.pod("worker-0", "Running", attempt=1, uid="a").pod("worker-1", "Running", attempt=2, uid="b")
    assert story.pods == ["worker-0.1", "worker-1.2"]
    fields = ("phase", "startTime", "backoffCount", "aggregate")
    assert {name: story.status[name] for name in fields} == {name: before.status[name] for name in fields}
    assert story.status["tasks"][0]["restartCount"] == 1
    assert {condition["type"] for condition in story.status["conditions"]} == {
        condition["type"] for condition in before.status["conditions"]
    }


def test_the_budget_that_was_spent_stays_spent() -> None:
    before = Story(workers(1, policy="OnFailure", runPolicy={"backoffLimit": 1})).submit().all_pods("Running")
    before.pod("worker-0", "Failed", exit_code=1).gone("worker-0").pod("worker-0", "Running")
    story = again(before).pod("worker-0", "Running", attempt=2, uid="b")
    assert story.pod("worker-0", "Failed", exit_code=1).phase is Phase.FAILED
    assert story.condition("Failed") == (
        "True",
        "BackoffLimitExceeded",
        "The job has failed because the restart limit (1) has been reached.",
    )


@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
def test_a_job_that_has_ended_stays_ended_and_runs_never_again(end: str) -> None:
    before = (
        Story(workers(2, policy="Never", runPolicy={"cleanUpPolicy": "All"})).submit().all_pods("Running")
    )
    before.at(60).pod("worker-0", end).gone("worker-0").gone("worker-1")
    story = again(before)
    assert (story.phase, story.pods) == (Phase(end), [])
    for field in ("completionTime", "startTime", "conditions"):
        assert story.status[field] == before.status[field]


def test_a_restored_log_learns_the_end_that_it_has_lost() -> None:
    """It says Running; the object says Succeeded, and the pods were cleaned up long ago."""
    before = Story(workers(1, runPolicy={"cleanUpPolicy": "All"})).submit().all_pods("Running")
    after = Story(workers(1, runPolicy={"cleanUpPolicy": "All"})).submit().all_pods("Running")
    after.pod("worker-0", "Succeeded").gone("worker-0")
    before.at(1000).adopt(after.status).gone("worker-0")
    assert (before.phase, before.pods) == (Phase.SUCCEEDED, [])
    assert before.status["completionTime"] == after.status["completionTime"]


def test_an_end_that_the_log_knows_is_no_news() -> None:
    story = Story(workers(1)).submit().all_pods("Running").pod("worker-0", "Succeeded")
    assert story.adopt(story.status).last == ()


def test_a_later_attempt_than_the_log_knows_is_the_replicas_pod_from_now_on() -> None:
    story = Story(workers(1, policy="OnFailure")).submit().all_pods("Running")
    story.pod("worker-0", "Running", attempt=4, uid="later")
    assert ReplicaAdopted(replica=ReplicaName("worker-0"), attempt=4) in story.last
    assert (story.pods, story.replica("worker-0").uid) == (["worker-0.4"], "later")
    story.gone("worker-0", uid="worker-0.1", attempt=1)
    assert story.last == (), "the earlier one"
    assert story.pod("worker-0", "Failed", exit_code=1).gone("worker-0").pods == ["worker-0.5"]


def test_a_later_attempt_of_a_paused_job_leaves() -> None:
    story = Story(workers(1, runMode={"pause": {"enabled": True}})).submit()
    story.pod("worker-0", "Running", attempt=2, uid="later")
    assert [event.why for event in story.last if isinstance(event, ReplicaDismissed)] == ["pause"]
    assert story.pods == []
    assert story.pod("worker-0", "Failed", exit_code=143).gone("worker-0").resume().pods == ["worker-0.3"]


def test_a_later_attempt_of_a_job_that_has_ended_follows_its_clean_up_policy() -> None:
    before = Story(workers(2, runPolicy={"cleanUpPolicy": "Unfinished"})).submit().all_pods("Running")
    before.pod("worker-0", "Succeeded")
    story = (
        again(before)
        .pod("worker-0", "Succeeded", attempt=1, uid="a")
        .pod("worker-1", "Running", attempt=1, uid="b")
    )
    assert story.pods == ["worker-0.1"]


def test_a_pod_that_is_called_otherwise_is_not_the_replicas() -> None:
    story = Story(workers(1)).submit().all_pods("Running")
    observation = story.pod_seen("worker-0", "Running", attempt=9, uid="foreign")
    assert story.see(observation.changed(pod="foreign")).last == ()


def test_a_job_that_runs_is_not_failed_by_a_rule_that_its_controller_did_not_have() -> None:
    spec = workers(1)
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "-1"}}
    assert Story(spec).submit().phase is Phase.FAILED
    story = Story(spec).adopt(Story(workers(1)).submit().all_pods("Running").status)
    assert story.phase is Phase.PENDING
    assert any(reason == "InvalidSpec" for reason in story.reasons)


def test_a_status_that_says_nothing_begins_no_life() -> None:
    for status in ({}, {"phase": 5}, {"conditions": "none"}, {"phase": ""}):
        story = Story(workers(1)).adopt(status)
        assert "Created" in story.reasons
        assert not any(isinstance(event, JobAdopted) for event in story.last)


# ---- Kubeflow's training operator ----------------------------------------------------------------------


def of_the_operator(phase: str) -> dict[str, Any]:
    """A status as the operator writes it."""
    at = "2023-01-31T06:10:00Z"

    def condition(type_: str, status: str = "True") -> dict[str, str]:
        times = {"lastUpdateTime": at, "lastTransitionTime": at}
        return {
            "type": type_,
            "status": status,
            "reason": f"PyTorchJob{type_}",
            "message": f"It is {type_}.",
            **times,
        }

    ended = phase != "Running"
    return {
        "conditions": [
            condition("Created"),
            condition("Running", "False" if ended else "True"),
            *([condition(phase)] if ended else []),
        ],
        "replicaStatuses": {"Master": {"succeeded": 1} if ended else {"active": 1}, "Worker": {"active": 2}},
        "startTime": at,
        **({"completionTime": "2023-01-31T07:00:00Z"} if ended else {}),
    }


def test_a_pytorchjob_that_the_operator_has_run_goes_on_with_its_pods() -> None:
    story = TorchStory(training()).adopt(of_the_operator("Running"))
    for name in ("master-0", "worker-0", "worker-1"):
        story.pod(name, "Running", attempt=1, uid=f"{name}-of-the-operator")
    assert story.phase is Phase.RUNNING
    assert [condition["type"] for condition in story.status["conditions"]] == ["Created", "Running"]
    assert story.status["startTime"] == "2023-01-31T06:10:00Z"
    assert story.pods == ["master-0.1", "worker-0.1", "worker-1.1"]


@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
def test_a_pytorchjob_that_has_ended_under_the_operator_keeps_its_status(end: str) -> None:
    status = of_the_operator(end)
    story = TorchStory(training()).adopt(status)
    assert (story.phase, story.pods) == (Phase(end), [])
    assert story.status["conditions"] == status["conditions"]
    assert story.status["completionTime"] == status["completionTime"]
    for name in ("worker-0", "worker-1"):
        story.pod(name, "Running", attempt=1, uid=name)
    workers_ = story.status["replicaStatuses"]["Worker"]
    assert {key: workers_[key] for key in ("active",)} == {"active": 2}
    assert story.status["replicaStatuses"]["Master"]["succeeded"] == 1


def test_the_log_says_that_it_begins_here() -> None:
    story = TorchStory(training()).adopt(of_the_operator("Running"))
    adopted = [event for event in story.last if isinstance(event, JobAdopted)]
    assert [event.spent for event in adopted] == [None], "restarts under the operator are not known"
    assert any(isinstance(event, Announced) and event.reason == "Adopted" for event in story.last)


# ---- a job that is being deleted, and that somebody's finalizer holds ----------------------------------


def test_what_runs_is_left_and_nothing_new_is_made() -> None:
    story = restarted().terminate()
    assert story.pods == ["worker-0.1", "worker-1.2"]
    story.gone("worker-1")
    assert story.pods == ["worker-0.1"]
    assert story.reasons[-1] == "ReplicaLost"
    assert dict(story.announced())["ReplicaLost"] == "Replica mnist-7ac1b-worker-1 was deleted"
    assert story.terminate().last == (), "said once"


def test_a_failure_is_not_restarted_any_more() -> None:
    story = restarted().terminate().pod("worker-1", "Failed", exit_code=1)
    assert (story.phase, story.state.spent) == (Phase.RUNNING, 1)
    assert story.pod("worker-0", "Failed", exit_code=1).phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "Failed", "The job exited with an error code.")


def test_what_succeeds_is_not_started_anew_any_more() -> None:
    story = Story(workers(2, policy="Always")).submit().all_pods("Running").terminate()
    assert story.pod("worker-1", "Succeeded").state.spent == 0
    assert story.replica("worker-1").leaving == ""


def test_a_pytorchjobs_failure_is_not_restarted_any_more() -> None:
    story = TorchStory(training()).submit().up().terminate().pod("worker-0", "Failed", exit_code=137)
    assert story.state.spent == 0
    assert not any(replica.leaving for replica in story.state.replicas.values())


def test_its_success_counts() -> None:
    assert restarted().terminate().pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


def test_a_wish_that_comes_with_the_deletion_is_not_followed() -> None:
    story = restarted()
    story.generation += 1
    story.spec["runMode"] = {"pause": {"enabled": True}}
    assert story.terminate().phase is Phase.RUNNING


def test_a_job_that_is_first_heard_of_while_it_is_deleted_makes_nothing() -> None:
    story = Story(workers(2)).terminate()
    assert (story.state.terminating, story.pods) == (True, [])


def test_it_is_closed_when_the_object_and_the_pods_are_gone() -> None:
    story = restarted().terminate().delete().gone("worker-0").gone("worker-1")
    assert story.state.closed
    assert isinstance(story.state, JobState)


def test_a_count_below_nought_is_not_believed() -> None:
    status = Story(workers(1)).submit().all_pods("Running").status
    status["backoffCount"] = -3
    status["tasks"][0]["restartCount"] = -1
    story = Story(workers(1)).adopt(status)
    assert (story.state.spent, dict(story.state.restarts)) == (0, {"worker": 0})
