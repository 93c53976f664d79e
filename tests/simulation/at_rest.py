"""Invariants of a system at rest: of each job, of the whole, and of what is left when every job was deleted."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from k8s_bridge.observe import is_in_sight
from k8s_bridge.port import EVIDENCE, Manifest, Ref
from k8s_bridge.stored import controller as controller_of
from statemachine import events as e
from statemachine.desired import desired
from statemachine.ids import ATTEMPT, JobUid, short_hash
from statemachine.log.audit import verify
from statemachine.log.codec import encode_state
from statemachine.phases import ACTIVE
from statemachine.rules.creation import NAME_CONFLICT
from statemachine.rules.driver import is_held_back
from statemachine.state import STATE_VERSION, JobState
from statemachine.status import status
from tests.simulation.histories import Story
from tests.simulation.of_changes import is_stray
from tests.simulation.repeats import repeats_say_nothing
from tests.simulation.verdicts import NAMESAKE, Excuse, Verdicts
from tests.simulation.world import World
from tests.support.faults import CHILDREN

Stories = Mapping[JobUid, Story]


def children_of(world: World, job: JobUid) -> list[Manifest]:
    """The objects of a job that exist, uncopied."""
    return [child for ns in world.namespaces for child in world.cluster.objects.peek_children(ns, job)]


def _is_there(world: World, state: JobState) -> Manifest | None:
    ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
    manifest = world.cluster.objects.peek(ref)
    return manifest if manifest and manifest["metadata"]["uid"] == state.uid else None


def live_is_desired(world: World, story: Story) -> Verdicts:
    """At rest exactly the desired children exist, the pods in the attempt that is asked for.

    One waits where a job of another kind and the same name is in its way; while it starts or runs, it says so.
    """
    if taken := in_the_way(world, story.state):
        says_so = story.state.phase not in ACTIVE or any(
            condition.reason == NAME_CONFLICT for condition in story.state.conditions
        )
        yield Excuse(NAMESAKE) if says_so else f"{[*taken]} are not its own, and no condition says so"
        return
    there = sorted(
        (manifest["kind"], manifest["metadata"]["name"], _attempt(manifest))
        for manifest in children_of(world, story.state.uid)
    )
    wanted = sorted((child.kind, child.name, child.attempt) for child in desired(story.state))
    if story.state.is_final:  # it may have ended before all was made, or lost something since
        needed = [key for key in wanted if key in there or key[0] in ("Pod", "TensorBoard")]
        if needed != wanted:
            yield Excuse("ended before all was made")
        wanted = needed
    yield None if there == wanted else f"there are {there}, desired {wanted}"


def in_the_way(world: World, state: JobState) -> dict[str, str]:
    """The desired children whose names objects of other controllers have, with the uids of those."""
    taken = {}
    for child in desired(state):
        manifest = world.cluster.objects.peek(Ref(child.api_version, child.kind, state.namespace, child.name))
        if manifest is not None and (owner := controller_of(manifest)) not in ("", state.uid):
            taken[f"{child.kind} {child.name}"] = owner
    return taken


def replicas_have_come_to_rest(world: World, story: Story) -> Verdicts:
    """No replica is on its way, and every pod is the one that the log knows."""
    for replica in story.state.replicas.values():
        asked_for = replica.has_pod or is_held_back(story.state, replica)
        moves = replica.leaving or (replica.wanted and not asked_for)
        yield f"{replica.name} has not come to rest: {replica}" if moves else None
    for manifest in children_of(world, story.state.uid):
        if manifest["kind"] == "Pod":
            ok = _known_uid(world, story.state, manifest) == manifest["metadata"]["uid"]
            meta = manifest["metadata"]
            yield None if ok else f"{meta['name']} is {meta['uid']}, which the log does not know"


def _attempt(manifest: Manifest) -> int:
    return int(manifest["metadata"].get("annotations", {}).get(ATTEMPT, 0))


def _known_uid(world: World, state: JobState, pod: Manifest) -> str:
    replica = state.replicas.get(world.pods.pods[pod["metadata"]["uid"]].key[1])
    return "" if replica is None else str(replica.uid)


def pods_find_each_other(world: World, story: Story) -> Verdicts:
    """From each pod every other is reached by its bare name, as a resolver goes through namespace and search list."""
    if story.state.is_final or story.state.terminating:
        return
    if not any(child.kind == "Service" for child in desired(story.state)) or story.state.kind == "BeamJob":
        return  # it asks for none, or for one that stands for one pod
    live = children_of(world, story.state.uid)
    services = {child["metadata"]["name"]: child for child in live if child["kind"] == "Service"}
    pods = [child for child in live if child["kind"] == "Pod"]
    for asked in pods:
        name, labels = asked["metadata"]["name"], asked["metadata"].get("labels")
        if not labels:
            yield Excuse("pod without labels")
            continue
        if name.endswith("-launcher") and not story.state.running_plan.service:
            continue  # nobody asks for it, and it has no Service of its own
        known = {
            place
            for place, service in services.items()
            if service["spec"]["selector"].items() <= labels.items()
        }
        for asking in pods:
            ok = name in known or _place(asked) in known & _searched(asking)
            if not ok and asked["metadata"]["uid"] in world.pods.relabelled:
                yield Excuse("pod without labels")
            else:
                yield None if ok else f"{asking['metadata']['name']} does not find {name}"


def _place(pod: Manifest) -> str:
    """The Service under which the pod's name is its first label; empty if there is none."""
    spec = pod["spec"]
    return str(spec.get("subdomain", "")) if spec.get("hostname") == pod["metadata"]["name"] else ""


def _searched(pod: Manifest) -> set[str]:
    """The Services in whose domains a pod looks names up."""
    behind = f".{pod['metadata']['namespace']}.svc.cluster.local"
    listed = pod["spec"].get("dnsConfig", {}).get("searches", ())
    return {domain.removesuffix(behind) for domain in listed if domain.endswith(behind)}


def services_select_none_but_their_own(world: World, story: Story) -> Verdicts:
    """No Service sends anybody to a pod of another job, not even to one of a job of the same name.

    A pod is the job's that controls it now: one that another job left as an orphan may be taken back (R3).
    """
    services = [child for child in children_of(world, story.state.uid) if child["kind"] == "Service"]
    for pod in world.cluster.objects.peek_all("Pod"):
        if pod["metadata"]["namespace"] != story.state.namespace:
            continue
        labels = pod["metadata"].get("labels", {})
        for service in services:
            if service["spec"]["selector"].items() <= labels.items():
                life = world.pods.pods.get(pod["metadata"]["uid"])
                job = controller_of(pod) or (life.key[0] if life else story.state.uid)
                names = f"Service {service['metadata']['name']} selects {pod['metadata']['name']}"
                yield None if job == story.state.uid else f"{names} of {job}"


def nothing_is_stuck(world: World, story: Story) -> Verdicts:
    """No object that was deleted is still there, least of all for its evidence."""
    for manifest in children_of(world, story.state.uid):
        meta = manifest["metadata"]
        held = " held for evidence" if EVIDENCE in meta.get("finalizers", ()) else ""
        stuck = "deletionTimestamp" in meta
        yield f"{manifest['kind']} {meta['name']} {meta['uid']} is deleted for ever{held}" if stuck else None


def status_is_folded(world: World, story: Story) -> Verdicts:
    """The status on the object is the one that the log tells."""
    there = _is_there(world, story.state)
    if there is None:
        yield None if story.state.deleted else "the object is gone, and the log does not know"
        return
    folded = status(story.state)
    ok = there.get("status") == folded
    yield None if ok else f"the object says {there.get('status')}, the log {folded}"


def labels_are_those_of_the_object(world: World, story: Story) -> Verdicts:
    """Lists show a job with the labels that it has."""
    if (there := _is_there(world, story.state)) is not None:
        labels, of_log = there["metadata"].get("labels", {}), story.state.labels
        yield None if labels == of_log else f"the object has the labels {labels}, the log tells {of_log}"


def living_pods_are_counted(world: World, story: Story) -> Verdicts:
    """The log knows as many pods that have not ended as there are."""
    pods = [manifest for manifest in children_of(world, story.state.uid) if manifest["kind"] == "Pod"]
    living = sum(pod["status"].get("phase") not in ("Succeeded", "Failed") for pod in pods)
    counted = sum(replica.has_pod and not replica.ended for replica in story.state.replicas.values())
    if living < counted and in_the_way(world, story.state):
        yield Excuse(NAMESAKE)
        return
    yield None if living == counted else f"{living} pods live, the log counts {counted}"


def announced_once(world: World, story: Story) -> Verdicts:
    """Each announcement is one Kubernetes Event, of the time of its entry."""
    state = story.state
    announcements = Counter(
        (
            f"{state.name}.{short_hash(state.uid)}.{step.entry.seq}.{number}",
            said.reason,
            said.message,
            step.entry.seen_at,
        )
        for step in story.steps
        for number, said in enumerate(event for event in step.entry.events if isinstance(event, e.Announced))
    )
    kept = world.cluster.kept_events.of(state.namespace, state.uid)
    there = Counter((key.name, key.reason, key.message, key.at) for key in kept)
    unsaid = {said for said in announcements - there if said[0] in world.weather.unannounced}
    missing = Counter({said: count for said, count in (announcements - there).items() if said not in unsaid})
    if unsaid:
        yield Excuse("namespace is going")
    yield f"missing {missing}, too many {there - announcements}" if missing or there - announcements else None


def no_end_is_lost(world: World, story: Story) -> Verdicts:
    """A pod that was held for its evidence and ended has its end in the log."""
    for pod in world.pods.pods.values():
        if pod.key[0] != story.state.uid or not pod.ended or not pod.held or story.state.closed:
            continue
        if pod.uid in story.ends:
            yield None
        elif world.is_of_force(pod):
            yield Excuse("evidence removed by force")
        elif is_stray(world, pod):
            yield Excuse("stray pod")
        elif pod.uid in world.pods.stripped and not world.pods.is_in_log(pod.uid):
            yield Excuse("pod without owner")
        elif pod.uid in world.pods.relabelled and not world.pods.is_in_log(pod.uid):
            yield Excuse("pod relabelled")
        else:
            yield f"{pod.uid} ended ({pod.ended}), and the log does not say so"


def own_deletions_are_known(world: World, story: Story) -> Verdicts:
    """What a controller deletes is in the log before the call, and so never mistaken for somebody's doing."""
    mistaken = (e.CauseClass.DELETED_BY_SOMEONE, e.CauseClass.EVIDENCE_LOST)
    ours = world.weather.deleted - world.pods.deleted_by_others
    for _, event in story.events():
        if isinstance(event, e.ReplicaLost | e.ReplicaEnded) and event.uid in ours:
            wrong = event.cause.kind in mistaken
            yield f"{event.uid} was deleted by a controller, not: {event.cause.kind}" if wrong else None


def replay_gives_the_state(world: World, story: Story) -> Verdicts:
    """A reader from the first entry on, and the controller that lives, believe the same."""
    folded = story.replayed()
    ok = not folded.quarantined and encode_state(folded.state) == encode_state(story.state)
    yield None if ok else f"replayed: {folded}"
    for name, controller in world.believers().items():
        held = controller.reader.tracked(story.state.uid)
        if held.forgotten:
            ok = (held.seq, held.state.closed) == (folded.seq, folded.state.closed)
            yield None if ok else f"the {name} forgot the job at entry {held.seq}, the log is at {folded.seq}"
        elif (held.seq, held.head) != (folded.seq, folded.head):
            yield f"the {name} is at entry {held.seq}, the log at {folded.seq}"
        else:
            ok = encode_state(held.state) == encode_state(folded.state)
            yield None if ok else f"the {name} holds {held.state}, the log tells {folded.state}"


def snapshots_are_folds(world: World, story: Story) -> Verdicts:
    """What is saved of a job is the state after the entry that it names."""
    saved = world.log._snapshots.get(story.state.uid)
    if saved is None or saved.version != STATE_VERSION:
        return
    if saved.body in world.damaged:
        yield Excuse("snapshot damaged")
    elif not 0 < saved.seq <= len(story.steps):
        yield f"the snapshot is of entry {saved.seq}, the log ends with {len(story.steps)}"
    elif saved.body:
        ok = saved.body == encode_state(story.steps[saved.seq - 1].after)
        yield None if ok else f"the snapshot of entry {saved.seq} is {saved.body!r}"


OF_JOBS: Final = (
    live_is_desired,
    replicas_have_come_to_rest,
    pods_find_each_other,
    services_select_none_but_their_own,
    nothing_is_stuck,
    status_is_folded,
    labels_are_those_of_the_object,
    living_pods_are_counted,
    announced_once,
    no_end_is_lost,
    own_deletions_are_known,
    repeats_say_nothing,
    replay_gives_the_state,
    snapshots_are_folds,
)


# ---- of the whole -----------------------------------------------------------------------------------------


def nothing_was_logged(world: World, _: Stories) -> Verdicts:
    """No error was logged, and no controller died."""
    yield None
    yield from world.broken


def no_letter_is_dead(world: World, _: Stories) -> Verdicts:
    """Nothing lies among the dead letters."""
    yield None
    for letter in world.log._letters:
        if letter.job in world.unreadable:
            continue
        yield f"dead letter: {letter.error}: {letter.observation!r}"


def no_key_is_told(world: World, _: Stories) -> Verdicts:
    """Nothing that a Secret holds is in an entry of the log or in the status of a job."""
    secrets = list(world.cluster.objects.peek_all("Secret"))
    kept = {value.encode() for secret in secrets for value in secret["data"].values()}
    bodies = [record.body for record in world.records()]
    bodies += [repr(job.get("status")).encode() for job in world.live_jobs()]
    if kept:
        wrong = any(value in text for value in kept for text in bodies)
        yield "a key of a Secret is in the log, or in a status" if wrong else None


def jobs_are_known(world: World, stories: Stories) -> Verdicts:
    """Every job object is in the log."""
    for job in world.live_jobs():
        meta = job["metadata"]
        yield (
            None
            if meta["uid"] in stories or meta["uid"] in world.untold
            else f"job {meta['name']} {meta['uid']} is not in the log"
        )


def the_log_is_sound(world: World, _: Stories) -> Verdicts:
    """An auditor who reads the whole log finds no flaw in it."""
    yield None
    records = (record for record in world.records() if record.job not in world.untold)
    yield from (f"entry {flaw.seq} of {flaw.job}: {flaw.reason}" for flaw in verify(records))


def nobody_lags(world: World, _: Stories) -> Verdicts:
    """What the controller says of itself: everything is projected, nothing fails."""
    for name, controller in world.believers().items():
        behind = {stream: lag for stream, lag in controller.lags.items() if lag}
        error = controller.log_error
        yield f"the {name} lags: {behind}, the log: {error!r}" if behind or error else None


OF_THE_WHOLE: Final = (
    nothing_was_logged,
    no_letter_is_dead,
    no_key_is_told,
    jobs_are_known,
    the_log_is_sound,
    nobody_lags,
)


# ---- when every job object has been deleted ---------------------------------------------------------------


def jobs_end_closed(_: World, stories: Stories) -> Verdicts:
    """Every job is closed in the log."""
    for job, story in stories.items():
        yield None if story.state.closed else f"job {job} is not closed: {story.state.replicas}"


def nothing_remains(world: World, _: Stories) -> Verdicts:
    """Nothing that was made for a job is left."""
    yield None
    for kind in CHILDREN:
        for manifest in world.cluster.objects.peek_all(kind):
            meta = manifest["metadata"]
            known = is_in_sight(manifest) or world.pods.is_in_log(meta["uid"])
            if meta["uid"] in world.pods.stripped and not (known and EVIDENCE in meta.get("finalizers", ())):
                yield Excuse(
                    "pod without owner"
                )  # with its job gone nobody may delete it, or nobody knows of it
            else:
                yield f"{kind} {meta['name']} {meta['uid']} remains"


OF_THE_END: Final = (
    nothing_was_logged,
    no_letter_is_dead,
    jobs_end_closed,
    nothing_remains,
    the_log_is_sound,
)
"""That nothing is left, and that nothing went wrong on the way there."""
