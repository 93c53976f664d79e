"""Steps of a life → incidents: what happened to a job, and what each incident led to.

The sources are events, their causes, and the state folded before them.
"""

from collections.abc import Iterable

from projectors.explain import changes, phases, pods, queues, replicas
from projectors.explain.diagnosis import Diagnosis, by
from projectors.explain.model import IncidentKind, Nature
from projectors.phrases import Several, phrase
from statemachine import events as e
from statemachine.log.entry import Entry
from statemachine.log.life import LifeStep
from statemachine.observations import PodObserved


class Chronicle:
    """The incidents of a job, collected step by step from its first entry on.

    The deletion of an ended job is not part of its life: `rest` has the entries from such a deletion on. A job that
    was deleted before it had ended is followed to its last entry, as the deletion ended it.
    """

    def __init__(self, steps: Iterable[LifeStep] = ()) -> None:
        self.diagnosis: Diagnosis | None = None
        self.rest: list[Entry] = []
        self._ended = False
        for step in steps:
            self.take(step)

    def take(self, step: LifeStep) -> None:
        """Adds a step, if it can be read."""
        entry = step.entry
        if entry is None or not step.whole:
            return
        if self.rest or (self._ended and any(isinstance(event, e.JobDeleted) for event in step.events)):
            self.rest.append(entry)
            return
        self.diagnosis = self.diagnosis or Diagnosis(step.before, entry.seen_at)
        _add_step(self.diagnosis, entry, step)
        self._ended |= any(
            isinstance(event, e.PhaseEntered) and event.phase.is_final for event in step.events
        )


def _add_step(diagnosis: Diagnosis, entry: Entry, step: LifeStep) -> None:
    diagnosis.entries += 1
    diagnosis.failures = {}
    if isinstance(entry.cause, PodObserved):
        diagnosis.last_seen[entry.cause.replica] = entry.cause
    for event, before in step.moments():
        diagnosis.state = before
        _add_event(diagnosis, entry, event)
    diagnosis.state = step.state
    for failure in diagnosis.failures.values():
        replicas.unjudged(diagnosis, entry, failure)


def _add_event(diagnosis: Diagnosis, entry: Entry, event: e.Event) -> None:
    match event:
        case e.PhaseEntered():
            phases.phase_entered(diagnosis, entry, event)
        case e.ReplicaFailed():
            diagnosis.failures[event.replica] = event
        case e.RestartScheduled():
            replicas.restart(diagnosis, entry, event)
        case e.RestartDenied():
            replicas.denied(diagnosis, entry, event)
        case e.ReplicaLost():
            replicas.lost(diagnosis, entry, event)
        case e.ReplicaEnded():
            diagnosis.ends[event.replica] = event.cause
        case e.SpecChanged():
            changes.changed(diagnosis, entry, event)
        case e.UpdateIgnored(problems=problems) if problems and problems != diagnosis.state.ignored:
            said = Several(tuple(map(str, problems)), "clauses")
            says = phrase("A change{by} was ignored: {problems}.", by=by(entry), problems=said)
            diagnosis.add(entry, IncidentKind.CHANGE, Nature.ABNORMAL, says)
        case e.ChildRefused() | e.ChildChanged():
            pods.refused(diagnosis, entry, event)
        case e.QueueChanged():
            queues.changed(diagnosis, entry, event)
        case e.ChildrenAccepted():
            diagnosis.write_accepted(entry)
        case e.JobTerminating():
            changes.terminating(diagnosis, entry, event)
        case e.JobDeleted():
            changes.deleted(diagnosis, entry, event)
        case e.JobClosed():
            changes.closed(diagnosis, entry)
        case _:
            pods.pod(diagnosis, entry, event)
