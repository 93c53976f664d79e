"""Why a PyTorchJob is as it is: any replica may end it, and containers may be restarted in place."""

from projectors.explain import Explanation, as_text, explain
from projectors.explain.model import IncidentKind
from statemachine.observations import Container, ContainerStatus
from tests.support.pytorchjob import TorchStory, running, training


def up(**spec: object) -> TorchStory:
    return TorchStory(training(**spec)).submit().at(3).up()  # type: ignore[arg-type]


def why(story: TorchStory) -> Explanation:
    return explain(story.steps)


def test_a_restart_is_reported_with_its_cause() -> None:
    story = up().at(20).pod("worker-0", "Failed", exit_code=137).at(21).gone("worker-0")
    story.at(25).pod("worker-0", "Running")
    (restart,) = [incident for incident in why(story).incidents if incident.kind is IncidentKind.RESTART]
    assert 'worker-0 failed: container "pytorch" ended with exit code 137 (SIGKILL)' in restart.says
    assert restart.over_at is not None
    assert "made good" in why(story).answer


def test_a_worker_that_ends_the_job_is_named() -> None:
    answer = why(up().at(20).pod("worker-1", "Failed", exit_code=2)).answer
    assert "worker-1 ended with exit code 2 and is not restarted" in answer
    assert "The job goes on" not in as_text(why(up().pod("worker-1", "Failed", exit_code=2)))


def test_too_many_restarts_in_place_are_named_as_such() -> None:
    story = up(policy="OnFailure", backoffLimit=2).at(20).pod("worker-0", "Running", containers=running(2))
    assert "has reached the specified backoff limit" in why(story).answer


def test_the_budget_is_used_up_by_pods_made_again() -> None:
    story = up(backoffLimit=0).at(20).pod("worker-0", "Failed", exit_code=137)
    assert "worker-0 failed, and the restart budget is used up" in why(story).answer


def test_an_eviction_is_explained_in_the_node_s_words() -> None:
    waiting = (Container(name="pytorch", state=ContainerStatus.WAITING),)
    story = up(policy="OnFailure").at(20)
    story.pod("worker-0", "Failed", containers=waiting, reason="Evicted", message="low on memory")
    assert "its pod was preempted or evicted (Evicted; low on memory)" in as_text(why(story), width=200)


def test_the_success_of_workers_alone_is_not_said_to_be_the_first_one_s() -> None:
    story = up(master=False, elastic={"minReplicas": 1}).at(20).pod("worker-1", "Succeeded")
    assert why(story).normal
    assert "worker-1" in as_text(why(story))


def test_an_expired_job_is_still_explained() -> None:
    story = up(ttlSecondsAfterFinished=5).at(20).pod("master-0", "Succeeded").timer("expiry").delete()
    assert why(story).answer == "The job has succeeded. Nothing abnormal has happened."
