"""Why: what can happen to a job with a launcher, in the words that users read."""

from projectors.explain import explain
from projectors.explain.model import IncidentKind
from tests.support.scenario import Story
from tests.unit.kinds.colossal import KIND, spec


def job() -> Story:
    """A job of two workers, submitted."""
    return Story(spec(), name="gpt", kind=KIND).submit()


def running() -> Story:
    """A job whose launcher runs."""
    return job().at(3).ready("worker-0", "worker-1").at(5).pod("launcher-0", "Running")


def incident(story: Story, kind: IncidentKind) -> str:
    """What is said of the only incident of a kind."""
    (incident,) = (candidate for candidate in explain(story.steps).incidents if candidate.kind is kind)
    return incident.says


def test_a_launcher_that_is_held_back_waits_for_its_workers() -> None:
    waits = {wait.replicas: wait.says for wait in explain(job().at(3).ready("worker-0").steps).waits_for}
    assert waits[("launcher-0",)] == "launcher-0: created once every worker is Running and Ready"
    assert list(waits) == [("launcher-0",), ("worker-1",)]


def test_a_worker_that_fails_before_the_launcher_is_made_is_why_the_job_failed() -> None:
    story = job().at(3).ready("worker-0").at(4).pod("worker-1", "Failed", exit_code=255)
    why = explain(story.steps)
    assert why.answer == (
        "The job has failed: worker-1 ended before launcher-0 was created, which would have waited for it for "
        'ever. It began with worker-1: container "worker" ended with exit code 255.'
    )
    assert "The job goes on" not in incident(story, IncidentKind.FAILURE)


def test_a_worker_that_ends_with_0_before_that_is_explained_with_its_exit_code() -> None:
    story = job().at(4).pod("worker-1", "Succeeded")
    why = explain(story.steps)
    assert why.answer.startswith("The job has failed: worker-1 ended before launcher-0 was created")
    assert why.root_cause is not None
    assert why.root_cause.cause is not None
    assert (why.root_cause.cause.exit_code, why.root_cause.cause.container) == (0, "worker")


def test_a_worker_lost_beside_the_launcher_is_not_made_again() -> None:
    story = running().at(9).gone("worker-1")
    assert incident(story, IncidentKind.LOSS) == (
        "worker-1 was lost: its pod is gone, and nothing that was seen tells why. It is not created again: the "
        "launcher counts on the pods that it was started with."
    )


def test_a_worker_lost_before_there_is_a_launcher_is_made_again() -> None:
    says = incident(job().at(3).ready("worker-0").at(4).gone("worker-0"), IncidentKind.LOSS)
    assert says.endswith("It is created again, at no cost to the restart budget.")


def test_a_worker_that_fails_beside_the_launcher_leaves_the_result_to_it() -> None:
    story = running().at(9).pod("worker-1", "Failed")
    assert incident(story, IncidentKind.FAILURE).endswith("The job goes on: launcher-0 decides its result.")


def test_a_lost_launcher_is_the_end() -> None:
    why = explain(running().at(9).gone("launcher-0").steps)
    assert why.answer.startswith("The job has failed: launcher-0, which decides the result, was lost.")
