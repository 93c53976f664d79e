"""Steps of a life → incidents: what happened to a job that somebody may ask about, and what followed from each of it.

Everything is taken from the events, their causes and the state folded before them.
"""

from collections.abc import Iterable

from projectors.explain import phases, pods, queues, replicas, wishes
from projectors.explain.model import IncidentKind, Nature
from projectors.explain.told import Told, by
from projectors.phrases import Several, phrase
from statemachine import events as e
from statemachine.log.entry import Entry
from statemachine.log.life import Step
from statemachine.observations import PodObserved


class Chronicle:
    """The incidents of a job, told step by step from its first entry on.

    Deleting a job that has ended does not change what is told: that is the job's life, which was over. `rest` are
    the entries from such a deletion on. A job deleted before it had ended is told to its very end, as the deletion
    is what ended it.
    """

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.told: Told | None = None
        self.rest: list[Entry] = []
        self._ended = False
        for step in steps:
            self.take(step)

    def take(self, step: Step) -> None:
        """One more step is told, if it can be."""
        entry = step.entry
        if entry is None or not step.whole:
            return
        if self.rest or (self._ended and any(isinstance(event, e.JobDeleted) for event in step.events)):
            self.rest.append(entry)
            return
        self.told = self.told or Told(step.before, entry.seen_at)
        _tell_all(self.told, entry, step)
        self._ended |= any(
            isinstance(event, e.PhaseEntered) and event.phase.is_final for event in step.events
        )


def _tell_all(told: Told, entry: Entry, step: Step) -> None:
    told.entries += 1
    told.failures = {}
    if isinstance(entry.cause, PodObserved):
        told.last_seen[entry.cause.replica] = entry.cause
    for event, before in step.moments():
        told.state = before
        _tell(told, entry, event)
    told.state = step.state
    for failure in told.failures.values():
        replicas.unjudged(told, entry, failure)


def _tell(told: Told, entry: Entry, event: e.Event) -> None:
    match event:
        case e.PhaseEntered():
            phases.phase_entered(told, entry, event)
        case e.ReplicaFailed():
            told.failures[event.replica] = event
        case e.RestartScheduled():
            replicas.restart(told, entry, event)
        case e.RestartDenied():
            replicas.denied(told, entry, event)
        case e.ReplicaLost():
            replicas.lost(told, entry, event)
        case e.ReplicaEnded():
            told.ends[event.replica] = event.cause
        case e.SpecChanged():
            wishes.changed(told, entry, event)
        case e.UpdateIgnored(problems=problems) if problems and problems != told.state.ignored:
            said = Several(tuple(map(str, problems)), "clauses")
            says = phrase("A change{by} was ignored: {problems}.", by=by(entry), problems=said)
            told.add(entry, IncidentKind.CHANGE, Nature.ABNORMAL, says)
        case e.ChildRefused() | e.ChildChanged():
            pods.refused(told, entry, event)
        case e.QueueChanged():
            queues.changed(told, entry, event)
        case e.ChildrenAccepted():
            told.write_accepted(entry)
        case e.JobTerminating():
            wishes.terminating(told, entry, event)
        case e.JobDeleted():
            wishes.deleted(told, entry, event)
        case e.JobClosed():
            wishes.closed(told, entry)
        case _:
            pods.pod(told, entry, event)
