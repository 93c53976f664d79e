"""A job in a queue of Kueue's: it waits there, Kueue admits it, and Kueue takes its quota away again."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from projectors.explain.diagnosis import Diagnosis
from projectors.explain.model import IncidentKind, Nature, Wait
from projectors.phrases import Language, Phrase, Said, Sentence, phrase, sentences
from statemachine import events as e
from statemachine.kinds import UnknownKind, kind_of
from statemachine.log.entry import Entry
from statemachine.state import JobState, QueueState

PREEMPTED: Final = "Preempted"


def queue_of(state: JobState) -> str:
    """The LocalQueue that decides when the job runs; empty if none does.

    The job's Workload names it; before there is one the label does, for kinds that Kueue itself manages.
    """
    if state.queue is not None and state.queue.standing != "gone":
        return state.queue.queue
    try:
        return kind_of(state.api_version, state.kind).queue(state.labels)
    except UnknownKind:
        return ""


def changed(diagnosis: Diagnosis, entry: Entry, event: e.QueueChanged) -> None:
    """Adds what a change of the job's Workload means."""
    if event.eviction is not None:
        diagnosis.eviction = diagnosis.add(
            entry, IncidentKind.EVICTION, Nature.ABNORMAL, _evicted(event.eviction)
        )
    if event.standing == "admitted" and (
        diagnosis.state.queue is None or diagnosis.state.queue.standing != "admitted"
    ):
        if diagnosis.eviction:
            diagnosis.eviction.over(entry.seen_at)
        diagnosis.eviction = None
        diagnosis.add(entry, IncidentKind.ADMISSION, Nature.EXPECTED, _admitted(event))


def _admitted(event: e.QueueChanged) -> Said:
    flavors = phrase(", flavors {names}", names=", ".join(event.flavors)) if event.flavors else ""
    return phrase(
        "Kueue admitted the job (queue {queue}, ClusterQueue {cluster_queue}{flavors}).",
        queue=event.queue,
        cluster_queue=event.cluster_queue,
        flavors=flavors,
    )


def _evicted(event: e.Eviction) -> Said:
    """What happened, followed by Kueue's own message."""
    if event.reason != PREEMPTED:
        text = phrase("Kueue took the job's quota away{why}.", why=_why(event.reason))
    elif event.preemptor:
        text = phrase("Kueue preempted the job for the job with uid {preemptor}.", preemptor=event.preemptor)
    else:
        text = phrase("Kueue preempted the job.")
    return sentences(text, Sentence(event.message)) if event.message else text


def waiting(diagnosis: Diagnosis, since: datetime, language: Language) -> Iterator[Wait]:
    """What a suspended job waits for Kueue to do; nothing for any other job."""
    workload = diagnosis.state.queue
    if workload is not None and workload.standing != "gone":
        says = _standing(workload)
        yield Wait(says=says.text(language), since=workload.since or since, message=workload.message)
    elif queue := queue_of(diagnosis.state):
        says = phrase(
            "Kueue to admit the job to queue {queue}. Its Workload is not known here: Kueue's Events on the job "
            "say more.",
            queue=queue,
        )
        yield Wait(says=says.text(language), since=since)


def _standing(workload: QueueState) -> Phrase:
    why = _why(workload.reason)
    match workload.standing:
        case "reserved":
            return phrase(
                "Kueue's admission checks: quota is reserved for the job in ClusterQueue {cluster_queue}{why}.",
                cluster_queue=workload.cluster_queue,
                why=why,
            )
        case "admitted":
            return phrase(
                "Kueue to resume the job, which it has admitted to queue {queue}.", queue=workload.queue
            )
        case "deactivated":
            return phrase(
                "Somebody to activate Workload {workload} again: Kueue has deactivated it{why}.",
                workload=workload.workload,
                why=why,
            )
        case _:
            return phrase("Kueue to admit the job to queue {queue}{why}.", queue=workload.queue, why=why)


def _why(reason: str) -> Said:
    return phrase(" ({what})", what=reason) if reason else ""
