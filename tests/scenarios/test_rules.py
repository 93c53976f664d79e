"""Rules R2 to R16 of the shared spec, as a job shows them."""

from datetime import timedelta
from typing import Any

import pytest

from statemachine.events import (
    CauseClass,
    JobAdmitted,
    ReplicaDismissed,
    ReplicaEnded,
    ReplicaFailed,
    ReplicaLost,
    RestartDenied,
    SpecChanged,
)
from statemachine.observations import Container, ContainerStatus
from statemachine.phases import Phase
from statemachine.state import ReplicaPhase
from tests.support.scenario import Story, replica_type, workers


def started(replicas: int = 2, *types: Any, **spec: Any) -> Story:
    return Story(workers(replicas, *types, **spec)).submit().at(5).all_pods("Running")


# ---- R2: updates ---------------------------------------------------------------------------------------------------


def test_r2_an_edit_inside_a_template_is_ignored_and_reported_once() -> None:
    story = started(1)
    story.spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"] = "pytorch:3"
    story.edit().edit()
    path = "spec.replicaSpecs[0].template.spec.containers[0].image"
    text = f"{path} cannot be changed after creation; delete and create the job again"
    assert [
        announcement for announcement in story.announced() if announcement[0] == "ImmutableFieldChanged"
    ] == [("ImmutableFieldChanged", text)]
    assert story.status["observedGeneration"] == 3
    assert story.children["Pod/mnist-7ac1b-worker-0"]["spec"]["containers"][0]["image"] == "pytorch:2"


def test_r2_a_wish_beside_an_ignored_edit_is_followed() -> None:
    story = started(1)
    story.spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["image"] = "pytorch:3"
    assert story.pause().phase is Phase.PAUSED
    assert "ImmutableFieldChanged" in story.reasons


def test_r2_an_invalid_update_does_not_change_a_running_job() -> None:
    story = started(1).edit(
        tensorboardSpec={"trainingLogFilesets": ["nfs://x"]}, runPolicy={"backoffLimit": 9}
    )
    assert story.phase is Phase.RUNNING
    assert story.state.running_plan.backoff_limit == 3
    assert story.reasons.count("InvalidUpdate") == 1
    assert story.status["observedGeneration"] == 2
    story.edit(runPolicy={"backoffLimit": 8})
    assert (story.reasons.count("InvalidUpdate"), story.status["observedGeneration"]) == (1, 3), (
        "announced once"
    )
    story.edit(runPolicy={"backoffLimit": -1})
    assert story.reasons.count("InvalidUpdate") == 2, "another problem"


def test_r2_an_alias_is_rewritten_and_reported_once() -> None:
    story = Story(workers(1, runMode={"pause": {"enable": True}})).submit()
    assert story.phase is Phase.PAUSED
    admitted = story.last[0]
    assert isinstance(admitted, JobAdmitted)
    assert admitted.spec["runMode"]["pause"] == {"enabled": True}
    assert story.reasons.count("DeprecatedField") == 1
    assert story.edit(runMode={"pause": {"enable": False}}).phase is Phase.RESUMING
    assert story.reasons.count("DeprecatedField") == 1


# ---- R4, R8: which exit code counts, and what it leads to ----------------------------------------------------------


def test_r4_the_training_container_decides_the_exit_code_before_all_others() -> None:
    containers = (
        Container(name="setup", state=ContainerStatus.TERMINATED, exit_code=7, init=True),
        Container(name="sidecar", state=ContainerStatus.TERMINATED, exit_code=9),
        Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=3),
    )
    failed = started(2).pod("worker-1", "Failed", containers=containers).last[0]
    assert isinstance(failed, ReplicaFailed)
    assert (failed.cause.container, failed.cause.exit_code) == ("pytorch", 3)


def test_r4_an_init_container_comes_before_the_others_if_the_training_container_did_not_fail() -> None:
    containers = (
        Container(name="sidecar", state=ContainerStatus.TERMINATED, exit_code=9),
        Container(name="setup", state=ContainerStatus.TERMINATED, exit_code=7, init=True),
        Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=0),
    )
    failed = started(2).pod("worker-1", "Failed", containers=containers).last[0]
    assert isinstance(failed, ReplicaFailed)
    assert (failed.cause.container, failed.cause.exit_code) == ("setup", 7)


def test_r4_no_code_at_all_is_an_infrastructure_failure() -> None:
    story = started(2, policy="ExitCode").pod("worker-1", "Failed", containers=(), reason="Evicted")
    failed = story.last[0]
    assert isinstance(failed, ReplicaFailed)
    assert (failed.cause.kind, failed.cause.exit_code) == (CauseClass.DISRUPTED, None)
    assert story.condition("ReplicaFailure") == (
        "True",
        "ReplicaFailed",
        "Replica mnist-7ac1b-worker-1 failed: Evicted.",
    )
    assert story.status["backoffCount"] == 1


@pytest.mark.parametrize(
    ("reason", "disruption", "container", "kind"),
    [
        ("", "", "OOMKilled", CauseClass.OUT_OF_MEMORY),
        ("NodeLost", "", "", CauseClass.NODE_LOST),
        ("", "DeletionByPodGC", "", CauseClass.NODE_LOST),
        ("", "PreemptionByScheduler", "", CauseClass.DISRUPTED),
        ("Evicted", "", "", CauseClass.DISRUPTED),
        ("", "", "Error", CauseClass.APPLICATION_EXIT),
    ],
)
def test_the_cause_class_comes_from_evidence(
    reason: str, disruption: str, container: str, kind: CauseClass
) -> None:
    ended = Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=137, reason=container)
    story = started(2).pod("worker-1", "Failed", containers=(ended,), reason=reason, disruption=disruption)
    failed = story.last[0]
    assert isinstance(failed, ReplicaFailed)
    assert failed.cause.kind is kind


def test_the_cause_class_of_a_pod_that_ends_while_somebody_deletes_it() -> None:
    story = started(2).pod("worker-1", "Failed", exit_code=143, deleting=True)
    (ended,) = [event for event in story.last if isinstance(event, ReplicaEnded)]
    assert ended.cause.kind is CauseClass.DELETED_BY_SOMEONE
    story = started(2).pod("worker-1", "Failed", exit_code=1, deleting=True, own_ends=("pytorch",))
    (failed,) = [event for event in story.last if isinstance(event, ReplicaFailed)]
    assert failed.cause.kind is CauseClass.APPLICATION_EXIT


def test_the_cause_class_of_a_pod_that_is_gone_says_whether_its_deletion_was_observed() -> None:
    story = started(2).pod("worker-1", "Running", deleting=True).gone("worker-1")
    (lost,) = [event for event in story.last if isinstance(event, ReplicaLost)]
    assert lost.cause.kind is CauseClass.DELETED_BY_SOMEONE
    (lost,) = [event for event in started(2).gone("worker-1").last if isinstance(event, ReplicaLost)]
    assert lost.cause.kind is CauseClass.EVIDENCE_LOST


RETRYABLE = (130, 137, 143, 138)


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "ExitCode", "Always"])
@pytest.mark.parametrize("code", [0, *RETRYABLE, 1, 134, 139, 255, None])
def test_r8_the_policy_decides_what_is_restarted(policy: str, code: int | None) -> None:
    story = started(2, policy=policy)
    if code is None:
        story.pod("worker-1", "Failed", containers=(), reason="Evicted")
    else:
        story.pod("worker-1", "Failed" if code else "Succeeded", exit_code=code)
    restarted = {
        "Never": False,
        "OnFailure": code != 0,
        "ExitCode": code is None or code in RETRYABLE,
        "Always": True,
    }[policy]
    assert story.status["backoffCount"] == int(restarted)
    assert (story.replica("worker-1").leaving == "restart") is restarted


def test_r8_always_does_not_restart_the_primary_that_succeeded() -> None:
    assert started(1, policy="Always").pod("worker-0", "Succeeded").phase is Phase.SUCCEEDED


def test_r8_a_restart_after_success_is_no_replica_failure() -> None:
    story = started(2, policy="Always").pod("worker-1", "Succeeded")
    assert story.status["backoffCount"] == 1
    assert story.conditions["ReplicaFailure"] == "False"


def test_r8_without_budget_a_replica_that_succeeded_stays_so() -> None:
    story = started(2, policy="Always", runPolicy={"backoffLimit": 0}).pod("worker-1", "Succeeded")
    assert story.replica("worker-1").phase is ReplicaPhase.SUCCEEDED
    assert story.conditions["ReplicaFailure"] == "False"
    assert story.pods == ["worker-0.1", "worker-1.1"]


def test_r8_a_limit_of_nought_restarts_nothing() -> None:
    story = started(1, runPolicy={"backoffLimit": 0}).pod("worker-0", "Failed")
    message = "The job has failed because the restart limit (0) has been reached."
    assert story.condition("Failed") == ("True", "BackoffLimitExceeded", message)


def test_r8_a_raised_limit_applies_to_later_failures_only() -> None:
    story = started(3, runPolicy={"backoffLimit": 0}).pod("worker-1", "Failed")
    story.edit(runPolicy={"backoffLimit": 1})
    assert isinstance(story.last[0], SpecChanged)
    story.pod("worker-1", "Failed")
    assert story.status["backoffCount"] == 0
    story.pod("worker-2", "Failed")
    assert story.status["backoffCount"] == 1


def test_r8_a_limit_lowered_below_what_was_spent_leaves_nothing() -> None:
    story = started(2, runPolicy={"backoffLimit": 3})
    for _ in range(2):
        story.pod("worker-1", "Failed").gone("worker-1").at(story.clock + 700).pod("worker-1", "Running")
    story.edit(runPolicy={"backoffLimit": 1}).pod("worker-1", "Failed")
    (denied,) = [event for event in story.last if isinstance(event, RestartDenied)]
    assert (denied.exhausted, denied.limit) == (True, 1)
    assert (denied.cause.budget_before, denied.cause.budget_after) == (0, 0)
    assert (story.status["backoffCount"], story.pods) == (2, ["worker-0.1", "worker-1.3"])
    story.pod("worker-0", "Failed")
    assert (story.phase, story.pods[:1]) == (Phase.FAILED, ["worker-0.1"])
    failed = story.condition("Failed")
    assert failed is not None
    assert failed[1] == "BackoffLimitExceeded"


def test_r8_the_budget_survives_a_pause() -> None:
    story = started(2, runPolicy={"backoffLimit": 1}).pod("worker-1", "Failed").gone("worker-1")
    story.pod("worker-1", "Running").pause().gone("worker-0").gone("worker-1").resume().all_pods("Running")
    story.pod("worker-1", "Failed")
    assert story.status["backoffCount"] == 1
    assert story.replica("worker-1").lost_for_good


def test_r8_a_primary_that_the_policy_would_not_restart_failed_by_itself() -> None:
    story = started(1, policy="ExitCode", runPolicy={"backoffLimit": 0}).pod(
        "worker-0", "Failed", exit_code=1
    )
    assert story.condition("Failed") == ("True", "Failed", "The job exited with an error code.")


# ---- R9: clean-up and deadline -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("None", ["worker-0.1", "worker-1.1", "worker-2.1"]),
        ("Unfinished", ["worker-0.1", "worker-2.1"]),
        ("All", []),
    ],
)
def test_r9_the_clean_up_policy_says_which_pods_stay(policy: str, left: list[str]) -> None:
    story = started(3, policy="Never", runPolicy={"cleanUpPolicy": policy}).pod("worker-2", "Failed")
    story.pod("worker-0", "Succeeded")
    assert story.pods == left
    deleted = 3 - len(left)
    said = [message for reason, message in story.announced() if reason == "CleanedUp"]
    assert said == ([f"Deleted {deleted} pods (policy {policy})"] if deleted else [])


def test_r9_a_pod_not_made_when_the_job_ends_is_not_made_any_more() -> None:
    story = Story(workers(2)).submit().pod("worker-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    assert story.pods == ["worker-0.1"]


def test_r9_clean_up_is_not_repeated_after_a_later_edit() -> None:
    story = started(2).pod("worker-0", "Succeeded").edit(runPolicy={"cleanUpPolicy": "All"})
    assert story.pods == ["worker-0.1", "worker-1.1"]
    assert ("InvalidUpdate", "spec.runPolicy is immutable") in story.announced()


def test_r9_the_deadline_does_not_run_while_paused() -> None:
    story = started(1, runPolicy={"activeDeadlineSeconds": 30}).at(20).pause()
    assert story.state.timers == {}
    story.gone("worker-0").at(1000).resume()
    assert (story.state.timers["deadline"] - story.now).total_seconds() == 30


def test_r9_a_changed_deadline_moves_the_timer() -> None:
    story = started(1, runPolicy={"activeDeadlineSeconds": 30})
    old = story.state.timers["deadline"]
    story.edit(runPolicy={"activeDeadlineSeconds": 90})
    assert (story.state.timers["deadline"] - old).total_seconds() == 60
    assert story.edit(runPolicy={"activeDeadlineSeconds": None}).state.timers == {}


def test_r9_services_stay_and_the_pod_group_goes_when_the_job_ends() -> None:
    story = started(1, scheduler={"t9kScheduler": {"queue": "q"}})
    assert "PodGroup/mnist" in story.children
    story.pod("worker-0", "Succeeded")
    assert "PodGroup/mnist" not in story.children
    assert "Service/mnist-7ac1b-worker-0" in story.children


# ---- R11, R12 ------------------------------------------------------------------------------------------------------


def test_r11_pods_that_end_because_of_the_pause_cost_nothing() -> None:
    story = started(2, runPolicy={"backoffLimit": 0}).pause().pod("worker-0", "Failed", exit_code=143)
    assert (story.phase, story.status["backoffCount"]) == (Phase.PAUSED, 0)
    assert story.status["tasks"][0]["replicas"][0]["phase"] == "Running", (
        "a pod being deleted keeps its phase"
    )
    story.gone("worker-0").gone("worker-1")
    replica = story.status["tasks"][0]["replicas"][0]
    assert (replica["phase"], replica["uid"]) == ("Deleted", "")
    assert replica["containers"] == [{"name": "pytorch", "state": "Terminated", "exitCode": 143}]


def test_r11_the_pod_group_is_deleted_and_services_stay_while_paused() -> None:
    story = started(1, scheduler={"t9kScheduler": {}}).pause()
    assert sorted(story.children) == ["Service/mnist-7ac1b-worker-0"]


def test_r11_pausing_a_finished_job_does_nothing() -> None:
    story = started(1).pod("worker-0", "Succeeded").pause()
    assert story.phase is Phase.SUCCEEDED
    assert story.reasons[-1] == "PauseIgnored"


def test_r11_pause_during_a_restart_and_before_pods_exist_leaves_nothing() -> None:
    story = Story(workers(2)).submit().pod("worker-0", "Running").pod("worker-0", "Failed").pause()
    assert story.pods == []
    story.gone("worker-0").gone("worker-1", uid="")
    assert story.status["aggregate"]["deleted"] == 2
    assert story.resume().pods == ["worker-0.2", "worker-1.2"]


def test_r11_pods_of_before_a_pause_count_for_nothing_after_it() -> None:
    story = started(2).pause().resume()
    assert (story.phase, story.state.accepted) == (Phase.RESUMING, 1)
    story.pod("worker-0", "Failed", exit_code=143).gone("worker-0").pod("worker-1", "Failed", exit_code=143)
    assert story.gone("worker-1").phase is Phase.RESUMING
    assert story.all_pods("Running").phase is Phase.RUNNING
    assert story.reasons.count("Start") == 2


def test_r11_nor_do_they_for_an_elastic_job() -> None:
    story = Story(elastic(2, 6, 4)).submit().all_pods("Running").pause().resume()
    assert story.phase is Phase.RESUMING


def test_r12_a_scale_changed_while_paused_is_used_at_resume() -> None:
    story = Story(elastic(2, 6, 4)).submit().all_pods("Running").pause()
    for name in list(story.state.replicas):
        story.gone(name)
    story.edit(elastic={"expectedReplicas": 2})
    assert story.status["aggregate"]["deleted"] == 2
    assert story.resume().pods == ["worker-0.2", "worker-1.2"]


def elastic(least: int, most: int, expected: int) -> dict[str, object]:
    spec = workers(1, torchrunConfig={"enabled": True})
    spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["train.py"]
    bounds = {"enabled": True, "minReplicas": least, "maxReplicas": most, "expectedReplicas": expected}
    return {**spec, "elastic": bounds}


@pytest.mark.parametrize("bounds", [{}, {"minReplicas": 1, "maxReplicas": 5}])
def test_g21_a_wish_for_more_replicas_of_a_job_that_is_not_elastic_is_refused_once(
    bounds: dict[str, int],
) -> None:
    story = started(2, elastic=bounds).edit(elastic={"expectedReplicas": 4})
    text = "spec.elastic is not enabled: the number of replicas stays 2"
    assert [announcement for announcement in story.announced() if announcement[0] == "ScaleIgnored"] == [
        ("ScaleIgnored", text)
    ]
    assert story.state.running_plan.scale == 2
    story.pause().edit(elastic={"expectedReplicas": 3})
    assert story.reasons.count("ScaleIgnored") == 2


def test_g21_says_nothing_of_elastic_jobs() -> None:
    story = Story(elastic(2, 6, 3)).submit().all_pods("Running").edit(elastic={"expectedReplicas": 2})
    assert "ScaleIgnored" not in story.reasons


def test_r12_scaling_up_again_before_the_old_pod_is_gone_makes_a_new_one() -> None:
    story = Story(elastic(2, 6, 3)).submit().all_pods("Running").edit(elastic={"expectedReplicas": 2})
    assert any(isinstance(event, ReplicaDismissed) and event.why == "scale" for event in story.last)
    story.edit(elastic={"expectedReplicas": 3})
    assert story.pods == ["worker-0.1", "worker-1.1"]
    assert story.gone("worker-2").pods == ["worker-0.1", "worker-1.1", "worker-2.2"]
    assert ("Scaled", "Scale changed from 3 to 2 replicas") in story.announced()


# ---- R7, R14 -------------------------------------------------------------------------------------------------------


def test_r7_the_status_has_the_layout_of_the_worked_example() -> None:
    story = started(2, tensorboardSpec={"logDir": {"http": {"url": ["http://x"]}}}).board()
    container = {"name": "pytorch", "state": "Running"}
    assert story.status == {
        "phase": "Running",
        "startTime": "2024-01-09T15:00:00Z",
        "observedGeneration": 1,
        "backoffCount": 0,
        "aggregate": {
            "creating": 0,
            "deleted": 0,
            "failed": 0,
            "pending": 0,
            "running": 2,
            "succeeded": 0,
            "unknown": 0,
        },
        "tasks": [
            {
                "type": "worker",
                "restartCount": 0,
                "replicas": [
                    {
                        "name": f"mnist-7ac1b-worker-{index}",
                        "uid": f"worker-{index}.1",
                        "phase": "Running",
                        "containers": [container],
                    }
                    for index in range(2)
                ],
            }
        ],
        "conditions": [
            condition("Initialized", "True", "The job has been initialized successfully."),
            condition("ReplicaFailure", "False", "All pods are running normally."),
            condition("Running", "True", "All pods are running normally."),
        ],
        "tensorboard": {
            "dependent": {
                "apiVersion": "tensorstack.dev/v1beta1",
                "kind": "TensorBoard",
                "name": "mnist-7ac1b",
                "namespace": "demo",
                "uid": "u-3",
            },
            "ready": True,
            "reason": "DependentReady",
            "action": "NOP",
            "type": "Normal",
            "note": "TensorBoard [mnist-7ac1b] is ready",
        },
    }


def condition(type_: str, value: str, message: str) -> dict[str, str]:
    return {
        "type": type_,
        "status": value,
        "reason": "-",
        "message": message,
        "lastTransitionTime": "2024-01-09T15:00:05Z",
    }


def test_r7_containers_are_shown_with_exit_code_0_and_init_containers_are_not() -> None:
    ends = (
        Container(name="prepare", state=ContainerStatus.TERMINATED, exit_code=0, init=True),
        Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=0),
    )
    story = started(2).pod("worker-1", "Succeeded", containers=ends)
    assert story.status["tasks"][0]["replicas"][1]["containers"] == [
        {"name": "pytorch", "state": "Terminated", "exitCode": 0}
    ]


def test_r6_the_time_of_a_condition_moves_only_with_its_status() -> None:
    story = (
        started(2).at(10).pod("worker-1", "Failed").at(20).gone("worker-1").at(30).pod("worker-1", "Running")
    )
    first = story.state.condition("ReplicaFailure")
    assert first is not None
    assert (first.status, first.changed_at) == ("False", story.now)
    running = story.state.condition("Running")
    assert running is not None
    assert running.changed_at < story.now


@pytest.mark.parametrize(
    ("do", "reason", "ready", "action", "kind"),
    [
        ("nothing", "DependentNotFound", False, "Create", "Normal"),
        ("starting", "DependentNotReady", False, "NOP", "Normal"),
        ("running", "DependentReady", True, "NOP", "Normal"),
        ("edited", "DependentOutdated", False, "Update", "Normal"),
        ("refused", "DependentError", False, "Create", "Warning"),
    ],
)
def test_r14_the_tensorboard_status_follows_the_table(
    do: str, reason: str, ready: bool, action: str, kind: str
) -> None:
    story = started(1, tensorboardSpec={"image": "tb:1"})
    if do == "refused":
        story.refused("TensorBoard", 404, "no such kind", name="mnist-7ac1b")
    elif do != "nothing":
        story.board(running=do != "starting")
    if do == "edited":
        story.edit(tensorboardSpec={"image": "tb:2"})
    board = story.status["tensorboard"]
    row = (board["reason"], board["ready"], board["action"], board["type"])
    assert row == (reason, ready, action, kind)
    assert story.phase is Phase.RUNNING


def test_r14_a_refused_tensorboard_does_not_hold_up_the_pods() -> None:
    story = Story(workers(1, tensorboardSpec={"image": "tb:1"})).submit()
    story.refused("TensorBoard", 404, "no such kind", name="mnist-7ac1b")
    assert story.condition("Initialized") is None
    assert "retry" not in story.state.timers
    assert story.pod("worker-0", "Running").phase is Phase.RUNNING


# ---- R5: order, repetition, lateness -------------------------------------------------------------------------------


def test_r5_reports_of_a_retired_pod_are_dropped() -> None:
    story = started(2).pod("worker-1", "Failed", exit_code=137).gone("worker-1").pod("worker-1", "Running")
    story.see(story.pod_seen("worker-1", "Failed", uid="worker-1.1", attempt=1))
    assert story.last == ()


def test_r5_a_repeated_or_late_report_changes_nothing() -> None:
    story = Story(workers(2)).submit()
    observations = [story.pod_seen("worker-0", phase) for phase in ("Pending", "Running", "Failed")]
    for observation in observations:
        story.see(observation)
    known = story.state
    for observation in (*observations, *reversed(observations)):
        assert story.see(observation).last == ()
    assert story.state == known


def test_r5_an_older_generation_is_not_gone_back_to() -> None:
    story = started(1)
    story.edit(runPolicy={"backoffLimit": 5})
    story.generation = 1
    assert story.edit(runPolicy={"backoffLimit": 1}).last == ()


def test_two_types_share_one_budget_and_count_their_own_restarts() -> None:
    story = started(1, replica_type("ps", 1)).pod("ps-0", "Failed").gone("ps-0").pod("ps-0", "Running")
    assert [task["restartCount"] for task in story.status["tasks"]] == [0, 1]
    assert story.status["backoffCount"] == 1


@pytest.mark.parametrize("seconds", [2**63 - 1, 2**40, 36525 * 86400 + 1])
def test_g19_a_deadline_saturates_at_a_hundred_years(seconds: int) -> None:
    story = started(1, runPolicy={"activeDeadlineSeconds": seconds})
    assert story.state.started_at is not None
    assert story.state.timers["deadline"] - story.state.started_at == timedelta(days=36525)
    assert story.delete().state.deleted
