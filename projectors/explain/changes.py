"""Incidents that users ask for: pause, scale, other changes, deletion."""

from projectors.explain.diagnosis import Diagnosis, by
from projectors.explain.drafts import IncidentDraft
from projectors.explain.model import IncidentKind, Nature, StepKind
from projectors.explain.queues import queue_of
from projectors.phrases import Said, Several, phrase, sentences
from statemachine import events as e
from statemachine.kinds import kind_of
from statemachine.log.entry import Entry
from statemachine.phases import Phase
from statemachine.spec import Plan


def changed(diagnosis: Diagnosis, entry: Entry, event: e.SpecChanged) -> None:
    """Adds a change of the spec, apart from a pause: its phase adds that."""
    before = diagnosis.state.plan
    if before and before.scale != event.plan.scale:
        draft = scaled(diagnosis, entry, event.plan)
        for replica in event.plan.replicas():
            if not before.holds(replica) and diagnosis.state.phase.is_active:
                diagnosis.drafts.moved_by[replica] = draft
    paths = [path for path in event.changes if not path.endswith((".expectedReplicas", "pause.enabled"))]
    ignored = [
        announced.message
        for announced in entry.events
        if isinstance(announced, e.Announced) and announced.reason == "PauseIgnored"
    ]
    if paths or ignored:
        changes = Several(tuple(_shown(path, event.changes[path]) for path in paths), "names")
        text = phrase("{changes} was changed{by}.", changes=changes, by=by(entry)) if paths else ""
        diagnosis.add(entry, IncidentKind.CHANGE, Nature.ASKED_FOR, sentences(text, *ignored))


def scaled(diagnosis: Diagnosis, entry: Entry, after: Plan | None) -> IncidentDraft:
    """Adds the incident of a new scale."""
    kind = kind_of(diagnosis.state.api_version, diagnosis.state.kind)
    says = phrase(
        "The scale was changed from {before} to {after} replicas{by}.",
        before=kind.scale_of(diagnosis.state.plan) if diagnosis.state.plan else 0,
        after=kind.scale_of(after) if after else 0,
        by=by(entry),
    )
    return diagnosis.add(entry, IncidentKind.SCALE, Nature.ASKED_FOR, says)


def terminating(diagnosis: Diagnosis, entry: Entry, event: e.JobTerminating) -> None:
    """Adds the request to delete the job object."""
    says = phrase(
        "The deletion of the job was asked for{by}; a finalizer holds it, and until it is gone nothing new is made.",
        by=by(entry),
    )
    diagnosis.add(entry, IncidentKind.DELETION, Nature.ASKED_FOR, says).by = event.actor
    diagnosis.starting = None


def deleted(diagnosis: Diagnosis, entry: Entry, event: e.JobDeleted) -> None:
    """Adds the deletion of the job object."""
    diagnosis.write_given_up()
    says = phrase("The job was deleted{by}.", by=by(entry))
    draft = diagnosis.add(entry, IncidentKind.DELETION, Nature.ASKED_FOR, says)
    diagnosis.starting = None
    draft.by = event.actor
    for replica in diagnosis.state.replicas.values():
        if replica.has_pod:
            diagnosis.drafts.moved_by[replica.name] = draft
            draft.step(entry, StepKind.DISMISSED, replica.name, uid=replica.uid)
            diagnosis.leaving_since.setdefault(replica.name, entry.seen_at)


def closed(diagnosis: Diagnosis, entry: Entry) -> None:
    """All objects of the job are gone: its deletion is complete."""
    deletion = diagnosis.drafts.last(IncidentKind.DELETION)
    if deletion:
        deletion.over(entry.seen_at)


def pause_begun(diagnosis: Diagnosis, entry: Entry) -> IncidentDraft:
    """Adds the incident of a pause; failures before it do not count any more."""
    diagnosis.drafts.fresh()
    diagnosis.starting = None
    diagnosis.write_given_up()
    if diagnosis.eviction is not None:
        says = phrase("The job was suspended: Kueue took its quota away.")
    elif diagnosis.state.phase is not Phase.NEW:
        says = phrase("The job was paused{by}.", by=by(entry))
    elif queue := queue_of(diagnosis.state):
        says = phrase("The job was created suspended: it waits in queue {queue}.", queue=queue)
    else:
        says = phrase("The job was created paused{by}.", by=by(entry))
    return diagnosis.add(entry, IncidentKind.PAUSE, Nature.ASKED_FOR, says)


def _shown(path: str, value: object) -> Said:
    """A change in words. Objects and lists are only named: their content may be long, or secret."""
    if isinstance(value, dict | list):
        return path
    if value is None:
        return phrase("{path} (now unset)", path=path)
    return phrase("{path} (now {value})", path=path, value=str(value))
