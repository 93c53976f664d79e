"""Invariants of every change of the cluster, examined right after it, before anybody else can do anything."""

from collections.abc import Mapping
from typing import Final

from k8s_bridge.env_values import needs_values
from k8s_bridge.observe import is_job, owner_of
from k8s_bridge.port import EVIDENCE, Change, Manifest, Ref, Verb
from statemachine.ids import JobUid, PodUid
from statemachine.status import status
from tests.simulation.histories import Story
from tests.simulation.pods import PodLife
from tests.simulation.verdicts import Excuse, Verdicts
from tests.simulation.world import World

Stories = Mapping[JobUid, Story]


class Sight:
    """What is remembered of objects from change to change."""

    def __init__(self) -> None:
        self.held: set[PodUid] = set()
        self.deleted: set[PodUid] = set()
        self.status_seq: dict[Ref, int] = {}


def is_stray(world: World, pod: PodLife) -> bool:
    """A controller believed dead had a hand in it, or in another pod of its attempt, or nobody expected it.

    Also when such a controller has said that there is no pod, while the one started in its place was making it.
    """
    if world.usurped and world.pods.is_missed_in_log(pod.key):
        return True
    of_attempt = world.pods.of_attempt(pod.key)
    return any(life.unexpected or life.uid in world.weather.disowned for life in of_attempt)


def _pod(world: World, change: Change) -> PodLife | None:
    """The pod of ours that changed."""
    meta = change.object["metadata"]
    return world.pods.pods.get(meta["uid"]) if change.object["kind"] == "Pod" else None


def pods_are_made_once(world: World, _: Stories, change: Change, __: Sight) -> Verdicts:
    """No pod is made for an attempt that had one which could be known."""
    pod = _pod(world, change)
    if pod is not None and change.verb is Verb.ADDED:
        if world.pods.twins:
            yield world.pods.twins[-1]
        elif pod.unexpected and len(world.pods.of_attempt(pod.key)) > 1:
            yield Excuse("stray pod")
        else:
            yield None


def pods_have_values(_: World, __: Stories, change: Change, ___: Sight) -> Verdicts:
    """No pod is made with a reference in the place of a value."""
    if change.object["kind"] == "Pod" and change.verb is Verb.ADDED:
        name = change.object["metadata"]["name"]
        yield f"{name} has references in the place of values" if needs_values(change.object) else None


def pods_follow_their_entries(world: World, stories: Stories, change: Change, _: Sight) -> Verdicts:
    """A pod is made after the entry that asks for its attempt."""
    pod = _pod(world, change)
    if pod is not None and change.verb is Verb.ADDED:
        job, replica, attempt = pod.key
        story = stories.get(job)
        asked = story.asked.get(replica, 0) if story is not None else 0
        yield None if asked >= attempt else f"{pod.uid} is {pod.key}, the log asked for attempt {asked}"


def one_pod_of_a_replica_lives(world: World, _: Stories, change: Change, __: Sight) -> Verdicts:
    """A pod is made when the one before it has ended, or is gone."""
    pod = _pod(world, change)
    if pod is not None and change.verb is Verb.ADDED:
        job, replica, _attempt = pod.key
        rivals = [
            other
            for other in world.pods.pods.values()
            if other.key[:2] == (job, replica) and other is not pod and not other.ended and not other.gone
        ]
        if rivals and (is_stray(world, pod) or all(is_stray(world, rival) for rival in rivals)):
            yield Excuse("stray pod")
        else:
            yield f"{pod.uid} lives beside {[rival.uid for rival in rivals]}" if rivals else None


def children_are_of_known_jobs(_: World, stories: Stories, change: Change, __: Sight) -> Verdicts:
    """Nothing is made for a job that the log does not have, or that it has closed."""
    owner = owner_of(change.object)
    if owner and change.verb is Verb.ADDED:
        story = stories.get(owner)
        ok = story is not None and story.state.plan is not None
        yield None if ok else f"{_named(change.object)} is made for {owner}, which the log does not have"


def evidence_is_kept_until_the_end_is_told(
    world: World, stories: Stories, change: Change, sight: Sight
) -> Verdicts:
    """What holds a pod is taken off it when its end is in the log, or its job is gone."""
    pod = _pod(world, change)
    if pod is None:
        return
    meta = change.object["metadata"]
    if EVIDENCE in meta.get("finalizers", ()) and change.verb is not Verb.DELETED:
        sight.held.add(pod.uid)
    elif pod.uid in sight.held:
        sight.held.discard(pod.uid)
        if world.is_of_force(pod):
            yield Excuse("evidence removed by force")
        elif pod.ended and _is_there(world, stories, pod) and pod.uid not in stories[pod.key[0]].ends:
            if is_stray(world, pod):
                yield Excuse("stray pod")
            elif pod.uid in world.pods.stripped and not world.pods.is_in_log(pod.uid):
                yield Excuse("pod without owner")
            elif pod.uid in world.pods.relabelled and not world.pods.is_in_log(pod.uid):
                yield Excuse("pod relabelled")
            else:
                yield f"{pod.uid} ended, the log does not say so, and its finalizer is removed"
        else:
            yield None


def _is_there(world: World, stories: Stories, pod: PodLife) -> bool:
    """The job of the pod exists."""
    story = stories.get(pod.key[0])
    return story is not None and _object(world, story) is not None


def _object(world: World, story: Story) -> Manifest | None:
    state = story.state
    there = world.cluster.objects.peek(Ref(state.api_version, state.object_kind, state.namespace, state.name))
    return there if there is not None and there["metadata"]["uid"] == state.uid else None


def deletions_follow_their_entries(world: World, stories: Stories, change: Change, sight: Sight) -> Verdicts:
    """A controller deletes the pod of a job that is there after the entry that lets go of it."""
    pod = _pod(world, change)
    if pod is None or pod.uid in sight.deleted or "deletionTimestamp" not in change.object["metadata"]:
        return
    sight.deleted.add(pod.uid)
    story = stories.get(pod.key[0])
    job = _object(world, story) if story is not None else None
    if story is None or job is None or pod.uid in world.pods.deleted_by_others:
        return
    replica = story.state.replicas.get(pod.key[1])
    asked = replica is not None and replica.uid == pod.uid and replica.wanted and not replica.leaving
    if asked and not story.state.is_final and "deletionTimestamp" not in job["metadata"]:
        yield Excuse("stray pod") if is_stray(world, pod) else f"{pod.uid} is deleted, the log says {replica}"
    else:
        yield None


def a_status_is_that_of_an_entry(world: World, stories: Stories, change: Change, sight: Sight) -> Verdicts:
    """What is written as status is what the log tells at the entry that it names, and never of an earlier one."""
    job = change.object
    if not is_job(job) or change.verb is Verb.DELETED:
        return
    ref = Ref.of(job)
    stored = world.cluster.objects._stored.get(ref)
    seq = stored.status_seq if stored is not None else 0
    story = stories.get(JobUid(job["metadata"]["uid"]))
    last = sight.status_seq.get(ref, 0) if story is not None else 0
    sight.status_seq[ref] = seq
    if story is None or seq in (0, last):
        return
    if seq > len(story.steps):
        yield f"{_named(job)} has the status of entry {seq}, the log ends with {len(story.steps)}"
    else:
        folded = status(story.steps[seq - 1].after)
        ok = job.get("status") == folded
        yield None if ok else f"{_named(job)} says {job.get('status')}, entry {seq} {folded}"


def _named(manifest: Manifest) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']} {manifest['metadata']['uid']}"


OF_OTHER_CHANGES: Final = (children_are_of_known_jobs, a_status_is_that_of_an_entry)
"""Those that say something of objects that are no pods."""

OF_CHANGES: Final = (
    pods_are_made_once,
    pods_have_values,
    pods_follow_their_entries,
    one_pod_of_a_replica_lives,
    evidence_is_kept_until_the_end_is_told,
    deletions_follow_their_entries,
    *OF_OTHER_CHANGES,
)
