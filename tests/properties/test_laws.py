"""The laws that hold for a job of any kind, whatever is observed of it, in whatever order."""

import copy
from dataclasses import replace

from k8s_bridge.port import Manifest
from projectors.diff import (
    Await,
    Create,
    Delete,
    Hold,
    Relabel,
    Release,
    Report,
    SayAbsent,
    SayTaken,
    TakeBack,
    Update,
    Write,
    diff,
)
from statemachine.decide import decide
from statemachine.desired import desired
from statemachine.events import PhaseEntered
from statemachine.evolve import fold
from statemachine.ids import ATTEMPT
from statemachine.log.codec import decode, decode_state, encode, encode_state, entry_hash
from statemachine.log.entry import GENESIS
from statemachine.observations import PodObserved
from statemachine.owned import owner_reference
from statemachine.phases import FINAL, TABLE, Phase
from statemachine.state import JobState, ReplicaPhase
from tests.properties.lives import BUDGETED, FAILURES, T9K, Life, law, status_schema
from tests.support.scenario import Story
from tests.support.schemas import faults

# ---- of the log --------------------------------------------------------------------------------------------------


@law()
def test_the_same_observations_give_the_same_bytes(life: Life) -> None:
    assert life.lived().bodies == life.lived().bodies


@law()
def test_whatever_is_observed_twice_counts_once(life: Life) -> None:
    story = life.lived()
    before = story.state
    for entry in story.entries:
        if isinstance(entry.cause, PodObserved):
            assert decide(before, entry.cause) == (), entry.cause
    assert story.submit().last == ()


@law()
def test_entries_are_numbered_without_holes_and_chained(life: Life) -> None:
    previous = GENESIS
    for number, body in enumerate(life.lived().bodies, 1):
        entry = decode(body)
        assert (entry.seq, entry.prev) == (number, previous)
        assert encode(entry) == body
        previous = entry_hash(body)


@law()
def test_folding_the_history_or_a_snapshot_gives_the_state(life: Life) -> None:
    story = life.lived()
    state = JobState(story.uid)
    for body in story.bodies:
        state = fold(state, decode(body).events)
    assert state == story.state
    assert decode_state(encode_state(state)) == state


@law()
def test_the_labels_known_are_those_observed_last_until_the_job_is_deleted(life: Life) -> None:
    story = life.submitted()
    for step in life.happening_to(story):
        if step[0] in ("label", "resync") and not story.state.deleted:
            assert story.state.labels == story.labels


# ---- of a life ---------------------------------------------------------------------------------------------------


@law()
def test_phases_move_only_along_the_table_and_final_ones_absorb(life: Life) -> None:
    allowed = {(source, row.target) for row in TABLE for source in row.sources if row.target}
    phase = Phase.NEW
    for entry in life.lived().entries:
        for event in entry.events:
            if isinstance(event, PhaseEntered):
                assert phase not in FINAL
                assert (phase, event.phase) in allowed
                phase = event.phase


@law(among=BUDGETED)
def test_the_budget_is_never_exceeded_and_every_restart_is_counted(life: Life) -> None:
    story = replace(life, steps=[*life.steps, *FAILURES]).lived()
    granted = [event for entry in story.entries for event in entry.events if event.type == "RestartScheduled"]
    assert story.state.spent == len(granted) == sum(story.state.restarts.values())
    assert [event.spent for event in granted] == list(range(1, len(granted) + 1))
    assert all(event.limit is None or event.spent <= event.limit for event in granted)


@law(among=T9K)
def test_the_aggregate_sums_up_to_the_scale(life: Life) -> None:
    story = life.lived()
    if not story.state.closed:
        assert sum(story.status["aggregate"].values()) == story.state.running_plan.scale


@law()
def test_a_status_is_what_the_crd_says_it_is(life: Life) -> None:
    assert list(faults(life.lived().status, status_schema(life.kind))) == []


@law()
def test_attempts_of_a_replica_only_grow(life: Life) -> None:
    attempts: dict[str, int] = {}
    for entry in life.lived().entries:
        for event in entry.events:
            if event.type == "ReplicaRequested":
                assert event.attempt > attempts.get(event.replica, 0)
                attempts[event.replica] = event.attempt


@law()
def test_no_replica_runs_in_a_paused_job(life: Life) -> None:
    story = life.lived()
    if story.phase is Phase.PAUSED:
        assert story.pods == []
        assert not any(replica.wanted for replica in story.state.replicas.values())
    if story.state.closed:
        assert not any(replica.phase is not ReplicaPhase.DELETED for replica in story.state.replicas.values())


# ---- of what is made of it ---------------------------------------------------------------------------------------


class DictCluster:
    """Objects in a dict: what a cluster does with the writes of `diff`, and nothing else."""

    def __init__(self, story: Story) -> None:
        self.objects: dict[tuple[str, str], Manifest] = {}
        for name, replica in story.state.replicas.items():
            if replica.has_pod and replica.uid:
                self._add_pod(story, name, replica.attempt, replica.uid)

    def _add_pod(self, story: Story, name: str, attempt: int, uid: str) -> None:
        type_, _, index = name.rpartition("-")
        pod_name = story.pod_name(name)
        meta = {
            "name": pod_name,
            "namespace": "demo",
            "uid": uid,
            "labels": {"replica-type": type_, "replica-index": index},
            "annotations": {ATTEMPT: str(attempt)},
            "ownerReferences": [owner_reference(story.state)],
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
            case Relabel(ref, _, labels):
                self.objects[ref.kind, ref.name]["metadata"]["labels"] |= labels
            case Hold() | Await() | Release() | SayAbsent() | SayTaken() | TakeBack() | Report():
                pass


@law()
def test_a_diff_after_its_own_writes_is_empty(life: Life) -> None:
    story = life.lived()
    cluster = DictCluster(story)
    for write in list(diff(story.state, desired(story.state), list(cluster.objects.values()))):
        cluster.apply(write)
    after = list(diff(story.state, desired(story.state), list(cluster.objects.values())))
    assert [action for action in after if not isinstance(action, SayAbsent | Release)] == []


@law()
def test_a_stale_projector_deletes_nothing_of_a_later_state(life: Life) -> None:
    stale, story = life.submitted().state, life.lived()
    cluster = DictCluster(story)
    known = {name: replica.attempt for name, replica in stale.replicas.items()}
    later = {
        replica.uid for name, replica in story.state.replicas.items() if replica.attempt > known.get(name, 99)
    }
    for write in diff(stale, desired(stale), list(cluster.objects.values())):
        assert not (isinstance(write, Delete) and write.uid in later)


@law()
def test_no_key_is_in_any_event_or_manifest(life: Life) -> None:
    story = life.lived()
    assert not any(b"id_rsa" in body or b"PRIVATE KEY" in body for body in story.bodies)
    secrets = [child for name, child in story.children.items() if name.startswith("Secret/")]
    assert not any({"data", "stringData"} & set(secret) for secret in secrets)
