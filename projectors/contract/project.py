"""An entry → the public events that it gives, pure. Every internal event is named here: who adds one decides."""

from projectors.contract.of_jobs import of_job
from projectors.contract.of_replicas import of_replica
from projectors.contract.page import Draft, Page, PublicEvent
from projectors.contract.publication import Publication
from statemachine.events import Event
from statemachine.log.life import LifeStep
from statemachine.log.port import Record
from statemachine.state import JobState


def public(record: Record, step: LifeStep, publication: Publication) -> tuple[PublicEvent, ...]:
    """The public events of an entry, in its order; none of a record that does not count or cannot be read whole."""
    if step.entry is None:
        return ()
    page = Page(record, step.entry, step.before, step.state, publication)
    drafts = ((index, _draft(page, state, event)) for index, (event, state) in enumerate(step.moments()))
    return tuple(page.event(index, draft) for index, draft in drafts if draft is not None)


def _draft(page: Page, state: JobState, event: Event) -> Draft | None:
    """What leaves of an event on a job in `state`; None: it is private, or merged into another."""
    # by tag, not by class, as in `evolve`: that is quicker
    match event.type:
        case "ConditionsChanged" | "Announced" | "TimerSet" | "TimerCleared" | "ReplicaAdopted":
            return None
        case (
            "ReplicaRequested"
            | "ReplicaDelayed"
            | "ReplicaCreated"
            | "ReplicaStarted"
            | "ReplicaUpdated"
            | "ReplicaSucceeded"
            | "ReplicaFailed"
            | "ReplicaEnded"
            | "ReplicaUnreachable"
            | "ReplicaLost"
            | "ReplicaDismissed"
            | "ReplicaReleased"
            | "RestartScheduled"
            | "RestartDenied"
        ):
            return of_replica(page, state, event)
        case (
            "JobAdmitted"
            | "JobAdopted"
            | "SpecChanged"
            | "LabelsChanged"
            | "UpdateIgnored"
            | "PhaseEntered"
            | "ChildRefused"
            | "ChildrenAccepted"
            | "CleanedUp"
            | "ChildChanged"
            | "QueueChanged"
            | "JobExpired"
            | "JobTerminating"
            | "JobDeleted"
            | "JobClosed"
        ):
            return of_job(page, state, event)
