"""The laws that hold for any job, whatever is observed of it, in whatever order."""

import copy
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8s_bridge.port import Manifest
from projectors.diff import Create, Delete, Hold, Release, SayAbsent, Update, Write, diff
from statemachine.decide import decide
from statemachine.desired import desired
from statemachine.events import PhaseEntered
from statemachine.evolve import fold
from statemachine.ids import ATTEMPT
from statemachine.log.codec import decode, encode, entry_hash
from statemachine.log.entry import GENESIS
from statemachine.observations import PodObserved
from statemachine.phases import FINAL, TABLE, Phase
from statemachine.state import JobState, ReplicaPhase
from tests.support.scenario import Story, workers

POLICIES = ["Never", "OnFailure", "Always", "ExitCode"]
PHASES = ["Pending", "Running", "Succeeded", "Failed", "Unknown"]


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    run: dict[str, Any] = {"backoffLimit": draw(st.integers(0, 3))}
    run["cleanUpPolicy"] = draw(st.sampled_from(["None", "All", "Unfinished"]))
    if draw(st.booleans()):
        run["activeDeadlineSeconds"] = draw(st.integers(1, 100))
    spec = workers(draw(st.integers(1, 3)), policy=draw(st.sampled_from(POLICIES)), runPolicy=run)
    if draw(st.booleans()):
        spec["scheduler"] = {"t9kScheduler": {"queue": "q"}}
    if draw(st.booleans()):
        spec["runMode"] = {"pause": {"enabled": draw(st.booleans())}}
    if draw(st.booleans()):
        spec["torchrunConfig"] = {"enabled": True}
        spec["replicaSpecs"][0]["template"]["spec"]["containers"][0]["args"] = ["train.py"]
        spec["elastic"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 4, "expectedReplicas": 2}
    return spec


replica = st.sampled_from(["worker-0", "worker-1", "worker-2", "worker-3"])
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("pod"),
            replica,
            st.sampled_from(PHASES),
            st.sampled_from([0, 1, 137, 143]),
            st.booleans(),
        ),
        st.tuples(st.just("gone"), replica),
        st.tuples(st.just("late"), replica, st.sampled_from(PHASES), st.integers(1, 3)),
        st.tuples(st.just("label"), st.sampled_from([{}, {"team": "a"}, {"team": "b", "tier": ""}])),
        st.tuples(st.sampled_from(["pause", "resume", "delete", "resync"])),
        st.tuples(st.just("limit"), st.integers(0, 5)),
        st.tuples(st.just("scale"), st.integers(0, 5)),
        st.tuples(st.just("timer"), st.sampled_from(["deadline", "retry", "unreadable"])),
        st.tuples(st.just("refused"), st.sampled_from([403, 409, 422, 503])),
        st.tuples(st.just("unreadable"), replica),
    ),
    max_size=25,
)


def perform(story: Story, step: tuple[Any, ...]) -> None:
    match step:
        case ("pod", name, phase, code, deleting):
            story.pod(name, phase, exit_code=code or None, deleting=deleting)
        case ("gone", name):
            story.gone(name)
        case ("late", name, phase, attempt):
            story.see(story.pod_seen(name, phase, uid=f"{name}.{attempt}", attempt=attempt))
        case ("resync",):
            story.submit()
        case ("limit", limit):
            story.edit(runPolicy={"backoffLimit": limit})
        case ("scale", expected):
            if "elastic" in story.spec:
                story.edit(elastic={"expectedReplicas": expected})
        case ("timer", name):
            if name in story.state.timers:
                story.timer(name)
        case ("refused", status):
            story.refused(status_=status)
        case ("label", labels):
            story.label(**labels)
        case ("unreadable", name):
            story.unreadable(name)
        case (verb, *_):
            getattr(story, verb)()
        case _:
            raise AssertionError(step)


def lived(spec: dict[str, Any], acts: Iterable[tuple[Any, ...]]) -> Story:
    story = Story(copy.deepcopy(spec)).submit()
    for number, act in enumerate(acts):
        perform(story.at(max(story.clock, number * 7.0)), act)
    return story


many = settings(max_examples=150)


@many
@given(specs(), steps)
def test_the_same_observations_give_the_same_bytes(spec: dict[str, Any], acts: list[Any]) -> None:
    assert lived(spec, acts).bodies == lived(spec, acts).bodies


@many
@given(specs(), steps)
def test_whatever_is_observed_twice_counts_once(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    before = story.state
    for entry in story.entries:
        if isinstance(entry.cause, PodObserved):
            assert decide(before, entry.cause) == (), entry.cause
    assert story.submit().last == () or before.phase is Phase.NEW


@many
@given(specs(), steps)
def test_entries_are_numbered_without_holes_and_chained(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    previous = GENESIS
    for number, body in enumerate(story.bodies, 1):
        entry = decode(body)
        assert (entry.seq, entry.prev) == (number, previous)
        assert encode(entry) == body
        previous = entry_hash(body)


@many
@given(specs(), steps)
def test_folding_the_history_gives_the_state(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    state = JobState(story.uid)
    for body in story.bodies:
        state = fold(state, decode(body).events)
    assert state == story.state


@many
@given(specs(), steps)
def test_the_labels_known_are_those_seen_last_until_the_job_is_deleted(
    spec: dict[str, Any], acts: list[Any]
) -> None:
    story = Story(copy.deepcopy(spec)).submit()
    for number, act in enumerate(acts):
        perform(story.at(max(story.clock, number * 7.0)), act)
        if act[0] in ("label", "resync") and not story.state.deleted:
            assert story.state.labels == story.labels


@many
@given(specs(), steps)
def test_phases_move_only_along_the_table_and_final_ones_absorb(
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


@many
@given(specs(), steps)
def test_the_budget_is_never_exceeded_and_every_restart_is_counted(
    spec: dict[str, Any], acts: list[Any]
) -> None:
    story = lived(spec, acts)
    granted = [event for entry in story.entries for event in entry.events if event.type == "RestartScheduled"]
    assert story.state.spent == len(granted) == sum(story.state.restarts.values())
    assert [event.spent for event in granted] == list(range(1, len(granted) + 1))
    assert all(event.limit is None or event.spent <= event.limit for event in granted)


@many
@given(specs(), steps)
def test_the_aggregate_sums_up_to_the_scale(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    if not story.state.closed:
        assert sum(story.status["aggregate"].values()) == story.state.running_plan.scale


@many
@given(specs(), steps)
def test_attempts_of_a_replica_only_grow(spec: dict[str, Any], acts: list[Any]) -> None:
    seen: dict[str, int] = {}
    for entry in lived(spec, acts).entries:
        for event in entry.events:
            if event.type == "ReplicaRequested":
                assert event.attempt > seen.get(event.replica, 0)
                seen[event.replica] = event.attempt


class DictCluster:
    """Objects in a dict: what a cluster does with the writes of `diff`, and nothing else."""

    def __init__(self, story: Story) -> None:
        self.objects: dict[tuple[str, str], Manifest] = {}
        for name, each in story.state.replicas.items():
            if each.has_pod and each.uid:
                self._add_pod(story, name, each.attempt, each.uid)

    def _add_pod(self, story: Story, name: str, attempt: int, uid: str) -> None:
        type_, _, index = name.rpartition("-")
        pod_name = story.pod_name(name)
        meta = {
            "name": pod_name,
            "namespace": "demo",
            "uid": uid,
            "labels": {"replica-type": type_, "replica-index": index},
            "annotations": {ATTEMPT: str(attempt)},
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {}, "status": {}}
        self.objects["Pod", pod_name] = pod

    def apply(self, write: Write) -> None:
        match write:
            case Create(child):
                built = copy.deepcopy(child.build())
                built["metadata"]["uid"] = f"{child.replica or child.name}.{child.attempt}"
                self.objects[child.kind, child.name] = built
            case Update(child, _, merge):
                self.objects[child.kind, child.name] |= copy.deepcopy(dict(merge))
            case Delete(ref, uid):
                assert self.objects[ref.kind, ref.name]["metadata"]["uid"] == uid
                del self.objects[ref.kind, ref.name]
            case Hold() | Release() | SayAbsent():
                pass


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
def test_a_stale_projector_deletes_nothing_of_a_later_state(spec: dict[str, Any], acts: list[Any]) -> None:
    story = Story(copy.deepcopy(spec)).submit()
    stale = story.state
    for number, act in enumerate(acts):
        perform(story.at(max(story.clock, number * 7.0)), act)
    cluster = DictCluster(story)
    known = {name: each.attempt for name, each in stale.replicas.items()}
    later = {each.uid for name, each in story.state.replicas.items() if each.attempt > known.get(name, 99)}
    for write in diff(stale, desired(stale), list(cluster.objects.values())):
        assert not (isinstance(write, Delete) and write.uid in later)


@many
@given(specs(), steps)
def test_no_replica_runs_in_a_paused_job(spec: dict[str, Any], acts: list[Any]) -> None:
    story = lived(spec, acts)
    if story.phase is Phase.PAUSED:
        assert story.pods == []
        assert not any(each.wanted for each in story.state.replicas.values())
    if story.state.closed:
        assert not any(each.phase is not ReplicaPhase.DELETED for each in story.state.replicas.values())
