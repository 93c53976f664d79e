"""Worked examples A to F of kubeflow-pytorchjob.md, and the rows of its sections 4 to 7, as stories."""

from datetime import timedelta
from typing import Any

import pytest

from projectors.explain import explain
from projectors.explain.model import IncidentKind
from projectors.history.facts import facts
from statemachine.events import ConditionsChanged, JobExpired, ReplicaDismissed
from statemachine.observations import Container, ContainerStatus
from statemachine.phases import Phase
from tests.support.pytorchjob import SELECTOR, TorchStory, replicas, running, training
from tests.support.scenario import START, merged

CREATED, RUNNING = "Created=True PyTorchJobCreated", "Running=True PyTorchJobRunning"
RESTARTING = "Restarting=True PyTorchJobRestarting"
FAILED, SUCCEEDED = "Failed=True PyTorchJobFailed", "Succeeded=True PyTorchJobSucceeded"
OVER = "Running=False PyTorchJobRunning"

LIMIT = "Job retry has failed because it has reached the specified backoff limit"
DEADLINE = "Job retry has failed because it was active longer than specified deadline"


def up(**spec: Any) -> TorchStory:
    """A job whose pods all run."""
    return TorchStory(training(**spec)).submit().up()


def message(story: TorchStory, type_: str) -> str:
    condition = story.condition(type_)
    assert condition is not None
    return condition[2]


def evicted(story: TorchStory, replica: str) -> TorchStory:
    """The pod fails, and no container has an exit code."""
    waiting = (Container(name="pytorch", state=ContainerStatus.WAITING),)
    story.pod(replica, "Failed", containers=waiting, reason="Evicted", message="The node was low on memory.")
    return story


# ---- worked examples ---------------------------------------------------------------------------------------------


def test_example_a_the_master_decides_and_the_status_counts() -> None:
    story = TorchStory(training(policy="OnFailure"), name="pytorchjob-distributed-training").submit()
    names = ["master-0", "worker-0", "worker-1"]
    assert (story.services, story.pods) == (names, [f"{name}.1" for name in names])
    story.at(9).up()
    name = "pytorchjob-distributed-training"
    assert story.status == {
        "startTime": "2024-01-09T15:00:00Z",
        "replicaStatuses": {
            "Master": {"active": 1, "selector": SELECTOR.format(name, "master")},
            "Worker": {"active": 2, "selector": SELECTOR.format(name, "worker")},
        },
        "conditions": [
            {
                "type": "Created",
                "status": "True",
                "reason": "PyTorchJobCreated",
                "message": f"PyTorchJob {name} is created.",
                "lastUpdateTime": "2024-01-09T15:00:00Z",
                "lastTransitionTime": "2024-01-09T15:00:00Z",
            },
            {
                "type": "Running",
                "status": "True",
                "reason": "PyTorchJobRunning",
                "message": f"PyTorchJob {name} is running.",
                "lastUpdateTime": "2024-01-09T15:00:09Z",
                "lastTransitionTime": "2024-01-09T15:00:09Z",
            },
        ],
    }
    story.at(60).pod("master-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    assert story.listed == [CREATED, OVER, SUCCEEDED]
    assert message(story, "Succeeded") == f"PyTorchJob {name} is successfully completed."
    assert story.numbers == {"Master": {"succeeded": 1}, "Worker": {"succeeded": 2}}
    assert story.status["completionTime"] == "2024-01-09T15:01:00Z"
    assert story.pods == [f"{name}.1" for name in names]


def test_example_b_a_worker_that_is_done_does_not_end_the_job() -> None:
    story = up(workers=1, policy="OnFailure").pod("worker-0", "Succeeded")
    assert story.listed == [CREATED, RUNNING]
    assert story.numbers == {"Master": {"active": 1}, "Worker": {"succeeded": 1}}


def test_example_c_of_elastic_workers_one_success_is_enough_and_more_come_by_scaling() -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 3, "maxRestarts": 100}
    story = TorchStory(training(master=False, elastic=elastic), name="elastic").submit().up()
    assert message(story, "Running") == "PyTorchJob demo/elastic is running."
    story.scale(3)
    assert story.pods == ["worker-0.1", "worker-1.1", "worker-2.1"]
    assert story.services == ["worker-0", "worker-1", "worker-2"]
    story.pod("worker-2", "Running").pod("worker-1", "Succeeded")
    assert story.listed == [CREATED, OVER, SUCCEEDED]
    assert message(story, "Succeeded") == "PyTorchJob demo/elastic successfully completed."
    assert story.numbers == {"Worker": {"succeeded": 3}}


def test_scaled_counts_workers_as_the_scale_subresource_does() -> None:
    elastic = {"minReplicas": 1, "maxReplicas": 4}
    story = TorchStory(training(workers=2, elastic=elastic)).submit().up().scale(3)
    assert ("Scaled", "Scale changed from 2 to 3 replicas") in story.announced()
    says = [
        incident.says for incident in explain(story.steps).incidents if incident.kind is IncidentKind.SCALE
    ]
    assert [sentence.startswith("The scale was changed from 2 to 3 replicas") for sentence in says] == [True]
    assert any('"elastic": [1, 4, 3]' in str(fact) for fact in facts(story.state, START))


def test_example_d_137_is_made_again_and_1_fails_the_job() -> None:
    story = up().at(20).pod("worker-0", "Failed", exit_code=137)
    assert story.listed == [CREATED, RESTARTING]
    assert message(story, "Restarting") == "job retry is restarting because Worker replica(s) failed."
    assert story.numbers == {"Master": {"active": 1}, "Worker": {"active": 1, "failed": 1}}
    assert story.pods == ["master-0.1", "worker-1.1"]
    assert story.services == ["master-0", "worker-0", "worker-1"]
    story.at(22).gone("worker-0").at(25).pod("worker-0", "Running")
    assert story.listed == [CREATED, RUNNING]
    assert story.pods == ["master-0.1", "worker-0.2", "worker-1.1"]
    story.at(40).pod("worker-0", "Failed", exit_code=1)
    assert story.listed == [CREATED, OVER, FAILED]
    assert message(story, "Failed") == 'job "retry" is failing because "Worker" replica(s) failed.'
    assert story.status["completionTime"] == "2024-01-09T15:00:40Z"


def test_example_e_suspended_and_resumed() -> None:
    story = up().at(10).suspend()
    assert story.phase is Phase.PAUSED
    assert (story.pods, story.services) == ([], [])
    suspended = "Suspended=True PyTorchJobSuspended"
    assert story.listed == [CREATED, "Running=False PyTorchJobSuspended", suspended]
    assert message(story, "Running") == message(story, "Suspended") == "PyTorchJob retry is suspended."
    assert story.numbers == {"Master": {"active": 1}, "Worker": {"active": 2}}
    story.pod("master-0", "Running", deleting=True).pod("worker-0", "Running", deleting=True)
    assert story.numbers == {"Master": {}, "Worker": {"active": 1}}
    story.at(12).all_gone().at(30).suspend(on=False)
    assert message(story, "Suspended") == "PyTorchJob retry is resumed."
    assert story.status["startTime"] == "2024-01-09T15:00:30Z"
    assert story.pods == ["master-0.2", "worker-0.2", "worker-1.2"]
    story.up()
    assert story.listed == [CREATED, "Suspended=False PyTorchJobResumed", RUNNING]


def test_a_worker_that_leaves_the_scale_is_active_until_its_deletion_is_accepted() -> None:
    """Kueue gives a quota away by these numbers."""
    story = up().scale(1)
    assert story.pods == ["master-0.1", "worker-0.1"]
    assert story.numbers == {"Master": {"active": 1}, "Worker": {"active": 2}}
    story.pod("worker-1", "Running", deleting=True)
    assert story.numbers == {"Master": {"active": 1}, "Worker": {"active": 1}}


def test_pods_that_a_deadline_takes_are_active_until_their_deletion_is_accepted() -> None:
    story = up(activeDeadlineSeconds=60).timer("deadline")
    assert (story.phase, story.pods) == (Phase.FAILED, [])
    assert story.numbers == {"Master": {"active": 1}, "Worker": {"active": 2}}
    story.pod("master-0", "Running", deleting=True).pod("worker-0", "Running", deleting=True).gone("worker-1")
    assert story.numbers == {"Master": {}, "Worker": {}}


@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
def test_a_worker_that_has_ended_in_the_same_moment_as_the_master_is_not_cleaned_up(end: str) -> None:
    story = up(cleanPodPolicy="Running").pod("master-0", "Succeeded")
    assert story.pods == ["master-0.1"]
    story.pod("worker-0", end)
    assert story.pods == ["master-0.1", "worker-0.1"]
    story.pod("worker-1", end, deleting=True).gone("worker-1")
    assert story.pods == ["master-0.1", "worker-0.1"]


def test_example_f_running_pods_are_cleaned_and_the_job_expires() -> None:
    story = up(cleanPodPolicy="Running", ttlSecondsAfterFinished=100)
    story.at(50).pod("worker-1", "Succeeded").at(60).pod("master-0", "Succeeded")
    assert (story.pods, story.services) == (["master-0.1", "worker-1.1"], ["master-0", "worker-1"])
    story.all_gone()
    assert story.numbers == {"Master": {"succeeded": 1}, "Worker": {"succeeded": 2}}
    assert story.state.timers == {"expiry": START + timedelta(seconds=160)}
    story.timer("expiry")
    assert story.clock == 160
    assert JobExpired(at=story.now, after_seconds=100) in story.last
    assert ("SuccessfulDeletePod", "Deleted job: retry") in story.announced()
    assert story.state.expired
    assert not story.state.timers


# ---- section 4: conditions ---------------------------------------------------------------------------------------


def test_a_job_is_running_with_its_master_alone() -> None:
    story = TorchStory(training()).submit().pod("worker-0", "Running")
    assert story.listed == [CREATED]
    assert story.pod("master-0", "Running").listed == [CREATED, RUNNING]


def test_a_job_without_master_is_running_with_its_first_worker() -> None:
    story = TorchStory(training(master=False)).submit().pod("worker-1", "Running")
    assert story.listed == [CREATED, RUNNING]


def test_a_pod_that_runs_while_it_is_deleted_counts_as_failed() -> None:
    story = up().at(5).pod("worker-1", "Running", deleting=True)
    assert story.listed == [CREATED, RESTARTING]
    assert (
        message(story, "Restarting") == "PyTorchJob retry is restarting because 1 Worker replica(s) failed."
    )
    assert story.numbers["Worker"] == {"active": 1, "failed": 1}
    assert story.at(6).pod("worker-1", "Running", deleting=True).last == ()
    story.at(8).gone("worker-1")
    assert story.listed == [CREATED, RUNNING]
    assert story.pods == ["master-0.1", "worker-0.1", "worker-1.2"]
    assert story.state.spent == 0


def test_who_deletes_a_running_pod_of_policy_never_fails_the_job() -> None:
    story = up(policy="Never").pod("worker-1", "Running", deleting=True)
    assert message(story, "Failed") == "PyTorchJob retry is failed because 1 Worker replica(s) failed."


def test_the_first_words_of_a_restart_stay() -> None:
    story = up().at(5).pod("worker-0", "Failed", exit_code=143)
    first = story.status["conditions"]
    story.at(6).pod("master-0", "Failed", exit_code=137)
    assert story.status["conditions"] == first
    assert story.reasons.count("PyTorchJobRestarting") == 1


def test_after_failed_no_condition_changes() -> None:
    story = up(policy="Never").pod("worker-0", "Failed", exit_code=1)
    before = story.status["conditions"]
    story.at(90).pod("worker-1", "Failed", exit_code=1).pod("master-0", "Succeeded").suspend()
    assert story.status["conditions"] == before
    assert story.phase is Phase.FAILED


def test_an_invalid_job_has_no_children() -> None:
    spec = training()
    spec["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] = "main"
    story = TorchStory(spec).submit()
    assert story.listed == [CREATED, "Failed=True PyTorchJobFailedValidation"]
    assert "must have at least one container with name pytorch" in message(story, "Failed")
    assert (story.children, "replicaStatuses" in story.status) == ({}, False)
    assert "PyTorchJobFailedValidation" in story.reasons


def test_a_job_of_another_cluster_is_left_alone() -> None:
    story = TorchStory(training(managedBy="kueue.x-k8s.io/multikueue")).submit().suspend()
    assert (story.entries, story.phase) == ([], Phase.NEW)
    named = TorchStory(training(managedBy="kubeflow.org/training-operator")).submit()
    assert named.phase is Phase.PENDING


# ---- section 5: success, failure, restart ------------------------------------------------------------------------


def test_without_master_all_workers_have_to_succeed() -> None:
    story = up(master=False).pod("worker-0", "Succeeded")
    assert story.listed == [CREATED, RUNNING]
    story.gone("worker-0")  # somebody cleans up behind it: it has done its work
    assert story.pods == ["worker-1.1"]
    assert story.pod("worker-1", "Succeeded").phase is Phase.SUCCEEDED
    assert story.numbers == {"Worker": {"succeeded": 2}}


@pytest.mark.parametrize("replica", ["master-0", "worker-1"])
@pytest.mark.parametrize("code", [1, 137])
def test_policy_never_fails_the_job_with_any_pod(replica: str, code: int) -> None:
    story = up(policy="Never").pod(replica, "Failed", exit_code=code)
    key = replica.partition("-")[0].capitalize()
    assert message(story, "Failed") == f"PyTorchJob retry is failed because 1 {key} replica(s) failed."
    assert story.pods == ["master-0.1", "worker-0.1", "worker-1.1"]


@pytest.mark.parametrize("code", [128, 130, 137, 139, 143, 255])
def test_policy_exit_code_makes_pods_again_that_a_signal_ended(code: int) -> None:
    story = up().pod("master-0", "Failed", exit_code=code).gone("master-0")
    assert story.pods[0] == "master-0.2"
    assert story.phase is Phase.RUNNING


@pytest.mark.parametrize("code", [1, 2, 127])
def test_policy_exit_code_fails_the_job_for_other_codes(code: int) -> None:
    story = up().pod("master-0", "Failed", exit_code=code)
    assert message(story, "Failed") == 'job "retry" is failing because "Master" replica(s) failed.'


def test_the_code_of_container_pytorch_counts_and_no_other() -> None:
    ends = (
        Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=0),
        Container(name="sidecar", state=ContainerStatus.TERMINATED, exit_code=137),
    )
    for order in (ends, ends[::-1]):
        assert up().pod("worker-0", "Failed", containers=order).phase is Phase.FAILED


@pytest.mark.parametrize("policy", ["ExitCode", "OnFailure", "Always"])
def test_an_evicted_pod_is_made_again(policy: str) -> None:
    story = evicted(up(policy=policy), "worker-0")
    assert story.listed == [CREATED, RESTARTING]
    assert story.gone("worker-0").pods == ["master-0.1", "worker-0.2", "worker-1.1"]
    assert story.state.spent == 1


def test_an_evicted_pod_of_policy_never_fails_the_job() -> None:
    assert evicted(up(policy="Never"), "worker-0").phase is Phase.FAILED


def test_containers_that_the_kubelet_starts_again_are_not_the_job_s_business() -> None:
    story = up(policy="OnFailure").pod("worker-0", "Running", containers=running(3))
    assert story.listed == [CREATED, RUNNING]
    assert story.pods == ["master-0.1", "worker-0.1", "worker-1.1"]


def test_a_pod_that_vanishes_is_made_again_without_a_word() -> None:
    story = up().gone("worker-1")
    assert story.listed == [CREATED, RUNNING]
    assert story.pods == ["master-0.1", "worker-0.1", "worker-1.2"]


@pytest.mark.parametrize(("limit", "enough"), [(0, 1), (1, 1), (3, 3)])
def test_restarts_in_place_fail_the_job_at_its_limit(limit: int, enough: int) -> None:
    story = up(policy="OnFailure", backoffLimit=limit)
    story.pod("worker-0", "Running", containers=running(enough - 1))
    assert story.phase is Phase.RUNNING
    story.pod("worker-0", "Running", containers=running(enough))
    assert message(story, "Failed") == LIMIT
    assert (story.pods, story.services) == ([], [])


def test_restarts_of_all_pods_and_of_init_containers_add_up() -> None:
    story = up(policy="OnFailure", backoffLimit=4).pod("worker-0", "Running", containers=running(1, init=1))
    evicted(story, "worker-1").gone("worker-1")
    assert story.phase is Phase.RUNNING
    assert story.pod("master-0", "Running", containers=running(1)).phase is Phase.FAILED


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_the_limit_is_the_number_of_pods_that_are_made_again(limit: int) -> None:
    story = up(backoffLimit=limit)
    for _ in range(limit):
        story.pod("worker-0", "Failed", exit_code=137).gone("worker-0")
        if "backoff" in story.state.timers:
            story.timer("backoff")
        assert story.pod("worker-0", "Running").phase is Phase.RUNNING
    story.pod("worker-0", "Failed", exit_code=137)
    assert message(story, "Failed") == LIMIT
    assert (story.pods, story.reasons.count("PyTorchJobRestarting")) == ([], limit)


def test_pods_of_all_replicas_share_the_limit() -> None:
    story = up(backoffLimit=2)
    for replica in ("worker-0", "worker-1"):
        story.pod(replica, "Failed", exit_code=137).gone(replica).pod(replica, "Running")
    assert story.phase is Phase.RUNNING
    assert message(story.pod("master-0", "Failed", exit_code=137), "Failed") == LIMIT


def test_a_restart_in_place_beside_pods_made_again_fails_the_job_at_its_limit() -> None:
    story = up(policy="OnFailure", backoffLimit=2)
    evicted(story, "worker-0").gone("worker-0").pod("worker-0", "Running")
    assert story.phase is Phase.RUNNING
    story.pod("worker-0", "Running", containers=running(1))
    assert message(story, "Failed") == LIMIT


def test_a_restart_in_place_leaves_fewer_pods_to_be_made_again() -> None:
    story = up(policy="OnFailure", backoffLimit=2).pod("worker-0", "Running", containers=running(1))
    evicted(story, "worker-1").gone("worker-1").pod("worker-1", "Running")
    assert story.phase is Phase.RUNNING
    assert message(evicted(story, "worker-1"), "Failed") == LIMIT


def test_a_pod_made_again_does_not_make_earlier_restarts_in_place_too_many() -> None:
    story = up(policy="OnFailure", backoffLimit=2).pod("worker-0", "Running", containers=running(1))
    evicted(story, "worker-1").gone("worker-1").pod("worker-1", "Running")
    story.pod("worker-0", "Running", containers=running(1), ready=True)
    story.at(30).pod("worker-0", "Unknown", containers=running(1))
    story.at(31).pod("worker-0", "Running", containers=running(1))
    assert story.phase is Phase.RUNNING
    assert message(story.pod("worker-0", "Running", containers=running(2)), "Failed") == LIMIT


@pytest.mark.parametrize("reported", [True, False])
def test_init_containers_that_were_started_again_count_once_the_pod_runs(reported: bool) -> None:
    story = up(policy="OnFailure", backoffLimit=2)
    evicted(story, "worker-0").gone("worker-0")
    assert story.phase is Phase.RUNNING
    if reported:
        story.pod("worker-0", "Pending", containers=running(0, init=1))
        assert story.phase is Phase.RUNNING
    story.pod("worker-0", "Running", containers=running(0, init=1))
    assert message(story, "Failed") == LIMIT


def test_restarts_of_policy_never_do_not_count() -> None:
    spec = training(policy="OnFailure", backoffLimit=1)
    spec["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "Never"
    story = TorchStory(spec).submit().up().pod("worker-0", "Running", containers=running(5))
    assert story.phase is Phase.RUNNING


def test_a_limit_that_is_lowered_below_the_restarts_ends_the_job() -> None:
    story = up(policy="OnFailure").pod("worker-0", "Running", containers=running(5))
    assert story.edit(runPolicy={"backoffLimit": 5}).phase is Phase.FAILED


def test_a_limit_that_is_lowered_below_the_pods_made_again_leaves_none() -> None:
    story = up(backoffLimit=3)
    for replica in ("worker-0", "worker-1"):
        story.pod(replica, "Failed", exit_code=137).gone(replica).pod(replica, "Running")
    assert story.edit(runPolicy={"backoffLimit": 1}).phase is Phase.RUNNING
    assert message(story.pod("worker-0", "Failed", exit_code=137), "Failed") == LIMIT
    assert story.state.spent == 2


def test_past_the_deadline_all_pods_are_deleted() -> None:
    story = up(activeDeadlineSeconds=30).pod("worker-0", "Succeeded").timer("deadline")
    assert story.clock == 30
    assert message(story, "Failed") == DEADLINE
    assert (story.pods, story.services) == ([], [])
    assert {event.why for event in story.last if isinstance(event, ReplicaDismissed)} == {"deadline"}


def test_a_suspended_job_has_no_deadline_and_a_resumed_one_a_new_one() -> None:
    story = up(activeDeadlineSeconds=30).at(20).suspend()
    assert "deadline" not in story.state.timers
    story.all_gone().at(100).suspend(on=False)
    assert story.state.timers["deadline"] == START + timedelta(seconds=130)


def test_scaling_makes_missing_workers_and_deletes_the_highest() -> None:
    story = up(workers=3).scale(1)
    assert (story.pods, story.services) == (["master-0.1", "worker-0.1"], ["master-0", "worker-0"])
    assert story.listed == [CREATED, RUNNING]
    story.all_gone().scale(2)
    assert story.pods == ["master-0.1", "worker-0.1", "worker-1.2"]


def test_events_are_those_of_the_operator() -> None:
    story = up(workers=1, cleanPodPolicy="All").pod("worker-0", "Failed", exit_code=137).gone("worker-0")
    story.pod("worker-0", "Running").pod("master-0", "Succeeded").all_gone()
    assert list(story.announced()) == [
        ("SuccessfulCreateService", "Created service: retry-master-0"),
        ("SuccessfulCreatePod", "Created pod: retry-master-0"),
        ("SuccessfulCreateService", "Created service: retry-worker-0"),
        ("SuccessfulCreatePod", "Created pod: retry-worker-0"),
        ("ExitedWithCode", "Pod: demo.retry-worker-0 exited with code 137"),
        ("PyTorchJobRestarting", "job retry is restarting because Worker replica(s) failed."),
        ("SuccessfulDeletePod", "Deleted pod: retry-worker-0"),
        ("SuccessfulCreatePod", "Created pod: retry-worker-0"),
        ("ExitedWithCode", "Pod: demo.retry-master-0 exited with code 0"),
        ("PyTorchJobSucceeded", "PyTorchJob retry is successfully completed."),
        ("SuccessfulDeletePod", "Deleted pod: retry-master-0"),
        ("SuccessfulDeleteService", "Deleted service: retry-master-0"),
        ("SuccessfulDeletePod", "Deleted pod: retry-worker-0"),
        ("SuccessfulDeleteService", "Deleted service: retry-worker-0"),
    ]


def test_a_pod_that_is_refused_for_now_is_a_condition_that_is_never_the_last() -> None:
    story = TorchStory(training()).submit()
    story.refused(status_=403, message="exceeded quota: gpus", replica="worker-0", attempt=1)
    assert list(story.conditions) == ["ChildRefused", "Created"], "kubectl get shows the last as the state"
    assert story.condition("ChildRefused") == ("True", "FailedCreatePod", "exceeded quota: gpus")
    story.timer("retry").refused(status_=403, message="exceeded quota: gpus", replica="worker-0", attempt=1)
    assert not any(isinstance(event, ConditionsChanged) for event in story.last), "said once"
    story.timer("retry").up()
    assert story.condition("ChildRefused") == (
        "False",
        "PyTorchJobChildrenAccepted",
        "All pods of the job exist.",
    )
    assert list(story.conditions)[-1] == "Running"
    assert story.status["conditions"][0]["lastUpdateTime"]


def test_a_name_that_is_taken_is_a_condition_of_a_job_that_runs_too() -> None:
    story = TorchStory(training()).submit().up().gone("worker-0")
    story.refused(
        status_=409, message="exists", replica="worker-0", attempt=2, name="retry-worker-0", name_taken=True
    )
    text = 'Pod "retry-worker-0" already exists and is not controlled by this job'
    assert story.condition("ChildRefused") == ("True", "NameConflict", text)
    assert story.timer("retry").pod("worker-0", "Running").conditions["ChildRefused"] == "False"


def test_a_pod_that_is_refused_for_good_fails_a_job_that_does_not_run_yet() -> None:
    story = TorchStory(training()).submit()
    story.refused(status_=422, message='Pod "retry-worker-0" is invalid', replica="worker-0", attempt=1)
    assert story.phase is Phase.FAILED
    assert story.condition("Failed") == (
        "True",
        "PyTorchJobFailedValidation",
        'Pod "retry-worker-0" is invalid',
    )


def test_a_pod_that_can_never_be_started_fails_the_job_and_costs_nothing() -> None:
    story = TorchStory(training()).submit().up()
    story.pod("worker-0", "Failed", exit_code=126, reason="CannotStart", message='"a" cannot be executed')
    assert (story.phase, story.state.spent) == (Phase.FAILED, 0)
    text = 'Pod retry-worker-0 cannot be started: "a" cannot be executed'
    assert story.condition("Failed") == ("True", "PyTorchJobFailedValidation", text)


def test_a_pod_that_is_refused_for_now_is_tried_again() -> None:
    story = TorchStory(training()).submit()
    story.refused(status_=403, message="quota", replica="worker-0", attempt=1)
    assert story.phase is Phase.PENDING
    assert story.reasons[-1] == "FailedCreatePod"
    assert story.state.timers["retry"] == START + timedelta(seconds=1)


def test_a_pod_that_is_refused_for_days_is_not_announced_again() -> None:
    story = TorchStory(training()).submit()
    for _ in range(7):
        story.refused(status_=403, message="quota", replica="worker-0", attempt=1).timer("retry")
    entries = len(story.entries)
    story.refused(status_=403, message="quota", replica="worker-0", attempt=1)
    assert len(story.entries) == entries
    story.pod("worker-0", "Pending").refused(status_=403, message="quota", replica="worker-1", attempt=1)
    assert "retry" in story.state.timers


def test_a_deletion_that_is_refused_is_a_condition_that_is_never_the_last() -> None:
    story = TorchStory(training()).submit().up().suspend()
    story.refused(status_=403, message="a policy denies it", verb="delete")
    shown = story.status["conditions"]
    assert (shown[0]["type"], shown[0]["status"], shown[0]["reason"]) == (
        "ChildRefused",
        "True",
        "FailedDelete",
    )
    assert shown[-1]["type"] == "Suspended"
    story.pod("worker-0", "Running", deleting=True)
    assert story.status["conditions"][0]["status"] == "False"


def test_a_refused_autoscaler_is_announced_once_and_holds_up_nothing() -> None:
    elastic = {"metrics": [{"type": "Resource"}]}
    story = TorchStory(training(master=False, elastic=elastic)).submit()
    assert "HorizontalPodAutoscaler/retry" in story.children
    for _ in range(3):
        story.refused("HorizontalPodAutoscaler", 403, "no rights", name="retry")
    assert story.reasons.count("FailedCreateHorizontalPodAutoscaler") == 1
    assert "retry" not in story.state.timers
    story.refused("HorizontalPodAutoscaler", 422, "no such metric", name="retry")
    assert story.reasons.count("FailedCreateHorizontalPodAutoscaler") == 2


def test_an_autoscaler_that_is_refused_after_the_end_is_not_announced_and_waited_for_no_more() -> None:
    elastic = {"metrics": [{"type": "Resource"}]}
    story = TorchStory(training(master=False, elastic=elastic)).submit().up()
    story.pod("worker-0", "Succeeded")
    assert story.phase is Phase.SUCCEEDED
    count = len(story.entries)
    story.refused("HorizontalPodAutoscaler", 503, "connection reset", name="retry")
    assert (len(story.entries), dict(story.state.timers)) == (count, {})


# ---- section 6: clean-up and expiry ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("None", ["master-0", "worker-0", "worker-1", "worker-2"]),
        ("Running", ["master-0", "worker-0"]),
        ("All", []),
    ],
)
def test_what_is_left_of_an_ended_job(policy: str, left: list[str]) -> None:
    story = TorchStory(training(workers=3, cleanPodPolicy=policy)).submit()
    for replica in ("master-0", "worker-0", "worker-1"):
        story.pod(replica, "Running")
    story.pod("worker-2", "Pending").pod("worker-0", "Succeeded").pod("master-0", "Succeeded")
    assert (story.pods, story.services) == ([f"{name}.1" for name in left], left)


def test_the_pod_group_goes_with_the_job_s_end_and_with_a_suspension() -> None:
    story = TorchStory(training(), gang_scheduler="volcano").submit()
    assert "PodGroup/retry" in story.children
    story.group("Inqueue").up().suspend()
    assert story.children == {}
    story.all_gone().suspend(on=False).group("Inqueue", "group-2")
    assert "PodGroup/retry" in story.up().children
    assert "PodGroup/retry" not in story.pod("master-0", "Succeeded").children


def test_a_finished_job_ignores_suspend_but_does_not_expire_meanwhile() -> None:
    story = up(ttlSecondsAfterFinished=100).at(60).pod("master-0", "Succeeded").at(70).suspend()
    assert (story.phase, story.listed) == (Phase.SUCCEEDED, [CREATED, OVER, SUCCEEDED])
    assert len(story.pods) == 3
    assert "expiry" not in story.state.timers
    story.at(500).suspend(on=False)
    assert story.state.timers["expiry"] == START + timedelta(seconds=160)
    assert story.timer("expiry").state.expired


def test_a_failed_job_expires_too_and_a_longer_time_is_heeded() -> None:
    story = up(policy="Never", ttlSecondsAfterFinished=10).at(60).pod("worker-0", "Failed")
    story.edit(runPolicy={"ttlSecondsAfterFinished": 20})
    assert story.state.timers["expiry"] == START + timedelta(seconds=80)
    assert story.timer("expiry").delete().phase is Phase.FAILED


def test_pods_wait_until_volcano_lets_their_group_in() -> None:
    story = TorchStory(training(), gang_scheduler="volcano").submit()
    assert (story.pods, "PodGroup/retry" in story.children) == ([], True)
    story.at(5).group("Pending")
    assert (story.pods, story.status["lastReconcileTime"]) == ([], "2024-01-09T15:00:05Z")
    assert story.at(6).group("Pending").last == ()
    story.at(9).group("Inqueue")
    assert story.pods == ["master-0.1", "worker-0.1", "worker-1.1"]
    assert story.up().group("Running").phase is Phase.RUNNING
    assert story.status["lastReconcileTime"] == "2024-01-09T15:00:05Z"


def test_a_group_of_scheduler_plugins_is_not_waited_for() -> None:
    story = TorchStory(training(), gang_scheduler="scheduler-plugins").submit()
    assert ("PodGroup/retry" in story.children, len(story.pods)) == (True, 3)


OTHER_SCHEDULER = "SetPodTemplateSchedulerName"


def scheduled_by(name: str) -> dict[str, Any]:
    """A change of the spec: the Workers name their scheduler."""
    return {"pytorchReplicaSpecs": {"Worker": {"template": {"spec": {"schedulerName": name}}}}}


@pytest.mark.parametrize(
    ("gang", "own", "times"), [("volcano", "mine", 1), ("volcano", "volcano", 0), ("none", "mine", 0)]
)
def test_a_template_that_names_another_scheduler_than_the_gang_s_is_warned_of(
    gang: str, own: str, times: int
) -> None:
    story = TorchStory(merged(training(), scheduled_by(own)), gang_scheduler=gang).submit()
    assert story.reasons.count(OTHER_SCHEDULER) == times
    story.edit(runPolicy={"backoffLimit": 7})
    assert story.reasons.count(OTHER_SCHEDULER) == times


def test_an_update_that_names_another_scheduler_than_the_gang_s_is_warned_of() -> None:
    story = TorchStory(training(), gang_scheduler="volcano").submit()
    assert OTHER_SCHEDULER not in story.reasons
    story.edit(**scheduled_by("mine"))
    assert story.reasons.count(OTHER_SCHEDULER) == 1


# ---- section 7: suspending ---------------------------------------------------------------------------------------


def test_a_job_created_suspended_has_two_conditions_and_nothing_else() -> None:
    story = TorchStory(training(suspend=True)).submit()
    assert story.listed == [CREATED, "Suspended=True PyTorchJobSuspended"]
    assert (story.children, set(story.status)) == ({}, {"conditions"})
    assert story.reasons == ["PyTorchJobSuspended"]
    story.at(40).suspend(on=False).up()
    assert story.listed == [CREATED, "Suspended=False PyTorchJobResumed", RUNNING]
    assert story.status["startTime"] == "2024-01-09T15:00:40Z"


def test_the_autoscaler_goes_while_the_job_is_suspended() -> None:
    elastic = {"metrics": [{"type": "Resource"}]}
    story = TorchStory(training(master=False, elastic=elastic)).submit().up()
    assert "HorizontalPodAutoscaler/retry" in story.children
    assert story.suspend().children == {}


def test_replicas_have_the_defaults_of_the_operator() -> None:
    spec = {"pytorchReplicaSpecs": {"master": replicas(), "WORKER": replicas()}}
    story = TorchStory(spec).submit()
    assert story.pods == ["master-0.1", "worker-0.1"]


def test_g19_durations_saturate_at_a_hundred_years() -> None:
    story = up(activeDeadlineSeconds=2**63 - 1, ttlSecondsAfterFinished=2**31 - 1)
    assert story.state.timers["deadline"] == START + timedelta(days=36525)
    story.at(60).pod("master-0", "Succeeded")
    assert story.state.timers["expiry"] == START + timedelta(seconds=60 + 2**31 - 1)
