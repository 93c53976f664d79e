"""Containers that the kubelet starts again in their pod: what is observed of that, and what becomes of it."""

from typing import Any

import pytest

from jobledger.jobs.attempts import Attempt, chosen
from jobledger.program.errors import UnknownReplica
from k8s_bridge.observe import observe
from k8s_bridge.port import Change, Verb
from statemachine.ids import PodUid, ReplicaName
from statemachine.log.codec import encode
from statemachine.observations import Container, ContainerStatus, PodObserved
from tests.support.scenario import Story, workers
from tests.unit.bridge.words import AT, job, pod

W0 = ReplicaName("worker-0")
RUNNING, WAITING = ContainerStatus.RUNNING, ContainerStatus.WAITING


def ended(restarts: int, code: int = 1) -> Container:
    return Container(
        name="pytorch", state=ContainerStatus.TERMINATED, exit_code=code, reason="Error", restarts=restarts
    )


def doing(state: ContainerStatus, restarts: int) -> Container:
    return Container(name="pytorch", state=state, restarts=restarts)


def containers_after(story: Story, *containers: Container) -> tuple[Container, ...]:
    """What is known of the worker's containers after each of `containers` was reported, in that order."""
    for container in containers:
        story.pod("worker-0", "Running", containers=[container])
    return story.replica("worker-0").containers


def started() -> Story:
    return Story(workers(1)).submit().at(5).all_pods("Running")


@pytest.mark.parametrize("now", [doing(RUNNING, 1), doing(WAITING, 1), ended(1)])
def test_a_container_goes_forward_again_when_it_was_restarted(now: Container) -> None:
    assert containers_after(started(), ended(0), now) == (now,)


@pytest.mark.parametrize("late", [ended(0), ended(1), doing(RUNNING, 1)])
def test_a_late_report_of_an_earlier_run_says_nothing(late: Container) -> None:
    story = started()
    assert containers_after(story, doing(RUNNING, 2), late) == (doing(RUNNING, 2),)
    assert story.last == ()


def test_what_was_observed_of_containers_is_kept_when_no_more_reports_of_the_pod_come() -> None:
    story = started().at(20).pod("worker-0", "Unknown", containers=[doing(RUNNING, 2)])
    assert story.replica("worker-0").containers == (doing(RUNNING, 2),)
    assert story.at(21).pod("worker-0", "Unknown", containers=[doing(RUNNING, 2)]).last == ()


def test_within_a_run_a_container_does_not_go_back() -> None:
    assert containers_after(started(), ended(1), doing(RUNNING, 1)) == (ended(1),)


def test_the_restarts_of_every_container_are_observed() -> None:
    def status(restarts: Any) -> dict[str, Any]:
        return {"name": "pytorch", "state": {"running": {}}, "restartCount": restarts}

    raw = pod(job(uid="j-1"))
    raw["metadata"]["uid"] = "p-1"
    raw["status"] = {
        "phase": "Running",
        "initContainerStatuses": [status(2) | {"name": "prepare"}],
        "containerStatuses": [status(7), status(0) | {"name": "side"}, status("many") | {"name": "bad"}],
    }
    [observation] = observe(Change(Verb.MODIFIED, raw, AT))
    assert isinstance(observation, PodObserved)
    assert [container.restarts for container in observation.containers] == [2, 7, 0, 0]


def test_no_restarts_are_not_written() -> None:
    story = started()
    assert b"restarts" not in encode(story.entries[-1])
    containers_after(story, doing(RUNNING, 3))
    assert b'"restarts":3' in encode(story.entries[-1])


def attempts(story: Story, *earlier: str) -> list[Attempt]:
    uids = [*earlier, story.replica("worker-0").uid]
    return [Attempt(W0, number, PodUid(uid)) for number, uid in enumerate(uids, start=1)]


def test_previous_means_the_run_before_in_the_same_pod() -> None:
    story = started()
    containers_after(story, doing(RUNNING, 1))
    attempt = chosen(story.state, attempts(story, "older"), previous=True)
    assert (attempt.uid, attempt.before) == (story.replica("worker-0").uid, True)


def test_previous_means_the_pod_before_where_nothing_was_restarted_in_place() -> None:
    story = started()
    attempt = chosen(story.state, attempts(story, "older"), previous=True)
    assert (attempt.uid, attempt.before) == ("older", False)


def test_previous_asks_for_the_restarts_of_the_container_that_was_named() -> None:
    story = started()
    containers_after(story, doing(RUNNING, 1))
    with pytest.raises(UnknownReplica, match="no previous attempt"):
        chosen(story.state, attempts(story), container="side", previous=True)
