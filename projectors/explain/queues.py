"""A job in a queue of Kueue's: that it waits there, that it was let in, and that its quota was taken away again."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from projectors.explain.model import IncidentKind, Nature, Wait
from projectors.explain.told import Told
from projectors.phrases import Language, Phrase, Said, Sentence, phrase, sentences
from statemachine import events as e
from statemachine.kinds import UnknownKind, kind_of
from statemachine.log.entry import Entry
from statemachine.state import JobState, QueueState

PREEMPTED: Final = "Preempted"


def queue_of(state: JobState) -> str:
    """The LocalQueue that decides when the job runs; empty if none does.

    A Workload is the evidence of it; before that the label, for kinds that Kueue itself takes in.
    """
    if state.queue is not None and state.queue.standing != "gone":
        return state.queue.queue
    try:
        return kind_of(state.api_version, state.kind).queue(state.labels)
    except UnknownKind:
        return ""


def changed(told: Told, entry: Entry, event: e.QueueChanged) -> None:
    """The job's Workload stands differently."""
    if event.eviction is not None:
        told.eviction = told.add(entry, IncidentKind.EVICTION, Nature.ABNORMAL, _evicted(event.eviction))
    if event.standing == "admitted" and (told.state.queue is None or told.state.queue.standing != "admitted"):
        if told.eviction:
            told.eviction.over(entry.seen_at)
        told.eviction = None
        told.add(entry, IncidentKind.ADMISSION, Nature.EXPECTED, _admitted(event))


def _admitted(event: e.QueueChanged) -> Said:
    flavors = phrase(", flavors {names}", names=", ".join(event.flavors)) if event.flavors else ""
    return phrase(
        "Kueue admitted the job (queue {queue}, ClusterQueue {cluster_queue}{flavors}).",
        queue=event.queue,
        cluster_queue=event.cluster_queue,
        flavors=flavors,
    )


def _evicted(event: e.Eviction) -> Said:
    """What happened, and Kueue's own words for it."""
    if event.reason != PREEMPTED:
        what = phrase("Kueue took the job's quota away{why}.", why=_why(event.reason))
    elif event.preemptor:
        what = phrase("Kueue preempted the job for the job with uid {preemptor}.", preemptor=event.preemptor)
    else:
        what = phrase("Kueue preempted the job.")
    return sentences(what, Sentence(event.message)) if event.message else what


def waiting(told: Told, since: datetime, language: Language) -> Iterator[Wait]:
    """What a suspended job waits for that Kueue decides about; nothing for any other."""
    known = told.state.queue
    if known is not None and known.standing != "gone":
        says = _standing(known)
        yield Wait(says=says.text(language), since=known.since or since, message=known.message)
    elif queue := queue_of(told.state):
        says = phrase(
            "Kueue to admit the job to queue {queue}. Its Workload is not known here: Kueue's Events on the job "
            "say more.",
            queue=queue,
        )
        yield Wait(says=says.text(language), since=since)


def _standing(known: QueueState) -> Phrase:
    why = _why(known.reason)
    match known.standing:
        case "reserved":
            return phrase(
                "Kueue's admission checks: quota is reserved for the job in ClusterQueue {cluster_queue}{why}.",
                cluster_queue=known.cluster_queue,
                why=why,
            )
        case "admitted":
            return phrase(
                "Kueue to resume the job, which it has admitted to queue {queue}.", queue=known.queue
            )
        case "deactivated":
            return phrase(
                "Somebody to activate Workload {workload} again: Kueue has deactivated it{why}.",
                workload=known.workload,
                why=why,
            )
        case _:
            return phrase("Kueue to admit the job to queue {queue}{why}.", queue=known.queue, why=why)


def _why(reason: str) -> Said:
    return phrase(" ({what})", what=reason) if reason else ""
