"""Phases: how a job starts, pauses, is lost sight of, and ends; and what it ended of."""

from datetime import datetime

from projectors.explain.drafts import Draft
from projectors.explain.model import IncidentKind, Nature, StepKind
from projectors.explain.says import refused_for_good, replicas
from projectors.explain.told import Told, by
from projectors.explain.wishes import pause_begun
from projectors.phrases import Said, Sentence, phrase
from projectors.phrases.exits import exit_code
from statemachine import events as e
from statemachine.log.entry import Entry
from statemachine.observations import PodObserved
from statemachine.phases import Phase, Trigger
from statemachine.rules.driver import early_end
from statemachine.state import JobState, ReplicaPhase


def phase_entered(told: Told, entry: Entry, event: e.PhaseEntered) -> None:
    """The phase changed: something began, was over, or the job ended."""
    told.since = event.at
    if told.status_lost:
        told.status_lost.step(entry, StepKind.PHASE, phase=event.phase)
        told.status_lost.over(event.at)
        told.status_lost = None
    match event.phase:
        case Phase.SUCCEEDED | Phase.FAILED if event.trigger in (
            Trigger.FOUND_SUCCEEDED,
            Trigger.FOUND_FAILED,
        ):
            _found_ended(told, entry, event)
        case Phase.PENDING if told.state.phase is Phase.NEW:
            draft = told.add(entry, IncidentKind.START, Nature.EXPECTED, _start_says(told, entry))
            _begin(told, draft)
        case Phase.RUNNING if told.wish:
            told.wish.step(entry, StepKind.PHASE, phase=event.phase)
            told.wish.over(event.at)
            told.wish = None
        case Phase.UNKNOWN:
            says = phrase("The status of the replica that decides the job's result cannot be obtained.")
            if told.state.plan and not told.state.plan.primary:
                says = phrase("The status of none of the job's replicas can be obtained.")
            told.status_lost = told.add(
                entry, IncidentKind.STATUS_LOST, Nature.ABNORMAL, says, cause=event.cause
            )
        case Phase.PAUSED:
            draft = told.drafts.of(entry, IncidentKind.PAUSE) or pause_begun(told, entry)
            draft.step(entry, StepKind.PHASE, phase=event.phase)
        case Phase.RESUMING if told.state.phase is Phase.PAUSED:
            _resume(told, entry, event.at)
        case Phase.SUCCEEDED | Phase.FAILED:
            _end(told, entry, event)
        case _:
            pass


def _found_ended(told: Told, entry: Entry, event: e.PhaseEntered) -> None:
    """The log was lost, or begins late, and the status of the job object says how the job ended."""
    says = phrase(
        "The job had ended before its log begins, its status says: {phase}.", phase=str(event.phase)
    )
    draft = told.add(entry, IncidentKind.END, Nature.EXPECTED, says)
    if event.phase is Phase.FAILED:
        told.root = draft
    told.write_given_up()
    told.wish = None


def _start_says(told: Told, entry: Entry) -> Said:
    number = told.state.plan.scale if told.state.plan else 0
    if any(isinstance(each, e.JobAdopted) for each in entry.events):
        return phrase(
            "The job with {replicas} existed before its log begins; what happened before is not known.",
            replicas=replicas(number),
        )
    return phrase(
        "The job was submitted{by} and is started with {replicas}.", by=by(entry), replicas=replicas(number)
    )


def _begin(told: Told, draft: Draft) -> None:
    """All replicas are being started because of `draft`."""
    told.wish = draft
    for replica in told.state.plan.replicas() if told.state.plan else ():
        told.drafts.moved_by[replica] = draft


def _resume(told: Told, entry: Entry, at: datetime) -> None:
    pause = told.drafts.last(IncidentKind.PAUSE)
    if pause:
        pause.over(at)
    says = phrase("The job was resumed{by}; all replicas are started again.", by=by(entry))
    _begin(told, told.add(entry, IncidentKind.RESUME, Nature.ASKED_FOR, says))


def _end(told: Told, entry: Entry, event: e.PhaseEntered) -> None:
    said = [
        each.message for each in entry.events if isinstance(each, e.Announced) and each.level == "Warning"
    ]
    invalid = event.trigger in (Trigger.FOUND_INVALID, Trigger.CHILD_REFUSED_FOR_GOOD)
    if event.phase is Phase.SUCCEEDED:
        draft = told.add(entry, IncidentKind.END, Nature.EXPECTED, _success_says(told, entry))
    elif event.trigger is Trigger.FOUND_INVALID:
        why = said[-1] if said else phrase("its spec is invalid")
        says = Sentence(phrase("The job was refused: {why}", why=why))
        draft = told.add(entry, IncidentKind.INVALID, Nature.ABNORMAL, says)
    else:
        by_rule = _is_by_rule(told.state, event) and said
        says = Sentence(
            phrase("The job has failed: {why}", why=said[-1] if by_rule else _end_says(told, entry, event))
        )
        draft = told.add(entry, IncidentKind.END, Nature.ABNORMAL, says, cause=event.cause)
    if event.phase is Phase.FAILED:
        told.root = (None if invalid else _began_with(told, entry, event)) or draft
    told.write_given_up()
    told.wish = None


def _began_with(told: Told, entry: Entry, event: e.PhaseEntered) -> Draft | None:
    """The failure that led to this end; where a rule was met, the one that it was met by: others may be harmless."""
    if event.trigger is Trigger.DEADLINE_PASSED:
        return None
    met_by = told.drafts.chain if _is_by_rule(told.state, event) else []
    return next((draft for draft in met_by if draft.entry.seq == entry.seq), told.drafts.root)


def _is_by_rule(state: JobState, event: e.PhaseEntered) -> bool:
    """The job failed by a rule of its own, and no replica decides its result."""
    return event.trigger is Trigger.FAILURE_MET and state.plan is not None and not state.plan.primary


def _success_says(told: Told, entry: Entry) -> Said:
    plan = told.state.plan
    last = entry.cause.replica if isinstance(entry.cause, PodObserved) else ""
    known = told.state.replicas.get(plan.primary) if plan else None
    if last and plan and last != plan.primary and known and known.phase is not ReplicaPhase.SUCCEEDED:
        return phrase(
            "The job has succeeded: with {last} enough replicas have ended with exit code 0.", last=last
        )
    if plan and not plan.primary:
        return phrase("The job has succeeded: a success rule is met by replicas that ended with exit code 0.")
    return phrase("The job has succeeded: the replica that decides its result ended with exit code 0.")


def _end_says(told: Told, entry: Entry, event: e.PhaseEntered) -> Said:
    plan = told.state.plan
    if plan is None:
        return phrase("it has nothing to run")
    failed = entry.cause.replica if isinstance(entry.cause, PodObserved) else plan.primary
    who = phrase("{primary}, which decides the result,", primary=failed) if failed == plan.primary else failed
    if event.trigger is Trigger.DEADLINE_PASSED:
        deadline = str(plan.active_deadline_seconds)
        return phrase("it was active for longer than its deadline of {deadline} s", deadline=deadline)
    if event.trigger is Trigger.CHILD_REFUSED_FOR_GOOD and event.cause:
        return refused_for_good(event.cause)
    if (worker := early_end(told.state)) is not None:
        return phrase(
            "{worker} ended before {primary} was created, which would have waited for it for ever",
            worker=worker.name,
            primary=plan.primary,
        )
    replica = told.state.replicas.get(failed)
    if replica is not None and replica.lost_for_good and not replica.has_pod:
        return phrase("{who} was lost", who=who)
    if replica is not None and replica.exhausted:
        return phrase("{who} failed, and the restart budget is used up", who=who)
    if event.cause and event.cause.message and not (replica and replica.ended):
        return event.cause.message  # nothing has ended, and yet it is enough
    code = event.cause.exit_code if event.cause else None
    if code is None:
        return phrase("{who} failed and is not restarted", who=who)
    return phrase("{who} ended with {code} and is not restarted", who=who, code=exit_code(code))
