"""What a PyTorchJob shows or says again, and what it does not: pods known again, exits, refusals, expiry."""

from statemachine.observations import ChildObserved, Container, ContainerStatus
from statemachine.phases import Phase
from tests.support.pytorchjob import TorchStory, training

POD = ("SuccessfulCreatePod", "Created pod: retry-worker-0")


def up(**spec: object) -> TorchStory:
    """A job whose pods all run."""
    return TorchStory(training(**spec)).submit().up()  # type: ignore[arg-type]


def ended(code: int = 3, restarts: int = 0) -> tuple[Container, ...]:
    """The training container has ended, and another one runs on."""
    return (
        Container(name="pytorch", state=ContainerStatus.TERMINATED, exit_code=code, restarts=restarts),
        Container(name="sidecar", state=ContainerStatus.RUNNING),
    )


def test_a_pod_that_is_known_again_was_made_once() -> None:
    story = TorchStory(training()).submit().all_pods("Pending")
    story.at(5).pod("worker-0", "Unknown").at(9).pod("worker-0", "Pending")
    assert list(story.announced()).count(POD) == 1


def test_an_exit_is_reported_once_and_again_after_a_restart_in_place() -> None:
    story = up(policy="OnFailure")
    story.pod("worker-0", "Running", containers=ended()).pod(
        "worker-0", "Running", containers=ended(), deleting=True
    )
    assert story.reasons.count("ExitedWithCode") == 1
    story.pod("worker-0", "Running", containers=ended(4, restarts=1))
    assert story.reasons.count("ExitedWithCode") == 2


def test_a_pod_that_is_refused_for_good_does_not_fail_a_job_that_runs() -> None:
    story = up().gone("worker-1")
    story.refused(status_=422, message="no such class", replica="worker-1", attempt=2)
    assert story.phase is Phase.RUNNING
    assert "retry" in story.state.timers


def test_a_refused_deletion_is_shown_although_no_pod_is_missing() -> None:
    story = up().scale(1).refused(status_=403, message="a policy denies it", verb="delete")
    story.pod("worker-0", "Running", ready=True)
    assert story.condition("ChildRefused") == ("True", "FailedDelete", "a policy denies it")
    story.pod("worker-1", "Running", deleting=True).gone("worker-1")
    shown = story.condition("ChildRefused")
    assert shown is not None
    assert shown[0] == "False"


def test_a_job_that_has_expired_expires_once() -> None:
    story = up(ttlSecondsAfterFinished=100).pod("master-0", "Succeeded").timer("expiry")
    assert story.state.expired
    story.pod("worker-0", "Succeeded")
    assert story.last != ()
    assert story.state.timers == {}


def test_a_pod_beyond_the_scale_that_failed_elsewhere_costs_nothing() -> None:
    story = up().scale(1).pod("worker-1", "Running", deleting=True).gone("worker-1")
    story.pod("worker-1", "Failed", exit_code=137, attempt=4, uid="later")
    assert (story.replica("worker-1").attempt, story.state.spent) == (4, 0)
    assert story.phase is Phase.RUNNING


def test_only_the_end_of_its_own_group_makes_pods_wait_again() -> None:
    story = TorchStory(training(), gang_scheduler="volcano").submit().group("Inqueue")
    gone = ChildObserved(
        job=story.uid, at=story.now, kind="PodGroup", name="retry", uid="", gone_uid="group-0"
    )
    assert story.see(gone).last == (), "an earlier one"
    story.see(gone.changed(gone_uid="group-1"))
    assert story.gone("worker-0", uid="worker-0.1").pods == ["master-0.1", "worker-1.1"]


def test_a_group_that_goes_with_a_suspension_lets_no_pod_in_after_it() -> None:
    story = TorchStory(training(), gang_scheduler="volcano").submit().group("Running").up().suspend()
    assert story.group("Running").last == (), "it is being deleted"
    assert story.all_gone().suspend(on=False).pods == []
    assert len(story.group("Inqueue", uid="group-2").pods) == 3
