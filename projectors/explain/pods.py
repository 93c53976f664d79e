"""Pods that come and go, each step told to the incident that it follows from; writes that the cluster refused."""

from projectors.explain.drafts import Draft
from projectors.explain.model import IncidentKind, Nature, StepKind
from projectors.explain.told import Told
from projectors.explain.wishes import pause_begun, scaled
from projectors.phrases import Sentence, phrase
from statemachine import events as e
from statemachine.ids import PodUid, ReplicaName
from statemachine.log.entry import Entry
from statemachine.observations import WriteRefused


def pod(told: Told, entry: Entry, event: e.Event) -> None:
    """A pod was asked for, runs, is to be deleted, or is gone."""
    match event:
        case e.ReplicaRequested(replica=replica, attempt=attempt):
            told.asked_at[replica] = entry.seen_at
            if replica in told.drafts.moved_by:
                told.drafts.moved_by[replica].step(entry, StepKind.REQUESTED, replica, attempt=attempt)
        case e.ReplicaStarted(replica=replica, uid=uid):
            _started(told, entry, replica, uid)
        case e.ReplicaCreated(replica=replica):
            refused = told.refusal.entry.cause if told.refusal else None
            if isinstance(refused, WriteRefused) and refused.replica == replica:
                told.write_accepted(entry)
        case e.ReplicaDismissed():
            _dismissed(told, entry, event)
        case e.ReplicaReleased(replica=replica, uid=uid):
            told.ends.pop(replica, None)
            if replica in told.drafts.moved_by:
                told.drafts.moved_by[replica].step(entry, StepKind.GONE, replica, uid=uid)
        case _:
            pass


def _started(told: Told, entry: Entry, replica: ReplicaName, uid: PodUid) -> None:
    draft = told.drafts.moved_by.pop(replica, None)
    if draft is not None:
        known = told.state.replicas.get(replica)
        draft.step(entry, StepKind.RUNNING, replica, attempt=known.attempt if known else 0, uid=uid)
        if draft.replica:
            draft.over(entry.seen_at)
    told.drafts.well(replica)


def _dismissed(told: Told, entry: Entry, event: e.ReplicaDismissed) -> None:
    match event.why:
        case "pause":
            draft = told.drafts.of(entry, IncidentKind.PAUSE) or pause_begun(told, entry)
        case "scale":
            draft = told.drafts.last(IncidentKind.SCALE) or scaled(told, entry, told.state.plan)
        case "clean-up" | "deadline" | "job ended":
            draft = told.drafts.of(entry, IncidentKind.CLEAN_UP) or _clean_up(told, entry, event.why)
    draft.step(entry, StepKind.DISMISSED, event.replica, uid=event.cause.pod_uid)
    told.leaving_since[event.replica] = entry.seen_at
    told.drafts.moved_by[event.replica] = draft


def _clean_up(told: Told, entry: Entry, why: str) -> Draft:
    policy = told.state.plan.clean_up if told.state.plan else "None"
    match why:
        case "deadline":
            says = phrase(
                "After the deadline the pods that had not ended are deleted, whatever the clean-up policy."
            )
        case "job ended":
            says = phrase("Pods that had not been made yet are not made any more.")
        case _:
            says = phrase("Pods are deleted by clean-up policy {policy}.", policy=str(policy))
    return told.add(entry, IncidentKind.CLEAN_UP, Nature.EXPECTED, says)


def refused(told: Told, entry: Entry, event: e.ChildRefused | e.ChildChanged) -> None:
    """The cluster refused a write; the same refusal again is counted, not told again."""
    if isinstance(event, e.ChildChanged):
        if event.error:
            unneeded = phrase(
                '{kind} "{name}", which the job does not depend on, was refused: {error}',
                kind=event.kind,
                name=event.name,
                error=event.error,
            )
            told.add(entry, IncidentKind.REFUSAL, Nature.ABNORMAL, Sentence(unneeded))
        return
    says = Sentence(
        phrase(
            'The API server would not {verb} {kind} "{name}": {message}',
            verb=event.verb,
            kind=event.kind,
            name=event.name,
            message=event.cause.message,
        )
    )
    if told.refusal and told.refusal.says == says:
        told.refusal.times += 1
        return
    told.write_given_up()
    told.refusal = told.add(entry, IncidentKind.REFUSAL, Nature.ABNORMAL, says, cause=event.cause)
