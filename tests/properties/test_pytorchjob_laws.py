"""The laws that hold for any PyTorchJob, whatever is observed of it, in whatever order."""

import copy
from collections.abc import Iterable
from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from projectors.diff import Release, SayAbsent, diff
from statemachine.decide import decide
from statemachine.desired import desired
from statemachine.events import PhaseEntered
from statemachine.evolve import fold
from statemachine.kinds import kind_of
from statemachine.log.codec import decode, decode_state, encode_state
from statemachine.observations import PodObserved
from statemachine.phases import FINAL, TABLE, Phase
from statemachine.state import JobState
from tests.properties.test_laws import POLICIES, DictCluster, perform
from tests.support.pytorchjob import API, TorchStory, running, training

SCHEMA = kind_of(API, "PyTorchJob").crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][
    "status"
]

PHASES = ["Pending", "Running", "Succeeded", "Failed", "Unknown"]


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    run: dict[str, Any] = {"cleanPodPolicy": draw(st.sampled_from(["None", "Running", "All"]))}
    optional = {"backoffLimit": (0, 3), "activeDeadlineSeconds": (1, 100), "ttlSecondsAfterFinished": (0, 50)}
    for name, ends in optional.items():
        if draw(st.booleans()):
            run[name] = draw(st.integers(*ends))
    run["suspend"] = draw(st.booleans())
    elastic = draw(st.sampled_from([None, {"minReplicas": 1, "maxReplicas": 4, "metrics": []}]))
    spec = training(
        master=draw(st.booleans()),
        workers=draw(st.integers(1, 3)),
        policy=draw(st.sampled_from(POLICIES)),
        elastic=elastic,
        **run,
    )
    if draw(st.booleans()):
        spec["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = draw(st.sampled_from(POLICIES))
    return spec


replica = st.sampled_from(["master-0", "worker-0", "worker-1", "worker-2"])
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("pod"),
            replica,
            st.sampled_from(PHASES),
            st.sampled_from([0, 1, 137, 143]),
            st.booleans(),
        ),
        st.tuples(st.just("again"), replica, st.integers(0, 4)),
        st.tuples(st.just("gone"), replica),
        st.tuples(st.just("late"), replica, st.sampled_from(PHASES), st.integers(1, 3)),
        st.tuples(st.just("label"), st.sampled_from([{}, {"team": "a"}, {"team": "b", "tier": ""}])),
        st.tuples(st.sampled_from(["delete", "resync", "up", "all_gone"])),
        st.tuples(st.just("group"), st.sampled_from(["Pending", "Inqueue", "Running"])),
        st.tuples(st.just("suspend"), st.booleans()),
        st.tuples(st.just("limit"), st.integers(0, 5)),
        st.tuples(st.just("workers"), st.integers(1, 4)),
        st.tuples(st.just("timer"), st.sampled_from(["deadline", "retry", "expiry"])),
        st.tuples(st.just("refused"), st.sampled_from([403, 409, 422, 503])),
    ),
    max_size=25,
)


def act(story: TorchStory, step: tuple[Any, ...]) -> None:
    match step:
        case ("again", name, times):
            story.pod(name, "Running", containers=running(times))
        case ("group", phase):
            story.group(phase)
        case ("suspend", on):
            story.suspend(on)
        case ("workers", number):
            story.scale(number)
        case ("up",):
            if not story.state.closed:
                story.up()
        case _:
            perform(story, step)


def lived(spec: dict[str, Any], acts: Iterable[tuple[Any, ...]]) -> TorchStory:
    gang = "volcano" if len(spec["pytorchReplicaSpecs"]) > 1 else "none"
    story = TorchStory(copy.deepcopy(spec), gang_scheduler=gang).submit()
    for number, step in enumerate(acts):
        act(story.at(max(story.clock, number * 7.0)), step)
    return story


many = settings(max_examples=150)


@many
@given(specs(), steps)
def test_a_status_is_what_the_crd_allows(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    jsonschema.validate(story.status, SCHEMA | {"additionalProperties": False})
    known = {"type", "status", "reason", "message", "lastUpdateTime", "lastTransitionTime"}
    assert all(set(each) == known for each in story.status["conditions"])
    counts = [n for each in story.numbers.values() for n in each.values()]
    assert all(each > 0 for each in counts)


@many
@given(specs(), steps)
def test_conditions_go_together(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    held = {each.type for each in story.state.conditions if each.status == "True"}
    types = [each.type for each in story.state.conditions]
    assert len(types) == len(set(types))
    assert types[0] == "Created"
    assert not {"Running", "Restarting"} <= set(types)
    assert not {"Succeeded", "Failed"} <= held
    assert not ("Running" in held and held & {"Succeeded", "Failed", "Suspended"})
    assert ("Failed" in held, "Succeeded" in held) == (
        story.phase is Phase.FAILED,
        story.phase is Phase.SUCCEEDED,
    )
    assert ("Suspended" in held) == (story.phase is Phase.PAUSED) or story.phase in FINAL
    assert ("completionTime" in story.status) == (story.phase in FINAL)


@many
@given(specs(), steps)
def test_whatever_is_observed_twice_counts_once(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    before = story.state
    for entry in story.entries:
        if isinstance(entry.cause, PodObserved):
            assert decide(before, entry.cause) == (), entry.cause
    assert story.submit().last == ()


@many
@given(specs(), steps)
def test_folding_the_history_or_a_snapshot_gives_the_state(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    state = JobState(story.uid)
    for body in story.bodies:
        state = fold(state, decode(body).events)
    assert state == story.state
    assert decode_state(encode_state(state)) == state


@many
@given(specs(), steps)
def test_phases_move_along_the_table_and_restarts_stay_below_the_limit(
    spec: dict[str, Any], acts: list[Any]
) -> None:
    allowed = {(source, row.target) for row in TABLE for source in row.sources if row.target}
    phase = Phase.NEW
    for entry in lived(spec, acts).entries:
        for event in entry.events:
            if isinstance(event, PhaseEntered):
                assert phase not in FINAL
                assert (phase, event.phase) in allowed
                phase = event.phase
            elif event.type == "RestartScheduled":
                assert event.limit is None or event.spent < max(1, event.limit)


@many
@given(specs(), steps)
def test_a_diff_after_its_own_writes_is_empty(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    cluster = DictCluster(story)
    for write in list(diff(story.state, desired(story.state), list(cluster.objects.values()))):
        cluster.apply(write)
    after = list(diff(story.state, desired(story.state), list(cluster.objects.values())))
    assert [each for each in after if not isinstance(each, SayAbsent | Release)] == []


@many
@given(specs(), steps)
def test_a_suspended_job_has_nothing(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    if story.phase is Phase.PAUSED or story.state.deleted:
        assert story.children == {}
