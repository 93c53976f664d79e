"""Entries → incidents: what happened to a job that somebody may ask about, and what followed from each of it.

Everything is taken from the events, their causes and the state folded before them.
"""

from collections.abc import Iterable

from projectors.explain import phases, pods, queues, replicas, wishes
from projectors.explain.model import IncidentKind, Nature
from projectors.explain.told import Told, by
from projectors.phrases import Several, phrase
from statemachine import events as e
from statemachine.evolve import evolve
from statemachine.ids import JobUid
from statemachine.log.entry import Entry
from statemachine.observations import PodObserved


def chronicle(job: JobUid, entries: Iterable[Entry]) -> Told:
    """All of `entries`, which are the job's from the first on, without holes."""
    told = Told(job)
    for entry in entries:
        told.entries += 1
        told.failures = {}
        if isinstance(entry.cause, PodObserved):
            told.last_seen[entry.cause.replica] = entry.cause
        for event in entry.events:
            _tell(told, entry, event)
            told.state = evolve(told.state, event)
        for failure in told.failures.values():
            replicas.unjudged(told, entry, failure)
    return told


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
