"""Every row of spec R5, T1 to T19, by name."""

from datetime import timedelta
from typing import Any

import pytest

from statemachine.events import (
    Cause,
    CauseClass,
    JobClosed,
    ReplicaDismissed,
    ReplicaFailed,
    ReplicaLost,
    ReplicaRequested,
    RestartDenied,
    RestartScheduled,
)
from statemachine.ids import PodUid, ReplicaName
from statemachine.phases import TABLE, Phase
from statemachine.rules.words import PAUSED_MESSAGE
from statemachine.state import ReplicaPhase
from tests.support.scenario import START, Story, workers


def started(replicas: int = 2, **spec: Any) -> Story:
    """A job of `replicas` workers, all of them Running at second 5."""
    return Story(workers(replicas, **spec)).submit().at(5).all_pods("Running")


def test_t1_a_valid_job_becomes_pending_and_asks_for_every_pod() -> None:
    story = Story(workers(2)).submit()
    assert story.phase is Phase.PENDING
    assert story.pods == ["worker-0.1", "worker-1.1"]
    assert story.status["startTime"] == "2024-01-09T15:00:00Z"
    assert ("Created", "A PyTorchTrainingJob has been created: mnist") in story.announced()
    assert story.status["aggregate"]["creating"] == 2
    assert story.status["conditions"] == []


def test_t2_a_job_created_paused_has_no_pods_and_no_start_time() -> None:
    story = Story(workers(2, runMode={"pause": {"enabled": True}})).submit()
    assert story.phase is Phase.PAUSED
    assert story.pods == []
    assert "startTime" not in story.status
    assert story.status["aggregate"]["deleted"] == 2
    message = "The job is paused; all replicas are deleted or being deleted."
    assert story.condition("Paused") == ("True", "Paused", message)
    assert story.condition("Running") == ("False", "Paused", message)
    assert story.condition("Initialized") is None


def test_t3_a_job_that_breaks_a_v_rule_fails_without_children() -> None:
    spec = workers(1)
    del spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"]
    story = Story(spec).submit()
    text = "spec.replicaSpecs[0].template.spec.containers[0].image: Required value"
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "InvalidSpec", text)
    assert story.condition("Completed") == ("False", "InvalidSpec", text)
    assert story.condition("Running") is None
    assert story.children == {}
    assert ("InvalidSpec", text) in story.announced()


def test_t4_all_pods_accepted_initializes_the_job() -> None:
    story = Story(workers(2)).submit().pod("worker-0", "Pending")
    assert story.condition("Initialized") is None
    story.pod("worker-1", "Pending")
    assert story.phase is Phase.PENDING
    assert story.condition("Initialized") == ("True", "-", "The job has been initialized successfully.")
    assert story.condition("ReplicaFailure") == ("False", "-", "All pods are running normally.")
    assert ("Start", "The job has been initialized successfully.") in story.announced()


def test_t4_an_elastic_job_that_runs_already_is_initialized_when_the_last_pod_is_accepted() -> None:
    story = Story(elastic(1, 4, 2)).submit().pod("worker-0", "Running").refused(status_=403)
    assert (story.phase, story.conditions["Initialized"]) == (Phase.RUNNING, "False")
    story.timer("retry").pod("worker-1", "Pending")
    assert story.conditions["Initialized"] == "True"


def test_t5_a_child_refused_for_now_is_tried_again_later_and_later() -> None:
    story = Story(workers(1)).submit()
    delays = []
    for _ in range(7):
        story.refused(status_=403, message="exceeded quota: gpus")
        delays.append(story.state.timers["retry"] - story.now)
        story.timer("retry")
        assert "retry" not in story.state.timers
    assert [delay.total_seconds() for delay in delays] == [1, 2, 4, 8, 16, 32, 60]
    assert story.phase is Phase.PENDING
    assert story.condition("Initialized") == ("False", "InitializationFailed", "exceeded quota: gpus")
    assert story.reasons.count("FailedCreate") == 7


def test_a_refusal_that_goes_on_for_days_is_not_said_again_until_something_was_made_or_the_reason_is_another() -> (
    None
):
    story = Story(workers(2)).submit()
    for _ in range(7):
        story.refused(status_=403, message="exceeded quota: gpus").timer("retry")
    entries = len(story.entries)
    for _ in range(100):
        story.refused(status_=403, message="exceeded quota: gpus")
    assert len(story.entries) == entries
    story.refused(status_=500, message="the webhook does not answer").timer("retry")
    assert story.condition("Initialized") == ("False", "InitializationFailed", "the webhook does not answer")
    story.pod("worker-0", "Pending").refused(status_=403, message="exceeded quota: gpus", name="x")
    assert story.reasons.count("FailedCreate") == 9
    assert story.state.timers["retry"] - story.now == timedelta(seconds=1)


def test_a_deletion_that_is_refused_is_a_condition_until_one_is_accepted() -> None:
    story = Story(workers(1)).submit().all_pods("Running").pause()
    for _ in range(3):
        story.refused(status_=403, message="a policy denies it", verb="delete")
    assert story.condition("ChildRefused") == ("True", "FailedDelete", "a policy denies it")
    assert story.reasons.count("FailedDelete") == 1
    story.pod("worker-0", "Running", deleting=True)
    assert story.condition("ChildRefused") == (
        "False",
        "Accepted",
        "The cluster deletes the pods that are to go.",
    )
    story.gone("worker-0")
    assert story.conditions["Paused"] == "True"


def test_t5_success_after_refusals_initializes_the_job() -> None:
    story = Story(workers(1)).submit().refused(status_=429).pod("worker-0", "Pending")
    assert story.conditions["Initialized"] == "True"
    assert "retry" not in story.state.timers
    assert story.state.refusals == 0


def test_t5_a_name_taken_by_another_is_tried_again_every_ten_seconds() -> None:
    story = Story(workers(1)).submit()
    for _ in range(3):
        story.refused("Service", 409, "exists", name="mnist-7ac1b-worker-0", name_taken=True)
        assert story.state.timers["retry"] - story.now == timedelta(seconds=10)
        story.timer("retry")
    text = 'Service "mnist-7ac1b-worker-0" already exists and is not controlled by this job'
    assert story.condition("Initialized") == ("False", "NameConflict", text)


def test_r3_a_name_that_is_taken_when_a_pod_is_made_again_is_said_until_it_is_not() -> None:
    story = started(2).gone("worker-1")
    story.refused(status_=409, replica="worker-1", attempt=2, name="mnist-7ac1b-worker-1", name_taken=True)
    text = 'Pod "mnist-7ac1b-worker-1" already exists and is not controlled by this job'
    assert story.condition("Initialized") == ("False", "NameConflict", text)
    story.timer("retry").pod("worker-1", "Running")
    assert story.conditions["Initialized"] == "True"


def test_t6_a_child_refused_for_good_fails_the_job() -> None:
    story = Story(workers(1)).submit().refused(status_=422, message="Pod is invalid: spec.nodeName")
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "InvalidSpec", "Pod is invalid: spec.nodeName")


def test_t6_does_not_end_a_job_that_runs_already() -> None:
    story = started(2, policy="OnFailure").pod("worker-1", "Failed").gone("worker-1")
    story.refused(status_=422, replica="worker-1", attempt=1)
    assert story.last == (), "the refusal speaks of an attempt that is over"
    story.refused(status_=422, replica="worker-1", attempt=2)
    assert story.phase is Phase.RUNNING
    assert "retry" in story.state.timers


def _unstartable(story: Story, replica: str) -> Story:
    text = 'container "pytorch": "train" was not found on the PATH'
    return story.pod(replica, "Failed", exit_code=127, reason="CannotStart", message=text)


@pytest.mark.parametrize("replica", ["worker-0", "worker-1"])
def test_t6_a_pod_that_can_never_be_started_fails_the_job_and_costs_nothing(replica: str) -> None:
    story = _unstartable(Story(workers(2, policy="OnFailure")).submit().all_pods("Pending"), replica)
    assert story.phase is Phase.FAILED
    text = (
        f'Pod mnist-7ac1b-{replica} cannot be started: container "pytorch": "train" was not found on the PATH'
    )
    assert story.condition("Failed") == ("True", "InvalidSpec", text)
    assert "Running" not in story.conditions
    assert story.state.spent == 0
    assert [event for event in story.last if isinstance(event, RestartScheduled | RestartDenied)] == []


def test_t6_ends_a_job_that_runs_by_a_pod_that_cannot_be_started_again() -> None:
    story = started(2, policy="OnFailure").pod("worker-1", "Failed").gone("worker-1")
    spent = story.state.spent
    _unstartable(story, "worker-1")
    assert (story.phase, story.state.spent) == (Phase.FAILED, spent)
    assert story.conditions["Running"] == "False"


def test_t6_does_not_look_at_pods_that_leave_or_are_retired() -> None:
    story = started(2).edit(runMode={"pause": {"enabled": True}})
    assert _unstartable(story, "worker-1").phase is Phase.PAUSED


def test_t7_a_job_runs_when_every_replica_has_been_running_or_has_ended() -> None:
    story = Story(workers(3)).submit()
    story.pod("worker-0", "Running").pod("worker-1", "Succeeded")
    assert story.phase is Phase.PENDING
    assert story.pod("worker-2", "Running").phase is Phase.RUNNING
    assert story.condition("Running") == ("True", "-", "All pods are running normally.")


def test_t7_an_elastic_job_runs_with_the_primary_and_the_lower_bound() -> None:
    story = Story(elastic(4, 10, 7)).submit().all_pods("Pending")
    for name in ("worker-1", "worker-2", "worker-3", "worker-4"):
        story.pod(name, "Running")
    assert story.phase is Phase.PENDING, "the primary is missing"
    assert story.pod("worker-0", "Running").phase is Phase.RUNNING


def elastic(least: int, most: int, expected: int) -> dict[str, object]:
    spec = workers(1, torchrunConfig={"enabled": True})
    container = spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    del container["command"]
    container["args"] = ["train.py"]
    bounds = {"enabled": True, "minReplicas": least, "maxReplicas": most, "expectedReplicas": expected}
    return {**spec, "elastic": bounds}


def test_t8_the_primary_succeeding_ends_the_job_whatever_the_others_do() -> None:
    story = started(2).at(60).pod("worker-0", "Succeeded")
    done = "The job has finished successfully."
    assert story.phase is Phase.SUCCEEDED
    assert story.condition("Completed") == ("True", "Succeeded", done)
    assert story.condition("Running") == ("False", "Succeeded", done)
    assert story.condition("Failed") == ("False", "Succeeded", done)
    assert story.status["completionTime"] == "2024-01-09T15:01:00Z"
    assert story.pods == ["worker-0.1", "worker-1.1"], "policy None deletes nothing"


def test_t9_the_primary_failing_for_good_ends_the_job() -> None:
    story = started(1, policy="Never").at(20).pod("worker-0", "Failed", exit_code=2)
    failed = "The job exited with an error code."
    assert story.phase is Phase.FAILED
    for type_, value in (("Failed", "True"), ("Completed", "False"), ("Running", "False")):
        assert story.condition(type_) == (value, "Failed", failed)
    why = 'Replica mnist-7ac1b-worker-0 failed: container "pytorch" exited with code 2.'
    assert story.condition("ReplicaFailure") == ("True", "ReplicaFailed", why)
    assert story.state.failure is not None
    assert story.state.failure.kind is CauseClass.APPLICATION_EXIT


def test_t10_the_deadline_ends_the_job_and_its_unfinished_pods() -> None:
    story = started(2, runPolicy={"activeDeadlineSeconds": 30}).at(10).pod("worker-1", "Succeeded")
    story.timer("deadline")
    message = "The job was active longer than the specified deadline (30s)."
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == ("True", "DeadlineExceeded", message)
    assert story.pods == ["worker-1.1"], "the finished pod stays with policy None"
    assert story.condition("ReplicaFailure") == ("False", "-", "All pods are running normally.")
    assert ("CleanedUp", "Deleted 1 pods (policy None)") in story.announced()


def test_t11_a_granted_restart_keeps_the_phase_and_spends_one() -> None:
    story = started(2, runPolicy={"backoffLimit": 1}).pod("worker-1", "Failed", exit_code=137, node="n1")
    assert story.phase is Phase.RUNNING
    failed, scheduled = story.last[0], story.last[1]
    assert isinstance(failed, ReplicaFailed)
    assert scheduled == RestartScheduled(
        replica=ReplicaName("worker-1"),
        spent=1,
        limit=1,
        cause=Cause(
            kind=CauseClass.APPLICATION_EXIT,
            rule="R8 OnFailure",
            pod_uid=PodUid("worker-1.1"),
            node="n1",
            container="pytorch",
            exit_code=137,
            budget_before=1,
            budget_after=0,
        ),
    )
    assert story.pods == ["worker-0.1"]
    assert story.status["backoffCount"] == 1
    assert story.conditions["ReplicaFailure"] == "True"
    text = "Restart replica mnist-7ac1b-worker-1 (exit code 137), restart 1 of 1"
    assert ("ReplicaRestart", text) in story.announced()
    story.gone("worker-1")
    assert story.pods == ["worker-0.1", "worker-1.2"]


def test_t12_a_replica_that_is_not_restarted_leaves_the_job_running() -> None:
    story = started(2, policy="Never").pod("worker-1", "Failed")
    assert story.phase is Phase.RUNNING
    assert story.conditions["ReplicaFailure"] == "True"
    assert story.pods == ["worker-0.1", "worker-1.1"]
    assert "ReplicaFailed" in story.reasons


def test_t13_restarted_replicas_running_again_clear_the_failure() -> None:
    story = started(3).pod("worker-1", "Failed").pod("worker-2", "Failed")
    for name in ("worker-1", "worker-2"):
        assert story.conditions["ReplicaFailure"] == "True"
        story.gone(name).pod(name, "Running")
    assert story.condition("ReplicaFailure") == ("False", "-", "All pods are running normally.")


def test_t13_a_replica_failed_for_good_keeps_the_failure() -> None:
    story = started(3, runPolicy={"backoffLimit": 1}).pod("worker-1", "Failed").pod("worker-2", "Failed")
    story.gone("worker-1").pod("worker-1", "Running")
    assert story.conditions["ReplicaFailure"] == "True"


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.RUNNING, Phase.RESUMING, Phase.UNKNOWN])
def test_t14_pausing_dismisses_every_pod_finished_ones_too(phase: Phase) -> None:
    story = in_phase(phase)
    assert story.phase is phase
    story.pause()
    assert story.phase is Phase.PAUSED
    assert story.pods == []
    assert all(event.why == "pause" for event in story.last if isinstance(event, ReplicaDismissed))


def test_r6_paused_is_true_when_each_pod_is_gone_or_its_deletion_was_accepted() -> None:
    story = started(3).pause()
    assert (story.phase, story.conditions["Running"]) == (Phase.PAUSED, "False")
    assert story.condition("Paused") is None
    story.at(7).pod("worker-0", "Running", deleting=True).gone("worker-1")
    assert story.condition("Paused") is None
    story.at(9).pod("worker-2", "Running", deleting=True)
    assert story.condition("Paused") == ("True", "Paused", PAUSED_MESSAGE)
    assert story.status["aggregate"]["running"] == 2, "a pod that is being deleted keeps its last phase"


def test_r6_a_job_that_is_resumed_before_its_pods_are_gone_was_never_said_to_be_paused() -> None:
    story = started(2).pause().resume()
    assert (story.phase, story.conditions["Paused"]) == (Phase.RESUMING, "False")


def in_phase(phase: Phase) -> Story:
    """A story of two workers that has come to an active phase."""
    story = Story(workers(2)).submit()
    if phase is Phase.PENDING:
        return story.pod("worker-0", "Pending")
    story.all_pods("Running")
    if phase is Phase.UNKNOWN:
        return story.pod("worker-0", "Unknown")
    if phase is Phase.RESUMING:
        story.pause().gone("worker-0").gone("worker-1").resume()
    return story


def test_t15_the_end_of_a_pause_asks_for_all_replicas_again() -> None:
    story = started(2).at(10).pause().gone("worker-0").gone("worker-1").at(100).resume()
    assert story.phase is Phase.RESUMING
    assert story.pods == ["worker-0.2", "worker-1.2"]
    assert story.status["startTime"] == "2024-01-09T15:01:40Z"
    message = "The job is resuming from pause."
    assert story.condition("Paused") == ("False", "Resuming", message)
    assert story.condition("Running") == ("False", "Resuming", message)
    assert story.all_pods("Running").phase is Phase.RUNNING


def test_t15_a_pod_still_ending_is_waited_for() -> None:
    story = started(2).pause().gone("worker-0").resume()
    assert story.pods == ["worker-0.2"]
    assert story.gone("worker-1").pods == ["worker-0.2", "worker-1.2"]


def test_t16_the_primary_pod_being_unknown_makes_the_job_unknown() -> None:
    story = started(2).pod("worker-0", "Unknown")
    assert story.phase is Phase.UNKNOWN
    message = "The status of replica mnist-7ac1b-worker-0 cannot be obtained."
    assert story.condition("Running") == ("Unknown", "StatusUnknown", message)
    assert started(2).pod("worker-1", "Unknown").phase is Phase.RUNNING


def test_t16_a_status_unreadable_for_a_minute_is_lost() -> None:
    story = started(2).at(20).unreadable("worker-0").at(30).unreadable("worker-0")
    assert story.phase is Phase.RUNNING
    assert story.timer("unreadable").phase is Phase.UNKNOWN
    assert story.clock == 80


def test_t16_a_status_readable_again_in_time_is_not_lost() -> None:
    story = started(2).at(20).unreadable("worker-0").at(70).pod("worker-0", "Running")
    assert story.state.timers == {}


def test_t17_a_known_primary_brings_the_job_back_to_running() -> None:
    story = started(2).at(10).pod("worker-0", "Unknown").at(20).pod("worker-0", "Running")
    assert story.phase is Phase.RUNNING
    assert story.condition("Running") == ("True", "-", "All pods are running normally.")


def written(seconds: float) -> dict[str, Any]:
    """The API server took the pod's status then, by its own clock."""
    return {"written_at": START + timedelta(seconds=seconds)}


def test_t17_sight_regained_counts_although_our_clock_was_put_back() -> None:
    story = started(2).at(40).pod("worker-0", "Unknown", **written(10))
    assert story.at(5).pod("worker-0", "Running", **written(20)).phase is Phase.RUNNING


def test_t17_a_late_report_from_before_the_loss_does_not_count_although_our_clock_was_put_forward() -> None:
    story = started(2).at(10).pod("worker-0", "Unknown", **written(10))
    assert story.at(60).pod("worker-0", "Running", **written(9)).phase is Phase.UNKNOWN
    assert story.at(61).pod("worker-0", "Running", **written(30)).phase is Phase.RUNNING
    assert story.at(62).pod("worker-0", "Unknown", **written(10)).phase is Phase.RUNNING


def test_t17_a_late_report_of_a_second_loss_does_not_count_once_the_pod_is_back() -> None:
    story = started(2).at(10).pod("worker-0", "Unknown", **written(10))
    story.at(30).pod("worker-0", "Running", **written(30))
    assert story.at(31).pod("worker-0", "Unknown", **written(20)).last == ()
    assert story.at(9).pod("worker-0", "Unknown", **written(40)).phase is Phase.UNKNOWN


def test_t17_a_late_report_of_a_second_loss_does_not_count_once_the_pod_is_pending_again() -> None:
    story = Story(workers(2)).submit().all_pods("Pending").at(10).pod("worker-0", "Unknown", **written(10))
    assert story.at(30).pod("worker-0", "Pending", **written(30)).phase is Phase.PENDING
    assert story.at(31).pod("worker-0", "Unknown", **written(20)).last == ()
    assert story.at(9).pod("worker-0", "Unknown", **written(40)).phase is Phase.UNKNOWN


def test_t17_a_late_report_of_a_pod_that_ran_is_no_start_once_it_was_lost_and_is_pending_again() -> None:
    story = started(2).at(10).pod("worker-0", "Unknown", **written(10))
    story.at(30).pod("worker-0", "Pending", **written(30))
    assert story.at(31).pod("worker-0", "Running", **written(5)).last == ()
    assert story.replica("worker-0").phase is ReplicaPhase.PENDING
    assert (
        story.at(9).pod("worker-0", "Running", **written(40)).replica("worker-0").phase
        is ReplicaPhase.RUNNING
    )


def test_t16_a_pod_that_is_back_may_be_lost_again_within_a_second_of_the_api_server() -> None:
    story = started(2).at(10.1).pod("worker-0", "Unknown", **written(10))
    assert story.at(10.5).pod("worker-0", "Running", **written(10)).phase is Phase.RUNNING
    assert story.at(10.3).pod("worker-0", "Unknown", **written(10)).last == ()
    assert story.at(10.7).pod("worker-0", "Unknown", **written(10)).phase is Phase.UNKNOWN


def test_t17_only_the_start_of_a_pod_that_was_unknown_says_when_it_was_written() -> None:
    story = (
        Story(workers(2)).submit().pod("worker-0", "Pending").at(4).pod("worker-0", "Running", **written(3))
    )
    assert story.state.replicas[ReplicaName("worker-0")].unknown_at is None


def test_t17_within_a_second_of_the_api_server_our_clock_decides() -> None:
    story = started(2).at(10.2).pod("worker-0", "Unknown", **written(10))
    assert story.at(10.1).pod("worker-0", "Running", **written(10)).phase is Phase.UNKNOWN
    assert story.at(10.3).pod("worker-0", "Running", **written(10)).phase is Phase.RUNNING


def test_t16_a_status_readable_again_counts_although_our_clock_was_put_back() -> None:
    story = started(2).at(40).unreadable("worker-0", **written(10))
    story.at(5).pod("worker-0", "Running", **written(20))
    assert story.state.timers == {}
    story = started(2).at(40).unreadable("worker-0", **written(10)).timer("unreadable")
    assert story.phase is Phase.UNKNOWN
    assert story.at(5).pod("worker-0", "Running", **written(80)).phase is Phase.RUNNING


def test_t16_an_unreadable_status_that_is_reported_again_after_it_was_read_is_not_lost_again() -> None:
    story = started(2).at(40).unreadable("worker-0", **written(40))
    story.at(50).pod("worker-0", "Running", **written(50))
    assert story.at(51).unreadable("worker-0", **written(40)).state.timers == {}
    assert story.at(52).unreadable("worker-0", **written(52)).timer("unreadable").phase is Phase.UNKNOWN


def test_t16_an_unreadable_status_without_a_time_counts_every_time() -> None:
    story = started(2).at(40).unreadable("worker-0")
    story.at(50).pod("worker-0", "Running")
    assert story.at(60).unreadable("worker-0").timer("unreadable").phase is Phase.UNKNOWN


def test_t17_a_job_that_was_not_up_goes_back_to_where_it_was() -> None:
    story = Story(workers(2)).submit().all_pods("Pending").pod("worker-0", "Unknown")
    assert story.at(9).pod("worker-0", "Pending").phase is Phase.PENDING
    assert story.condition("Running") is None
    story = in_phase(Phase.RESUMING).pod("worker-0", "Unknown").at(9).pod("worker-0", "Pending")
    assert story.phase is Phase.RESUMING
    assert story.conditions["Running"] == "False"


def test_t17_a_primary_known_to_have_ended_ends_the_job() -> None:
    assert started(2).pod("worker-0", "Unknown").pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always", "ExitCode"])
def test_t18_a_vanished_pod_is_made_again_without_charge(policy: str) -> None:
    story = started(2, policy=policy, runPolicy={"backoffLimit": 0}).gone("worker-1")
    assert isinstance(story.last[0], ReplicaLost)
    assert story.last[0].cause.kind is CauseClass.EVIDENCE_LOST
    assert ReplicaRequested(replica=ReplicaName("worker-1"), attempt=2, row=1) in story.last
    assert (story.phase, story.status["backoffCount"]) == (Phase.RUNNING, 0)
    text = "Replica mnist-7ac1b-worker-1 was deleted and is created again"
    assert ("ReplicaLost", text) in story.announced()


def test_t18_a_pod_that_ends_while_somebody_deletes_it_is_no_failure() -> None:
    story = started(2, runPolicy={"backoffLimit": 0}).pod("worker-0", "Running", deleting=True)
    story.pod("worker-0", "Failed", exit_code=143, deleting=True)
    assert story.phase is Phase.RUNNING
    story.gone("worker-0")
    lost = next(event for event in story.last if isinstance(event, ReplicaLost))
    assert lost.cause.kind is CauseClass.DELETED_BY_SOMEONE
    assert story.pods == ["worker-0.2", "worker-1.1"]


def test_r8_t18_against_t11_an_end_before_the_deletion_is_the_pods_own_and_is_charged() -> None:
    story = started(2, policy="OnFailure").pod(
        "worker-1", "Failed", exit_code=1, deleting=True, own_ends=("pytorch",)
    )
    assert story.status["backoffCount"] == 1
    [restart] = [event for event in story.last if isinstance(event, RestartScheduled)]
    assert restart.cause.kind is CauseClass.APPLICATION_EXIT


def test_r8_t18_against_t11_a_primary_that_failed_before_its_deletion_fails_the_job() -> None:
    story = started(2, policy="Never").pod(
        "worker-0", "Failed", exit_code=2, deleting=True, own_ends=("pytorch",)
    )
    assert story.phase is Phase.FAILED


@pytest.mark.parametrize("own_ends", [(), ("sidecar",)])
def test_r8_t18_against_t11_an_end_after_the_deletion_is_not_charged(own_ends: tuple[str, ...]) -> None:
    story = started(2, policy="OnFailure").pod(
        "worker-1", "Failed", exit_code=143, deleting=True, own_ends=own_ends
    )
    assert (story.phase, story.status["backoffCount"]) == (Phase.RUNNING, 0)
    story.gone("worker-1")
    assert story.pods == ["worker-0.1", "worker-1.2"]


def test_r8_t18_against_t11_of_two_times_in_one_second_what_the_log_knows_decides() -> None:
    """It had heard of the deletion while the pod ran."""
    story = started(2, policy="OnFailure").pod("worker-1", "Running", deleting=True)
    story.pod("worker-1", "Failed", exit_code=143, deleting=True, own_ends=("pytorch",))
    assert story.status["backoffCount"] == 0


def test_r8_t18_against_t11_exit_code_0_is_success_whenever_it_came() -> None:
    assert started(2).pod("worker-0", "Succeeded", deleting=True).phase is Phase.SUCCEEDED


@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
def test_t19_a_final_phase_has_no_exit(end: str) -> None:
    story = started(2, policy="Never").pod("worker-0", end)
    phase, conditions = story.phase, story.state.conditions
    story.pod("worker-1", "Failed").pause().resume().gone("worker-0").refused()
    story.pod("worker-1", "Running", uid="other")
    assert (story.phase, story.state.conditions) == (phase, conditions)
    assert story.replica("worker-1").phase is ReplicaPhase.FAILED, "tasks follow"
    assert story.pods == ["worker-1.1"]
    assert "PauseIgnored" in story.reasons


def test_a_deleted_job_is_closed_when_its_pods_are_gone() -> None:
    story = started(2).delete()
    assert story.children == {}
    story.pod("worker-0", "Failed", exit_code=143, deleting=True).gone("worker-0")
    assert not story.state.closed
    story.gone("worker-1")
    assert story.last[-1] == JobClosed()
    assert story.submit().pod("worker-0", "Running", uid="late", attempt=3).last == ()


def test_every_transition_of_the_table_is_named_by_a_test_here() -> None:
    names = [name for name in globals() if name.startswith("test_t")]
    rules = {row.rule.lower() for row in TABLE} - {"adopted"} | {"t19"}  # that: test_adoption.py
    assert [rule for rule in sorted(rules) if not any(n.startswith(f"test_{rule}_") for n in names)] == []
