"""Invariants of every entry, examined right after it was appended, until the last job is gone."""

from typing import Final

from statemachine import events as e
from statemachine.decide import POLICY, decide
from statemachine.kinds.pytorchjob.ending import EXPIRY
from statemachine.log.codec import encode, entry_hash
from statemachine.observations import TimerFired
from statemachine.phases import Trigger, allows, step
from statemachine.rules.driver import driver_of, is_driven
from statemachine.rules.timers import UNREADABLE
from statemachine.rules.words import CHILD_REFUSED
from statemachine.spec import Launch
from statemachine.state import JobState, ReplicaPhase
from tests.simulation.histories import LoggedEntry, Story
from tests.simulation.of_replicas import replicas_move_along_the_table
from tests.simulation.verdicts import Verdicts
from tests.simulation.world import World

_REFUSALS: Final = 8
"""The waits between tries are at their longest by then."""

_LIFE_SIGNS: Final = (
    e.ReplicaCreated,
    e.ReplicaReleased,
    e.ReplicaUpdated,
    e.ReplicaEnded,
    e.PhaseEntered,
)


def numbers_have_no_holes(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """1, 2, 3 … in log order."""
    ok = step.record.seq == len(story.steps)
    yield None if ok else f"entry {step.record.seq} is number {len(story.steps)}"


def entries_are_chained(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """Each entry names the one before it by hash."""
    if len(story.steps) > 1:
        before = entry_hash(story.steps[-2].record.body)
        yield None if step.entry.prev == before else f"entry {step.record.seq} names {step.entry.prev}"


def entries_tell_something(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """What changes nothing is not written."""
    yield None if step.events else f"entry {step.record.seq} is empty: {step.entry.cause!r}"


def nothing_follows_the_last(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """A closed job has no further entry, and only one whose object is gone is closed."""
    if step.before.closed:
        yield f"entry {step.record.seq} follows the closing of the job"
    elif step.after.closed:
        there = [replica.name for replica in step.after.replicas.values() if replica.has_pod]
        ok = step.after.deleted and not there
        yield None if ok else f"closed with {there}, object deleted: {step.after.deleted}"


def values_stay_out_of_the_log(world: World, _: Story, step: LoggedEntry) -> Verdicts:
    """Where values of variables are concealed, no entry has one in clear."""
    if world.conceals:
        literal = b'"value":"0.1"' in step.record.body  # the one that jobs of the simulation have
        yield f"entry {step.record.seq} has a literal value: {step.record.body!r}" if literal else None


def deciding_again_says_the_same(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """The recorded cause, decided on the state before it, gives the recorded bytes."""
    entry = step.entry
    if entry.policy != POLICY:
        return  # an older release decided it
    again = encode(entry.changed(events=decide(step.before, entry.cause)))
    ok = again == step.record.body
    yield None if ok else f"entry {step.record.seq} is {step.record.body!r}, decided again {again!r}"


def phases_move_along_the_table(_: World, __: Story, entry: LoggedEntry) -> Verdicts:
    """Every change of phase is a row of spec R5; final phases are never left."""
    for before, event in entry.events:
        if isinstance(event, e.PhaseEntered):
            if before.is_final or not allows(before.phase, event.trigger):
                yield f"{before.phase} was left by {event.trigger}"
            else:
                ok = step(before.phase, event.trigger) is event.phase
                yield None if ok else f"{event.trigger} led from {before.phase} to {event.phase}"


def final_phases_absorb(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """Phase and conditions of a job that has ended stay as they are; that its pods cannot be deleted is said."""

    def said(state: JobState) -> object:
        return state.phase, [condition for condition in state.conditions if condition.type != CHILD_REFUSED]

    if step.before.is_final:
        ok = said(step.after) == said(step.before)
        yield None if ok else f"entry {step.entry.seq} changed an ended job: {step.after.phase}"


def restarts_are_counted_once(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """One unit of budget for each restart, numbered in order."""
    granted = story.counts["restarts"]
    for before, event in step.events:
        if isinstance(event, e.JobAdopted):
            granted["adopted"] = event.spent or 0
        elif isinstance(event, e.RestartScheduled):
            granted["granted"] += 1
            ok = event.spent == before.spent + 1 == granted.total()
            yield None if ok else f"restart {event.spent} after {before.spent}, {dict(granted)}"
    after = step.after
    if after.spent:
        ok = after.spent == granted.total() == sum(after.restarts.values())
        yield None if ok else f"{dict(granted)}, spent {after.spent}, by type {dict(after.restarts)}"


def budgets_are_kept(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """No restart is granted above the limit that holds then, the replica's or the job's, and that is announced."""
    times = story.counts["restarts of a replica"]
    for before, event in step.events:
        if isinstance(event, e.RestartScheduled):
            times[event.replica] += 1
            limit, used = before.running_plan.backoff_limit, event.spent
            own = before.running_plan.type_of(event.replica).restart_limit
            if own is not None:
                limit, used = own, times[event.replica]
            over = event.limit != limit or (limit is not None and used > limit)
            yield f"restart {used} of {event.limit}, the limit was {limit}" if over else None


def every_failure_is_judged_once(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """Exactly one verdict for each failed pod of an active job, in the same entry, and none for any other."""
    verdicts, failures = story.counts["verdicts"], story.counts["failures"]
    for before, event in step.events:
        match event:
            case e.ReplicaFailed() if allows(before.phase, Trigger.RESTART_GRANTED):
                failures[event.uid] += 1
            case e.RestartScheduled(after_success=False):
                verdicts[event.cause.pod_uid] += 1
            case e.RestartDenied() if event.cause.exit_code != 0:
                verdicts[event.cause.pod_uid] += 1
            case _:
                continue
        ok = failures[event_uid(event)] <= 1 and verdicts[event_uid(event)] <= 1
        yield None if ok else f"failures {dict(failures)}, verdicts {dict(verdicts)}"
    if failures != verdicts:
        yield f"entry {step.record.seq}: failures {dict(failures)}, verdicts {dict(verdicts)}"


def event_uid(event: e.ReplicaFailed | e.RestartScheduled | e.RestartDenied) -> str:
    """The pod that a failure or its verdict is about."""
    return event.uid if isinstance(event, e.ReplicaFailed) else event.cause.pod_uid


def attempts_count_up(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """A replica's attempts are 1, 2, 3 …: none is asked for twice. An adopted one is later than all before it."""
    asked = story.counts["asked"]
    for _before, event in step.events:
        if isinstance(event, e.ReplicaAdopted):
            known, asked[event.replica] = asked[event.replica], event.attempt
            ok = event.attempt > known
            yield None if ok else f"{event.replica} adopted attempt {event.attempt} after {known}"
        elif isinstance(event, e.ReplicaRequested):
            asked[event.replica] += 1
            ok = event.attempt == asked[event.replica]
            yield (
                None
                if ok
                else f"{event.replica} was asked for as {event.attempt}, not {asked[event.replica]}"
            )


def a_pod_is_of_one_attempt(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """No pod is reported as made for a second replica, or for a second attempt of its own."""
    for before, event in step.events:
        if isinstance(event, e.ReplicaCreated):
            now = event.replica, before.replicas[event.replica].attempt
            first = story.made.setdefault(event.uid, now)
            yield None if first == now else f"{event.uid} is reported as {now}, and was {first}"


def an_end_is_told_once(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """A pod ends in the log once, by its own end; a lost one may still turn out to have ended."""
    ends = story.counts["ends"]
    for _before, event in step.events:
        if isinstance(event, e.ReplicaFailed | e.ReplicaSucceeded | e.ReplicaEnded):
            ends[event.uid] += 1
            yield (
                None
                if ends[event.uid] == 1
                else f"the end of {event.uid} is recorded {ends[event.uid]} times"
            )


def launchers_come_when_workers_wait(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """A launcher is asked for once all workers are Running and Ready, and no worker is asked for after it."""
    for before, event in step.events:
        if not isinstance(event, e.ReplicaRequested) or not driver_of(before):
            continue
        plan = before.running_plan
        if plan.launch is not Launch.WHEN_READY:
            continue
        if event.replica != plan.primary:
            yield f"{event.replica} was asked for after the launcher" if is_driven(before) else None
            continue
        waiting = [member for member in before.members if member.name != plan.primary]
        ok = all(replica.ready and replica.phase is ReplicaPhase.RUNNING for replica in waiting)
        yield None if ok else f"the launcher was asked for while the workers are {waiting}"


def pods_of_two_scales_do_not_meet(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """Where another scale starts all anew, no pod is asked for while one of another scale is there."""
    scales = story.counts["scales"]
    for before, event in step.events:
        if not isinstance(event, e.ReplicaRequested):
            continue
        scale = scales[event.replica] = before.running_plan.scale
        if before.running_plan.anew_on_scale:
            there = [replica.name for replica in before.replicas.values() if replica.has_pod]
            met = {name: scales[name] for name in there if scales[name] != scale}
            yield f"{event.replica} was asked for at scale {scale} while there were {met}" if met else None


def timers_end(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """A job that has ended waits for nothing but the time at which it is deleted for its age.

    Its deletion ends all timers. Since then it may wait for the status of a pod that leaves, to no effect.
    """
    after = step.after
    if after.is_final or after.deleted:
        due = {EXPIRY} if not after.deleted else {UNREADABLE} if step.before.deleted else set()
        waits = after.timers.keys() - due
        yield f"{after.phase}, and waits for {sorted(waits)}" if waits else None


def sight_is_lost_of_who_stays(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """A pod that leaves keeps the phase it had: no job becomes Unknown by it."""
    if step.entry.policy != POLICY:
        return  # an older release decided it
    for before, event in step.events:
        if isinstance(event, e.ReplicaUnreachable):
            leaving = before.replicas[event.replica].leaving
            yield f"sight of {event.replica} is lost, which leaves: {leaving}" if leaving else None


def timers_fire_when_due(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """Where a timer brings something about, one was due; it may be another than the one that fired late."""
    cause = step.entry.cause
    if isinstance(cause, TimerFired):
        timers = step.before.timers
        ok = any(due <= cause.at for due in timers.values())
        yield None if ok else f"{cause.timer} fired at {cause.at}, when there were {dict(timers)}"


def deletions_are_of_known_pods(_: World, __: Story, step: LoggedEntry) -> Verdicts:
    """A replica is dismissed, or restarted, only while it has a pod or is asked for."""
    for before, event in step.events:
        if isinstance(event, e.ReplicaDismissed | e.RestartScheduled):
            ok = event.replica in before.replicas
            yield None if ok else f"{event.type} of {event.replica}, which is not there"


def refusals_are_said_seldom(_: World, story: Story, step: LoggedEntry) -> Verdicts:
    """While the cluster takes nothing, a refusal is in the history a few times, and when it differs from the last."""
    said, last = story.counts["said"], story.counts["said last"]
    for _before, event in step.events:
        if isinstance(event, _LIFE_SIGNS):
            said.clear()
        elif isinstance(event, e.ChildRefused):
            refusal = event.verb, event.kind, event.cause.reason
            said[refusal] += 1
            if refusal not in last and event.verb != "delete":
                said["differs"] += 1
                last.clear()
                last[refusal] = 1
            ok = said[refusal] <= (1 if event.verb == "delete" else _REFUSALS + said["differs"] // 2)
            yield None if ok else f"{refusal} is said {said[refusal]} times"


OF_HISTORIES: Final = (
    numbers_have_no_holes,
    entries_are_chained,
    entries_tell_something,
    nothing_follows_the_last,
    deciding_again_says_the_same,
    phases_move_along_the_table,
    replicas_move_along_the_table,
    final_phases_absorb,
    restarts_are_counted_once,
    budgets_are_kept,
    every_failure_is_judged_once,
    attempts_count_up,
    a_pod_is_of_one_attempt,
    an_end_is_told_once,
    launchers_come_when_workers_wait,
    pods_of_two_scales_do_not_meet,
    timers_end,
    sight_is_lost_of_who_stays,
    timers_fire_when_due,
    deletions_are_of_known_pods,
    refusals_are_said_seldom,
)
"""Those that hold for a history wherever it was written: they do not look at the world."""

OF_ENTRIES: Final = (*OF_HISTORIES, values_stay_out_of_the_log)
