"""Pods that come and go, as steps of the incident that moves them; writes that the cluster refused."""

from projectors.explain.changes import pause_begun, scaled
from projectors.explain.diagnosis import Diagnosis
from projectors.explain.drafts import IncidentDraft
from projectors.explain.model import IncidentKind, Nature, StepKind
from projectors.phrases import Sentence, phrase
from statemachine import events as e
from statemachine.ids import PodUid, ReplicaName
from statemachine.log.entry import Entry
from statemachine.observations import WriteRefused


def pod(diagnosis: Diagnosis, entry: Entry, event: e.Event) -> None:
    """Adds a step of a pod: it was asked for, runs, is to be deleted, or is gone."""
    match event:
        case e.ReplicaRequested(replica=replica, attempt=attempt):
            diagnosis.asked_at[replica] = entry.seen_at
            if replica in diagnosis.drafts.moved_by:
                diagnosis.drafts.moved_by[replica].step(entry, StepKind.REQUESTED, replica, attempt=attempt)
        case e.ReplicaStarted(replica=replica, uid=uid):
            _started(diagnosis, entry, replica, uid)
        case e.ReplicaCreated(replica=replica):
            refused = diagnosis.refusal.entry.cause if diagnosis.refusal else None
            if isinstance(refused, WriteRefused) and refused.replica == replica:
                diagnosis.write_accepted(entry)
        case e.ReplicaDismissed():
            _dismissed(diagnosis, entry, event)
        case e.ReplicaReleased(replica=replica, uid=uid):
            diagnosis.ends.pop(replica, None)
            if replica in diagnosis.drafts.moved_by:
                diagnosis.drafts.moved_by[replica].step(entry, StepKind.GONE, replica, uid=uid)
        case _:
            pass


def _started(diagnosis: Diagnosis, entry: Entry, replica: ReplicaName, uid: PodUid) -> None:
    draft = diagnosis.drafts.moved_by.pop(replica, None)
    if draft is not None:
        known_replica = diagnosis.state.replicas.get(replica)
        draft.step(
            entry, StepKind.RUNNING, replica, attempt=known_replica.attempt if known_replica else 0, uid=uid
        )
        if draft.replica:
            draft.over(entry.seen_at)
    diagnosis.drafts.well(replica)


def _dismissed(diagnosis: Diagnosis, entry: Entry, event: e.ReplicaDismissed) -> None:
    match event.why:
        case "pause":
            draft = diagnosis.drafts.of(entry, IncidentKind.PAUSE) or pause_begun(diagnosis, entry)
        case "scale":
            draft = diagnosis.drafts.last(IncidentKind.SCALE) or scaled(
                diagnosis, entry, diagnosis.state.plan
            )
        case "clean-up" | "deadline" | "job ended":
            draft = diagnosis.drafts.of(entry, IncidentKind.CLEAN_UP) or _clean_up(
                diagnosis, entry, event.why
            )
    draft.step(entry, StepKind.DISMISSED, event.replica, uid=event.cause.pod_uid)
    diagnosis.leaving_since[event.replica] = entry.seen_at
    diagnosis.drafts.moved_by[event.replica] = draft


def _clean_up(diagnosis: Diagnosis, entry: Entry, why: str) -> IncidentDraft:
    policy = diagnosis.state.plan.clean_up if diagnosis.state.plan else "None"
    match why:
        case "deadline":
            says = phrase(
                "After the deadline the pods that had not ended are deleted, whatever the clean-up policy."
            )
        case "job ended":
            says = phrase("Pods that had not been made yet are not made any more.")
        case _:
            says = phrase("Pods are deleted by clean-up policy {policy}.", policy=str(policy))
    return diagnosis.add(entry, IncidentKind.CLEAN_UP, Nature.EXPECTED, says)


def refused(diagnosis: Diagnosis, entry: Entry, event: e.ChildRefused | e.ChildChanged) -> None:
    """Adds a write that the cluster refused; counts one that the cluster refused before."""
    if isinstance(event, e.ChildChanged):
        if event.error:
            unneeded = phrase(
                '{kind} "{name}", which the job does not depend on, was refused: {error}',
                kind=event.kind,
                name=event.name,
                error=event.error,
            )
            diagnosis.add(entry, IncidentKind.REFUSAL, Nature.ABNORMAL, Sentence(unneeded))
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
    if diagnosis.refusal and diagnosis.refusal.says == says:
        diagnosis.refusal.times += 1
        return
    diagnosis.write_given_up()
    diagnosis.refusal = diagnosis.add(entry, IncidentKind.REFUSAL, Nature.ABNORMAL, says, cause=event.cause)
