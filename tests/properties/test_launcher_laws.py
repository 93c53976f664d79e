"""The laws of jobs with a launcher, whatever is observed of them. See `test_laws` for the others."""

import copy
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from projectors.diff import Release, SayAbsent, diff
from statemachine.decide import decide
from statemachine.desired import desired
from statemachine.events import PhaseEntered, ReplicaRequested
from statemachine.evolve import evolve, fold
from statemachine.kinds.colossalaijob import KIND
from statemachine.log.codec import decode
from statemachine.observations import PodObserved
from statemachine.phases import FINAL, TABLE, Phase
from statemachine.rules.launcher import is_launched
from statemachine.spec import Launch
from statemachine.state import JobState, ReplicaPhase
from tests.properties.colossal import specs
from tests.properties.test_laws import DictCluster
from tests.support.scenario import Story
from tests.support.schemas import faults
from tests.unit.kinds.build import Spec

COLOSSAL = KIND.names.kind
PHASES = ["Pending", "Running", "Succeeded", "Failed", "Unknown"]
replica = st.sampled_from(["launcher-0", "worker-0", "worker-1", "worker-2", "worker-3"])
steps = st.lists(
    st.one_of(
        st.just(("ready",)),
        st.tuples(
            st.just("pod"),
            replica,
            st.sampled_from(PHASES),
            st.sampled_from([0, 1, 143]),
            st.booleans(),
            st.booleans(),
        ),
        st.tuples(st.just("gone"), replica),
        st.tuples(st.just("late"), replica, st.sampled_from(PHASES), st.integers(1, 3)),
        st.tuples(st.sampled_from(["pause", "resume", "delete", "resync"])),
        st.tuples(st.just("clean-up"), st.booleans()),
        st.tuples(st.just("timer"), st.sampled_from(["retry", "unreadable"])),
        st.tuples(st.just("refused"), st.sampled_from([403, 409, 422, 503])),
        st.tuples(st.just("unreadable"), replica),
    ),
    max_size=25,
)


def perform(story: Story, step: tuple[Any, ...]) -> None:
    match step:
        case ("ready",):
            alive = [name for name, each in story.state.replicas.items() if each.has_pod and not each.leaving]
            story.ready(*alive)
        case ("pod", name, phase, code, deleting, ready):
            more = {"deleting": deleting, "ready": ready and phase == "Running"}
            story.pod(name, phase, exit_code=code or None, **more)
        case ("gone", name):
            story.gone(name)
        case ("late", name, phase, attempt):
            story.see(story.pod_seen(name, phase, uid=f"{name}.{attempt}", attempt=attempt))
        case ("resync",):
            story.submit()
        case ("clean-up", wish):
            story.edit(runPolicy={"cleanUpWorkers": wish})
        case ("timer", name):
            if name in story.state.timers:
                story.timer(name)
        case ("refused", status):
            story.refused(status_=status)
        case ("unreadable", name):
            story.unreadable(name)
        case (verb, *_):
            getattr(story, verb)()
        case _:
            raise AssertionError(step)


def lived(of: Spec, acts: Iterable[tuple[Any, ...]]) -> Story:
    """The story of a job to which all this happened."""
    story = Story(copy.deepcopy(of), name="gpt", kind=COLOSSAL).submit()
    for number, act in enumerate(acts):
        perform(story.at(max(story.clock, number * 7.0)), act)
    return story


many = settings(max_examples=60)


# ---- of a life ---------------------------------------------------------------------------------------------------


@many
@given(specs(), steps)
def test_the_same_observations_give_the_same_bytes_and_state(of: Spec, acts: list[Any]) -> None:
    story = lived(of, acts)
    assert lived(of, acts).bodies == story.bodies
    folded = JobState(story.uid)
    for body in story.bodies:
        folded = fold(folded, decode(body).events)
    assert folded == story.state


@many
@given(specs(), steps)
def test_whatever_is_observed_twice_counts_once(of: Spec, acts: list[Any]) -> None:
    story = lived(of, acts)
    for entry in story.entries:
        if isinstance(entry.cause, PodObserved):
            assert decide(story.state, entry.cause) == (), entry.cause
    assert story.submit().last == ()


@many
@given(specs(), steps)
def test_phases_move_only_along_the_table(of: Spec, acts: list[Any]) -> None:
    allowed = {(source, row.target) for row in TABLE for source in row.sources if row.target}
    phase = Phase.NEW
    for entry in lived(of, acts).entries:
        for event in entry.events:
            if isinstance(event, PhaseEntered):
                assert phase not in FINAL
                assert (phase, event.phase) in allowed
                phase = event.phase


@many
@given(specs(), steps)
def test_nothing_is_restarted(of: Spec, acts: list[Any]) -> None:
    story = lived(of, acts)
    types = [event.type for entry in story.entries for event in entry.events]
    assert "RestartScheduled" not in types
    assert story.state.spent == 0


@many
@given(specs(), steps)
def test_the_launcher_comes_when_all_workers_are_ready_and_no_worker_after_it(
    of: Spec, acts: list[Any]
) -> None:
    story = lived(of, acts)
    state_ = JobState(story.uid)
    for entry in story.entries:
        for event in entry.events:
            if isinstance(event, ReplicaRequested) and state_.running_plan.launch is Launch.WHEN_READY:
                others = [each for each in state_.members if each.name != "launcher-0"]
                if event.replica == "launcher-0":
                    assert all(each.ready and each.phase is ReplicaPhase.RUNNING for each in others)
                else:
                    assert not is_launched(state_)
            state_ = evolve(state_, event)


@many
@given(specs(), steps)
def test_no_job_waits_for_a_worker_that_has_ended(of: Spec, acts: list[Any]) -> None:
    story = lived(of, acts)
    if story.phase.is_active and not story.state.deleted and not is_launched(story.state):
        for each in story.state.members:
            if each.name != "launcher-0":
                assert each.wanted
                assert each.has_pod
                assert each.leaving or each.phase not in (ReplicaPhase.SUCCEEDED, ReplicaPhase.FAILED)


@many
@given(specs(), steps)
def test_the_status_is_what_the_crd_says_it_is(of: Spec, acts: list[Any]) -> None:
    schema = KIND.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    story = lived(of, acts)
    assert list(faults(story.status, schema)) == []
    if not story.state.closed:
        assert sum(story.status["aggregate"].values()) == story.state.running_plan.scale


@many
@given(specs(), steps)
def test_a_diff_after_its_own_writes_is_empty(of: Spec, acts: list[Any]) -> None:
    story = lived(of, acts)
    cluster = DictCluster(story)
    for write in list(diff(story.state, desired(story.state), list(cluster.objects.values()))):
        cluster.apply(write)
    after = list(diff(story.state, desired(story.state), list(cluster.objects.values())))
    assert [each for each in after if not isinstance(each, SayAbsent | Release)] == []


@many
@given(specs(), steps)
def test_a_paused_job_has_no_pods_and_an_ended_one_keeps_its_launcher(of: Spec, acts: list[Any]) -> None:
    story = lived(of, acts)
    if story.phase is Phase.PAUSED:
        assert story.pods == []
    launcher = story.replica("launcher-0")
    if story.state.is_final and launcher.uid and not story.state.deleted:
        assert launcher.leaving in ("", "pause")


@many
@given(specs(), steps)
def test_no_key_is_in_any_event_or_manifest(of: Spec, acts: list[Any]) -> None:
    story = lived(of, acts)
    assert not any(b"id_rsa" in body or b"PRIVATE KEY" in body for body in story.bodies)
    secrets = [child for name, child in story.children.items() if name.startswith("Secret/")]
    assert not any({"data", "stringData"} & set(secret) for secret in secrets)
