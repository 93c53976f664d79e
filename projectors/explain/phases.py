"""Incidents of phases: how a job starts, pauses, cannot be observed, and ends; and why it ended."""

from datetime import datetime

from projectors.explain.changes import pause_begun
from projectors.explain.diagnosis import Diagnosis, by
from projectors.explain.drafts import IncidentDraft
from projectors.explain.model import IncidentKind, Nature, StepKind
from projectors.explain.wording import refused_for_good, replicas
from projectors.phrases import Said, Sentence, phrase
from projectors.phrases.exits import exit_code
from statemachine import events as e
from statemachine.log.entry import Entry
from statemachine.observations import PodObserved
from statemachine.phases import Phase, Trigger
from statemachine.rules.driver import early_end
from statemachine.state import JobState, ReplicaPhase


def phase_entered(diagnosis: Diagnosis, entry: Entry, event: e.PhaseEntered) -> None:
    """Adds what a change of phase begins, completes or ends."""
    diagnosis.since = event.at
    if diagnosis.status_lost:
        diagnosis.status_lost.step(entry, StepKind.PHASE, phase=event.phase)
        diagnosis.status_lost.over(event.at)
        diagnosis.status_lost = None
    match event.phase:
        case Phase.SUCCEEDED | Phase.FAILED if event.trigger in (
            Trigger.FOUND_SUCCEEDED,
            Trigger.FOUND_FAILED,
        ):
            _found_ended(diagnosis, entry, event)
        case Phase.PENDING if diagnosis.state.phase is Phase.NEW:
            draft = diagnosis.add(entry, IncidentKind.START, Nature.EXPECTED, _start_says(diagnosis, entry))
            _begin(diagnosis, draft)
        case Phase.RUNNING if diagnosis.starting:
            diagnosis.starting.step(entry, StepKind.PHASE, phase=event.phase)
            diagnosis.starting.over(event.at)
            diagnosis.starting = None
        case Phase.UNKNOWN:
            says = phrase("The status of the replica that decides the job's result cannot be obtained.")
            if diagnosis.state.plan and not diagnosis.state.plan.primary:
                says = phrase("The status of none of the job's replicas can be obtained.")
            diagnosis.status_lost = diagnosis.add(
                entry, IncidentKind.STATUS_LOST, Nature.ABNORMAL, says, cause=event.cause
            )
        case Phase.PAUSED:
            draft = diagnosis.drafts.of(entry, IncidentKind.PAUSE) or pause_begun(diagnosis, entry)
            draft.step(entry, StepKind.PHASE, phase=event.phase)
        case Phase.RESUMING if diagnosis.state.phase is Phase.PAUSED:
            _resume(diagnosis, entry, event.at)
        case Phase.SUCCEEDED | Phase.FAILED:
            _end(diagnosis, entry, event)
        case _:
            pass


def _found_ended(diagnosis: Diagnosis, entry: Entry, event: e.PhaseEntered) -> None:
    """Adds an end that the log does not have, as it was lost or begins late: the job object's status has it."""
    says = phrase(
        "The job had ended before its log begins, its status says: {phase}.", phase=str(event.phase)
    )
    draft = diagnosis.add(entry, IncidentKind.END, Nature.EXPECTED, says)
    if event.phase is Phase.FAILED:
        diagnosis.root = draft
    diagnosis.write_given_up()
    diagnosis.starting = None


def _start_says(diagnosis: Diagnosis, entry: Entry) -> Said:
    number = diagnosis.state.plan.scale if diagnosis.state.plan else 0
    if any(isinstance(announced, e.JobAdopted) for announced in entry.events):
        return phrase(
            "The job with {replicas} existed before its log begins; what happened before is not known.",
            replicas=replicas(number),
        )
    return phrase(
        "The job was submitted{by} and is started with {replicas}.", by=by(entry), replicas=replicas(number)
    )


def _begin(diagnosis: Diagnosis, draft: IncidentDraft) -> None:
    """All replicas are started because of `draft`."""
    diagnosis.starting = draft
    for replica in diagnosis.state.plan.replicas() if diagnosis.state.plan else ():
        diagnosis.drafts.moved_by[replica] = draft


def _resume(diagnosis: Diagnosis, entry: Entry, at: datetime) -> None:
    pause = diagnosis.drafts.last(IncidentKind.PAUSE)
    if pause:
        pause.over(at)
    says = phrase("The job was resumed{by}; all replicas are started again.", by=by(entry))
    _begin(diagnosis, diagnosis.add(entry, IncidentKind.RESUME, Nature.ASKED_FOR, says))


def _end(diagnosis: Diagnosis, entry: Entry, event: e.PhaseEntered) -> None:
    messages = [
        announced.message
        for announced in entry.events
        if isinstance(announced, e.Announced) and announced.level == "Warning"
    ]
    invalid = event.trigger in (Trigger.FOUND_INVALID, Trigger.CHILD_REFUSED_FOR_GOOD)
    if event.phase is Phase.SUCCEEDED:
        draft = diagnosis.add(entry, IncidentKind.END, Nature.EXPECTED, _success_says(diagnosis, entry))
    elif event.trigger is Trigger.FOUND_INVALID:
        why = messages[-1] if messages else phrase("its spec is invalid")
        says = Sentence(phrase("The job was refused: {why}", why=why))
        draft = diagnosis.add(entry, IncidentKind.INVALID, Nature.ABNORMAL, says)
    else:
        by_rule = _is_by_rule(diagnosis.state, event) and messages
        says = Sentence(
            phrase(
                "The job has failed: {why}",
                why=messages[-1] if by_rule else _end_says(diagnosis, entry, event),
            )
        )
        draft = diagnosis.add(entry, IncidentKind.END, Nature.ABNORMAL, says, cause=event.cause)
    if event.phase is Phase.FAILED:
        diagnosis.root = (None if invalid else _began_with(diagnosis, entry, event)) or draft
    diagnosis.write_given_up()
    diagnosis.starting = None


def _began_with(diagnosis: Diagnosis, entry: Entry, event: e.PhaseEntered) -> IncidentDraft | None:
    """The failure that led to this end; if a rule was met, the failure that met it, as others may be harmless."""
    if event.trigger is Trigger.DEADLINE_PASSED:
        return None
    met_by = diagnosis.drafts.chain if _is_by_rule(diagnosis.state, event) else []
    return next((draft for draft in met_by if draft.entry.seq == entry.seq), diagnosis.drafts.root)


def _is_by_rule(state: JobState, event: e.PhaseEntered) -> bool:
    """The job failed by a failure rule of its spec, and no replica decides its result."""
    return event.trigger is Trigger.FAILURE_MET and state.plan is not None and not state.plan.primary


def _success_says(diagnosis: Diagnosis, entry: Entry) -> Said:
    plan = diagnosis.state.plan
    last = entry.cause.replica if isinstance(entry.cause, PodObserved) else ""
    primary = diagnosis.state.replicas.get(plan.primary) if plan else None
    if last and plan and last != plan.primary and primary and primary.phase is not ReplicaPhase.SUCCEEDED:
        return phrase(
            "The job has succeeded: with {last} enough replicas have ended with exit code 0.", last=last
        )
    if plan and not plan.primary:
        return phrase("The job has succeeded: a success rule is met by replicas that ended with exit code 0.")
    return phrase("The job has succeeded: the replica that decides its result ended with exit code 0.")


def _end_says(diagnosis: Diagnosis, entry: Entry, event: e.PhaseEntered) -> Said:
    plan = diagnosis.state.plan
    if plan is None:
        return phrase("it has nothing to run")
    failed = entry.cause.replica if isinstance(entry.cause, PodObserved) else plan.primary
    named = (
        phrase("{primary}, which decides the result,", primary=failed) if failed == plan.primary else failed
    )
    if event.trigger is Trigger.DEADLINE_PASSED:
        deadline = str(plan.active_deadline_seconds)
        return phrase("it was active for longer than its deadline of {deadline} s", deadline=deadline)
    if event.trigger is Trigger.CHILD_REFUSED_FOR_GOOD and event.cause:
        return refused_for_good(event.cause)
    if (worker := early_end(diagnosis.state)) is not None:
        return phrase(
            "{worker} ended before {primary} was created, which would have waited for it for ever",
            worker=worker.name,
            primary=plan.primary,
        )
    replica = diagnosis.state.replicas.get(failed)
    if replica is not None and replica.lost_for_good and not replica.has_pod:
        return phrase("{who} was lost", who=named)
    if replica is not None and replica.exhausted:
        return phrase("{who} failed, and the restart budget is used up", who=named)
    if event.cause and event.cause.message and not (replica and replica.ended):
        return event.cause.message  # no container has ended, but the cause is enough
    code = event.cause.exit_code if event.cause else None
    if code is None:
        return phrase("{who} failed and is not restarted", who=named)
    return phrase("{who} ended with {code} and is not restarted", who=named, code=exit_code(code))
