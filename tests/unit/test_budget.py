"""The restart budget as it is shown everywhere: one sum, in which restarts in place count."""

import json
from collections.abc import Callable
from datetime import datetime

import pytest

from jobledger.cli.machine.follow import story as outcome
from jobledger.cli.machine.screen import ShownJobs
from jobledger.console.timeline.build import timeline
from jobledger.lives.wording import events_words
from projectors.explain import as_text, explain
from projectors.explain.model import Budget as ExplainedBudget
from projectors.explain.model import IncidentKind
from projectors.history.facts import facts
from projectors.history.phrases import event_words
from statemachine.budget import Budget, budget
from statemachine.events import CleanedUp, RestartScheduled
from statemachine.evolve import fold
from statemachine.phases import Phase
from statemachine.state import JobState
from tests.support.pytorchjob import TorchStory, running, training
from tests.support.scenario import START, Story, workers


def up(**spec: object) -> TorchStory:
    return TorchStory(training(policy="OnFailure", **spec)).submit().at(3).up()  # type: ignore[arg-type]


def started_again_and_made_again() -> TorchStory:
    """worker-0 was started again in place once, then worker-1 was made again, of three."""
    story = up(backoffLimit=3).at(20).pod("worker-0", "Running", containers=running(1))
    story.at(30).pod("worker-1", "Failed", reason="Evicted").gone("worker-1").pod("worker-1", "Running")
    return story


def exhausted() -> TorchStory:
    """Three restarts in place of three have failed the job, and its pods are gone."""
    story = up(backoffLimit=3).at(20).pod("worker-0", "Running", containers=running(3))
    assert story.phase is Phase.FAILED
    return story.all_gone()


def listed_restarts(state: JobState) -> tuple[int, int | None]:
    (shown,) = [fact for fact in facts(state, START) if isinstance(fact, str) and fact.startswith("{")]
    status = json.loads(shown)
    return status["restarts"], status["backoff_limit"]


def granted(story: TorchStory) -> RestartScheduled:
    (restart,) = [
        event for entry in story.entries for event in entry.events if isinstance(event, RestartScheduled)
    ]
    return restart


@pytest.mark.parametrize(
    ("story", "used"), [(started_again_and_made_again, 2), (exhausted, 3)], ids=["running", "failed"]
)
def test_every_view_of_the_budget_says_the_same(story: Callable[[], TorchStory], used: int) -> None:
    life = story()
    state = life.state
    assert budget(state) == Budget(3, used)
    why = explain(life.steps).restarts
    assert why is not None
    assert (why.limit, why.spent, why.left) == (3, used, 3 - used)
    assert f"restarts used: {used} of 3" in as_text(explain(life.steps))
    assert listed_restarts(state) == (used, 3)
    assert timeline(life.steps).levels[-1][1:] == (3 - used, 3)
    if state.is_final:
        assert f"{used} restarts" in next(outcome(state, ShownJobs(lambda: [state]), ""))


def test_the_number_of_a_restart_agrees_with_what_it_left() -> None:
    story = started_again_and_made_again()
    (restart,) = [
        incident for incident in explain(story.steps).incidents if incident.kind is IncidentKind.RESTART
    ]
    assert restart.budget == ExplainedBudget(limit=3, before=2, after=1)
    assert "restart 2 of 3" in restart.says
    assert str(event_words(granted(story))) == "worker-1 restart 2 of 3"
    assert "worker-1 (2/3)" in events_words([granted(story)])


def test_a_restart_in_place_shows_in_the_picture_at_once() -> None:
    story = started_again_and_made_again()
    levels = timeline(story.steps).levels
    assert [(_seconds(level.begin.at), level.left) for level in levels] == [(0, 3), (20, 2), (30, 1)]


def test_an_end_written_before_the_sum_was_kept_shows_what_was_granted() -> None:
    state = up(backoffLimit=3).state
    ended = fold(state, (CleanedUp(policy="None", pods=0),))
    assert budget(ended) == Budget(3, 0)


def test_of_other_kinds_only_restarts_that_were_granted_count() -> None:
    story = Story(workers(2, backoff_limit=3)).submit().at(3).all_pods("Running")
    story.pod("worker-1", "Failed", exit_code=7)
    assert budget(story.state) == Budget(3, 1)


def test_without_a_limit_nothing_is_left_or_lacking() -> None:
    assert (str(budget(up().state)), budget(up().state).left) == ("0", None)


def _seconds(at: datetime) -> float:
    return (at - START).total_seconds()


def test_a_limit_below_what_was_used_leaves_none() -> None:
    assert [Budget(limit, 2).left for limit in (3, 2, 1, 0)] == [1, 0, 0, 0]
    assert Budget(None, 2).left is None
