"""What must hold, whatever happened. Each function yields a sentence for each thing that does not."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from k8s_bridge.port import EVIDENCE, Manifest, Ref
from statemachine import events as e
from statemachine.decide import decide
from statemachine.desired import desired
from statemachine.evolve import fold
from statemachine.ids import ATTEMPT, JobUid, PodUid, short_hash
from statemachine.log.audit import verify
from statemachine.log.codec import decode, encode, encode_state
from statemachine.log.entry import Entry
from statemachine.log.port import Record
from statemachine.log.reader import Reader
from statemachine.observations import TensorBoardObserved, WriteRefused
from statemachine.phases import Trigger, allows, step
from statemachine.rules.launcher import has_launcher, is_held_back, is_launched
from statemachine.rules.words import CHILD_REFUSED
from statemachine.spec import Launch
from statemachine.state import JobState, ReplicaPhase
from statemachine.status import status
from tests.simulation.world import World

Findings = Iterator[str]

_REFUSALS: Final = 8
"""The waits between tries are at their longest by then."""


class Story:
    """One job's history: each entry with the states before and after it."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self.steps: list[tuple[JobState, Entry, JobState]] = []
        state = JobState(records[0].job)
        for record in records:
            entry = decode(record.body)
            after = fold(state, entry.events)
            self.steps.append((state, entry, after))
            state = after
        self.state = state

    def events(self) -> Iterator[tuple[JobState, e.Event]]:
        """Each event with the state that it met."""
        for before, entry, _ in self.steps:
            state = before
            for event in entry.events:
                yield state, event
                state = fold(state, (event,))


def stories(world: World) -> dict[JobUid, Story]:
    """The histories of all jobs."""
    found: dict[JobUid, list[Record]] = {}
    for record in world.records():
        found.setdefault(record.job, []).append(record)
    return {job: Story(records) for job, records in found.items()}


# ---- of a history, at any time -----------------------------------------------------------------------------


def numbers_have_no_holes(_: World, story: Story) -> Findings:
    """1, 2, 3 … in log order, each naming the one before it by hash."""
    seqs = [record.seq for record in story.records]
    if seqs != list(range(1, len(seqs) + 1)):
        yield f"numbers are {seqs}"
    yield from (f"entry {flaw.seq}: {flaw.reason}" for flaw in verify(story.records))


def values_stay_out_of_the_log(world: World, story: Story) -> Findings:
    """Where values of variables are concealed, no entry has one in clear."""
    if not world.conceals:
        return
    for record in story.records:
        if b'"value":"0.1"' in record.body:  # the one that jobs of the simulation have
            yield f"entry {record.seq} has a literal value: {record.body!r}"


def deciding_again_says_the_same(_: World, story: Story) -> Findings:
    """The recorded cause, decided on the state before it, gives the recorded bytes."""
    for record, (before, entry, _after) in zip(story.records, story.steps, strict=True):
        again = encode(entry.model_copy(update={"events": decide(before, entry.cause)}))
        if again != record.body:
            yield f"entry {record.seq} is {record.body!r}, decided again {again!r}"


def phases_move_along_the_table(_: World, story: Story) -> Findings:
    """Every change of phase is a row of spec R5; final phases are never left."""
    for before, event in story.events():
        if isinstance(event, e.PhaseEntered):
            if before.is_final or not allows(before.phase, event.trigger):
                yield f"{before.phase} was left by {event.trigger}"
            elif step(before.phase, event.trigger) is not event.phase:
                yield f"{event.trigger} led from {before.phase} to {event.phase}"


def final_phases_absorb(_: World, story: Story) -> Findings:
    """Phase and conditions of a job that has ended stay as they are; that its pods cannot be deleted is said."""

    def said(state: JobState) -> object:
        return state.phase, [each for each in state.conditions if each.type != CHILD_REFUSED]

    for before, entry, after in story.steps:
        if before.is_final and said(after) != said(before):
            yield f"entry {entry.seq} changed an ended job from {before.phase} to {after.phase}"


def restarts_are_counted_once(_: World, story: Story) -> Findings:
    """One unit of budget for each restart, never more than there is, and no pod is restarted twice."""
    granted = [event for _, event in story.events() if isinstance(event, e.RestartScheduled)]
    told = sum(event.spent or 0 for _, event in story.events() if isinstance(event, e.JobAdopted))
    if not story.state.spent == told + len(granted) == sum(story.state.restarts.values()):
        yield f"{len(granted)} restarts, spent {story.state.spent}, by type {dict(story.state.restarts)}"
    if [each.spent for each in granted] != list(range(told + 1, told + len(granted) + 1)):
        yield f"restarts are numbered {[each.spent for each in granted]}"
    for before, event in story.events():
        if isinstance(event, e.RestartScheduled):
            limit = before.running_plan.backoff_limit
            if event.limit != limit or (limit is not None and event.spent > limit):
                yield f"restart {event.spent} of {event.limit}, the limit was {limit}"


def every_failure_is_judged_once(_: World, story: Story) -> Findings:
    """Exactly one verdict for each failed pod of an active job, and none for any other."""
    verdicts: Counter[PodUid] = Counter()
    failures: Counter[PodUid] = Counter()
    for before, event in story.events():
        match event:
            case e.ReplicaFailed() if allows(before.phase, Trigger.RESTART_GRANTED):
                failures[event.uid] += 1
            case e.RestartScheduled(after_success=False):
                verdicts[event.cause.pod_uid] += 1
            case e.RestartDenied() if event.cause.exit_code != 0:
                verdicts[event.cause.pod_uid] += 1
            case _:
                continue
    if failures != verdicts or any(count > 1 for count in verdicts.values()):
        yield f"failures {dict(failures)}, verdicts {dict(verdicts)}"


def attempts_count_up(_: World, story: Story) -> Findings:
    """A replica's attempts are 1, 2, 3 …: none is asked for twice, and each pod is one attempt."""
    asked: Counter[str] = Counter()
    for _before, event in story.events():
        if isinstance(event, e.ReplicaRequested):
            asked[event.replica] += 1
            if event.attempt != asked[event.replica]:
                yield f"{event.replica} was asked for as attempt {event.attempt}, {asked[event.replica]} follows"


def launchers_come_when_workers_wait(_: World, story: Story) -> Findings:
    """A launcher is asked for once all workers are Running and Ready, and no worker is asked for after it."""
    for before, event in story.events():
        if not isinstance(event, e.ReplicaRequested) or not has_launcher(before):
            continue
        plan = before.running_plan
        waiting = [each for each in before.members if each.name != plan.primary]
        if event.replica != plan.primary:
            if is_launched(before) and plan.launch is Launch.WHEN_READY:
                yield f"{event.replica} was asked for after the launcher"
        elif plan.launch is Launch.WHEN_READY and not all(
            each.ready and each.phase is ReplicaPhase.RUNNING for each in waiting
        ):
            yield f"the launcher was asked for while the workers are {waiting}"


def pods_of_two_scales_do_not_meet(_: World, story: Story) -> Findings:
    """Where another scale starts all anew, no pod is asked for while one of another scale is there."""
    scales: dict[str, int] = {}
    for before, event in story.events():
        if not isinstance(event, e.ReplicaRequested):
            continue
        scale = scales[event.replica] = before.running_plan.scale
        if before.running_plan.anew_on_scale:
            there = [each.name for each in before.replicas.values() if each.has_pod]
            met = {name: scales[name] for name in there if scales[name] != scale}
            if met:
                yield f"{event.replica} was asked for at scale {scale} while there were {met}"


def timers_end(_: World, story: Story) -> Findings:
    """An ended job waits for nothing."""
    if (story.state.is_final or story.state.deleted) and story.state.timers:
        yield f"{story.state.phase}, and waits for {dict(story.state.timers)}"


def refusals_are_said_seldom(_world: World, story: Story) -> Findings:
    """While the cluster takes nothing, the same refusal is in the history a few times, however often it is met."""
    said: Counter[tuple[str, str, str]] = Counter()
    for _, event in story.events():
        match event:
            case (
                e.ReplicaCreated()
                | e.ReplicaReleased()
                | e.ReplicaUpdated()
                | e.ReplicaEnded()
                | e.PhaseEntered()
            ):
                said.clear()
            case e.ChildRefused():
                refusal = event.verb, event.kind, event.cause.reason
                said[refusal] += 1
                if said[refusal] > (1 if event.verb == "delete" else _REFUSALS):
                    yield f"{refusal} is said {said[refusal]} times"
            case _:
                pass


OF_HISTORIES: Final = (
    numbers_have_no_holes,
    deciding_again_says_the_same,
    phases_move_along_the_table,
    final_phases_absorb,
    restarts_are_counted_once,
    every_failure_is_judged_once,
    attempts_count_up,
    launchers_come_when_workers_wait,
    pods_of_two_scales_do_not_meet,
    timers_end,
    refusals_are_said_seldom,
)


# ---- of a history and the cluster, at rest -----------------------------------------------------------------


def _live(world: World, job: JobUid) -> list[Manifest]:
    return [each for ns in ("demo",) for each in world.cluster.objects.peek_children(ns, job)]


def _is_there(world: World, state: JobState) -> Manifest | None:
    ref = Ref(state.api_version, state.object_kind, state.namespace, state.name)
    found = world.cluster.objects.peek(ref)
    return found if found and found["metadata"]["uid"] == state.uid else None


def live_is_desired(world: World, story: Story) -> Findings:
    """At rest exactly the desired children exist, the pods in the attempt that is asked for."""
    there = sorted(
        (each["kind"], each["metadata"]["name"], _attempt(each)) for each in _live(world, story.state.uid)
    )
    wanted = sorted((each.kind, each.name, each.attempt) for each in desired(story.state))
    if story.state.is_final:  # it may have ended before all was made, or lost something since
        wanted = [each for each in wanted if each in there or each[0] in ("Pod", "TensorBoard")]
    if there != wanted:
        yield f"there are {there}, desired {wanted}"
    for replica in story.state.replicas.values():
        asked_for = replica.has_pod or is_held_back(story.state, replica)
        if replica.leaving or (replica.wanted and not asked_for):
            yield f"{replica.name} has not come to rest: {replica}"
    for each in _live(world, story.state.uid):
        if each["kind"] == "Pod" and _known_uid(story.state, each) != each["metadata"]["uid"]:
            yield f"{each['metadata']['name']} is {each['metadata']['uid']}, which the log does not know"


def _attempt(manifest: Manifest) -> int:
    return int(manifest["metadata"].get("annotations", {}).get(ATTEMPT, 0))


def _known_uid(state: JobState, pod: Manifest) -> str:
    labels = pod["metadata"]["labels"]
    replica = state.replicas.get(f"{labels['replica-type']}-{labels['replica-index']}")  # type: ignore[call-overload]
    return "" if replica is None else str(replica.uid)


def nothing_is_stuck(world: World, story: Story) -> Findings:
    """No object that was deleted is still there, least of all for its evidence."""
    for each in _live(world, story.state.uid):
        meta = each["metadata"]
        if "deletionTimestamp" in meta:
            held = " held for evidence" if EVIDENCE in meta.get("finalizers", ()) else ""
            yield f"{each['kind']} {meta['name']} {meta['uid']} is being deleted for ever{held}"


def status_is_folded(world: World, story: Story) -> Findings:
    """The status on the object is the one that the log tells."""
    found = _is_there(world, story.state)
    if found is None:
        if not story.state.deleted:
            yield "the object is gone, and the log does not know"
        return
    told: dict[str, Any] = status(story.state)
    if found.get("status") != told:
        yield f"the object says {found.get('status')}, the log {told}"


def announced_once(world: World, story: Story) -> Findings:
    """Each announcement is one Kubernetes Event."""
    state = story.state
    told = Counter(
        (f"{state.name}.{short_hash(state.uid)}.{entry.seq}.{number}", said.reason, said.message)
        for _, entry, _ in story.steps
        for number, said in enumerate(each for each in entry.events if isinstance(each, e.Announced))
    )
    kept = world.cluster.kept_events.of(state.namespace, state.uid)
    there = Counter((each.name, each.reason, each.message) for each in kept)
    if told != there:
        yield f"missing {told - there}, too many {there - told}"


def no_end_is_lost(world: World, story: Story) -> Findings:
    """A pod that was held for its evidence and ended has its end in the log.

    But for a stray: made by a controller believed dead, or so late that the log says there is none.
    """
    told = {
        each.uid
        for _, each in story.events()
        if isinstance(each, e.ReplicaFailed | e.ReplicaSucceeded | e.ReplicaEnded)
    }
    for pod in world.pods.pods.values():
        safe = pod.held and pod.uid not in world.pods.forced
        if (
            pod.key[0] != story.state.uid
            or not pod.ended
            or not safe
            or pod.uid in told
            or story.state.closed
        ):
            continue
        strays = world.usurped or world.weather.late_creates
        if not strays or world.pods.is_in_log(pod.uid):
            yield f"{pod.uid} ended ({pod.ended}), and the log does not say so"


def own_deletions_are_known(world: World, story: Story) -> Findings:
    """What a controller deletes is in the log before the call, and so never mistaken for somebody's doing."""
    mistaken = (e.CauseClass.DELETED_BY_SOMEONE, e.CauseClass.EVIDENCE_LOST)
    ours = world.weather.deleted - world.pods.deleted_by_others
    for _, event in story.events():
        if not isinstance(event, e.ReplicaLost | e.ReplicaEnded):
            continue
        if event.cause.kind in mistaken and event.uid in ours:
            yield f"{event.uid} was deleted by a controller, and the log says: {event.cause.kind}"


def repeats_say_nothing(_: World, story: Story) -> Findings:
    """Whatever was observed, seen again, changes nothing: deliveries come twice, and late.

    But for what tells of the present (refusals, a TensorBoard), and for a pod that nobody can see: any report of
    it is news.
    """
    if any(each.phase is ReplicaPhase.UNKNOWN for each in story.state.replicas.values()):
        return
    for _before, entry, _after in story.steps:
        if not isinstance(entry.cause, WriteRefused | TensorBoardObserved):
            said = decide(story.state, entry.cause)
            if said:
                yield f"the cause of entry {entry.seq}, seen again, says {said}"


def replay_gives_the_state(world: World, story: Story) -> Findings:
    """A reader from the first entry on, and the controller that lives, believe the same."""
    reader = Reader()
    for record in story.records:
        reader.accept(record)
    folded = reader.tracked(story.state.uid)
    if folded.quarantined or encode_state(folded.state) != encode_state(story.state):
        yield f"replayed: {folded}"
    if world.process is not None:
        held = world.process.controller.reader.tracked(story.state.uid)
        if held.forgotten:
            if (held.seq, held.state.closed) != (folded.seq, folded.state.closed):
                yield f"the controller has forgotten the job at entry {held.seq}, the log is at {folded.seq}"
        elif (held.seq, held.head) != (folded.seq, folded.head):
            yield f"the controller is at entry {held.seq}, the log at {folded.seq}"
        elif encode_state(held.state) != encode_state(folded.state):
            yield f"the controller holds {held.state}, the log tells {folded.state}"


AT_REST: Final = (
    values_stay_out_of_the_log,
    live_is_desired,
    nothing_is_stuck,
    status_is_folded,
    announced_once,
    no_end_is_lost,
    own_deletions_are_known,
    repeats_say_nothing,
    replay_gives_the_state,
)


# ---- of the whole -----------------------------------------------------------------------------------------


def nothing_was_logged(world: World) -> Findings:
    """No error was logged, no controller died, nothing lies among the dead letters."""
    yield from world.broken
    for letter in world.log._letters:
        yield f"dead letter: {letter.error}: {letter.observation!r}"


def no_twins(world: World) -> Findings:
    """No pod was made twice for one attempt."""
    yield from world.pods.twins


def pods_have_values(world: World) -> Findings:
    """No pod was made with a reference in the place of a value."""
    yield from world.pods.without_values


def no_key_is_told(world: World) -> Findings:
    """Nothing that a Secret holds is in an entry of the log or in the status of a job."""
    secrets = list(world.cluster.objects.peek_all("Secret"))
    kept = {value.encode() for secret in secrets for value in secret["data"].values()}
    told = [record.body for record in world.records()]
    told += [repr(job.get("status")).encode() for job in world.live_jobs()]
    if any(value in text for value in kept for text in told):
        yield "a key of a Secret is in the log, or in a status"


def jobs_are_known(world: World) -> Findings:
    """Every job object is in the log."""
    known = set(world.uids())
    for job in world.live_jobs():
        if job["metadata"]["uid"] not in known:
            yield f"job {job['metadata']['name']} {job['metadata']['uid']} is not in the log"


def check_rest(world: World, told: Mapping[JobUid, Story]) -> list[str]:
    """All that is wrong with a system at rest, whose log is `told`."""
    found = [*nothing_was_logged(world), *no_twins(world), *pods_have_values(world)]
    found += [*no_key_is_told(world), *jobs_are_known(world)]
    for job, story in told.items():
        for rule in AT_REST:
            found += [f"{rule.__name__}: job {job}: {each}" for each in rule(world, story)]
    return found


def check_log(world: World, told: Mapping[JobUid, Story]) -> list[str]:
    """All that is wrong with the histories themselves."""
    found = []
    for job, story in told.items():
        for rule in OF_HISTORIES:
            found += [f"{rule.__name__}: job {job}: {each}" for each in rule(world, story)]
    return found


def check_end(world: World) -> list[str]:
    """All that is wrong when every job object has been deleted: jobs end closed, and leave nothing."""
    found = [*nothing_was_logged(world), *no_twins(world)]
    for job, story in stories(world).items():
        if not story.state.closed:
            found.append(f"job {job} is not closed: {story.state.replicas}")
        for rule in (numbers_have_no_holes, attempts_count_up, timers_end, announced_once):
            found += [f"{rule.__name__}: job {job}: {each}" for each in rule(world, story)]
    for kind in ("Pod", "Service", "PodGroup", "TensorBoard", "Secret", "ConfigMap"):
        for each in world.cluster.objects.peek_all(kind):
            found.append(f"{kind} {each['metadata']['name']} {each['metadata']['uid']} remains")
    return found
