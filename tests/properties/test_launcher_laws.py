"""The laws of jobs with a launcher, whatever is observed of them. See `test_laws` for those of all jobs."""

from statemachine.events import ReplicaRequested
from statemachine.evolve import evolve
from statemachine.rules.driver import is_driven
from statemachine.spec import Launch
from statemachine.state import JobState, ReplicaPhase
from tests.properties.lives import LAUNCHING, Life, law


def test_there_are_kinds_with_a_launcher() -> None:
    assert "ColossalAIJob" in [kind.names.kind for kind in LAUNCHING]


@law(among=LAUNCHING)
def test_nothing_is_restarted(life: Life) -> None:
    story = life.lived()
    types = [event.type for entry in story.entries for event in entry.events]
    assert "RestartScheduled" not in types
    assert story.state.spent == 0


@law(among=LAUNCHING)
def test_the_launcher_comes_when_all_workers_are_ready_and_no_worker_after_it(life: Life) -> None:
    story = life.lived()
    state = JobState(story.uid)
    for entry in story.entries:
        for event in entry.events:
            if isinstance(event, ReplicaRequested) and state.running_plan.launch is Launch.WHEN_READY:
                others = [member for member in state.members if member.name != state.running_plan.primary]
                if event.replica == state.running_plan.primary:
                    assert all(other.ready and other.phase is ReplicaPhase.RUNNING for other in others)
                else:
                    assert not is_driven(state)
            state = evolve(state, event)


@law(among=LAUNCHING)
def test_no_job_waits_for_a_worker_that_has_ended(life: Life) -> None:
    story = life.lived()
    if story.phase.is_active and not story.state.deleted and not is_driven(story.state):
        for member in story.state.members:
            if member.name != story.state.running_plan.primary:
                assert member.wanted
                assert member.has_pod
                assert member.leaving or member.phase not in (ReplicaPhase.SUCCEEDED, ReplicaPhase.FAILED)


@law(among=LAUNCHING)
def test_a_job_that_has_ended_keeps_its_launcher(life: Life) -> None:
    """One whose pod comes only after the end, as it was asked for before, has no log to keep."""
    story = life.lived()
    state, had_pod = JobState(story.uid), False
    for entry in story.entries:
        for event in entry.events:
            if not state.is_final and state.plan is not None:
                launcher = state.replicas.get(state.running_plan.primary)
                had_pod = launcher is not None and launcher.uid != ""
            state = evolve(state, event)
    launcher = story.replica(story.state.running_plan.primary)
    if story.state.is_final and had_pod and launcher.uid and not story.state.deleted:
        assert launcher.leaving in ("", "pause")
