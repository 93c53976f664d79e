"""What users ask for: pause, scale, other changes, deletion."""

from projectors.explain.drafts import Draft
from projectors.explain.model import IncidentKind, Nature, StepKind
from projectors.explain.queues import queue_of
from projectors.explain.told import Told, by
from projectors.phrases import Said, Several, phrase, sentences
from statemachine import events as e
from statemachine.kinds import kind_of
from statemachine.log.entry import Entry
from statemachine.phases import Phase
from statemachine.spec import Plan


def changed(told: Told, entry: Entry, event: e.SpecChanged) -> None:
    """The spec changed. That pause and scale did is told by what follows from it."""
    before = told.state.plan
    if before and before.scale != event.plan.scale:
        draft = scaled(told, entry, event.plan)
        for replica in event.plan.replicas():
            if not before.holds(replica) and told.state.phase.is_active:
                told.drafts.moved_by[replica] = draft
    paths = [path for path in event.changes if not path.endswith((".expectedReplicas", "pause.enabled"))]
    ignored = [
        each.message
        for each in entry.events
        if isinstance(each, e.Announced) and each.reason == "PauseIgnored"
    ]
    if paths or ignored:
        changes = Several(tuple(_shown(path, event.changes[path]) for path in paths), "names")
        what = phrase("{changes} was changed{by}.", changes=changes, by=by(entry)) if paths else ""
        told.add(entry, IncidentKind.CHANGE, Nature.ASKED_FOR, sentences(what, *ignored))


def scaled(told: Told, entry: Entry, after: Plan | None) -> Draft:
    """The incident of a new scale."""
    kind = kind_of(told.state.api_version, told.state.kind)
    says = phrase(
        "The scale was changed from {before} to {after} replicas{by}.",
        before=kind.scale_of(told.state.plan) if told.state.plan else 0,
        after=kind.scale_of(after) if after else 0,
        by=by(entry),
    )
    return told.add(entry, IncidentKind.SCALE, Nature.ASKED_FOR, says)


def terminating(told: Told, entry: Entry, event: e.JobTerminating) -> None:
    """The deletion of the job object was asked for."""
    says = phrase(
        "The deletion of the job was asked for{by}; a finalizer holds it, and until it is gone nothing new is made.",
        by=by(entry),
    )
    told.add(entry, IncidentKind.DELETION, Nature.ASKED_FOR, says).by = event.actor
    told.wish = None


def deleted(told: Told, entry: Entry, event: e.JobDeleted) -> None:
    """The job object is gone."""
    told.write_given_up()
    says = phrase("The job was deleted{by}.", by=by(entry))
    draft = told.add(entry, IncidentKind.DELETION, Nature.ASKED_FOR, says)
    told.wish = None
    draft.by = event.actor
    for replica in told.state.replicas.values():
        if replica.has_pod:
            told.drafts.moved_by[replica.name] = draft
            draft.step(entry, StepKind.DISMISSED, replica.name, uid=replica.uid)
            told.leaving_since.setdefault(replica.name, entry.seen_at)


def closed(told: Told, entry: Entry) -> None:
    """Nothing of the job is left."""
    deletion = told.drafts.last(IncidentKind.DELETION)
    if deletion:
        deletion.over(entry.seen_at)


def pause_begun(told: Told, entry: Entry) -> Draft:
    """The incident of a pause; failures before it do not matter any more."""
    told.drafts.fresh()
    told.wish = None
    told.write_given_up()
    if told.eviction is not None:
        says = phrase("The job was suspended: Kueue took its quota away.")
    elif told.state.phase is not Phase.NEW:
        says = phrase("The job was paused{by}.", by=by(entry))
    elif queue := queue_of(told.state):
        says = phrase("The job was created suspended: it waits in queue {queue}.", queue=queue)
    else:
        says = phrase("The job was created paused{by}.", by=by(entry))
    return told.add(entry, IncidentKind.PAUSE, Nature.ASKED_FOR, says)


def _shown(path: str, value: object) -> Said:
    """A change; objects and lists are named only, for what stands in them may be long, or secret."""
    if isinstance(value, dict | list):
        return path
    if value is None:
        return phrase("{path} (now unset)", path=path)
    return phrase("{path} (now {value})", path=path, value=str(value))
