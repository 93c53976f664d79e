"""The diagnosis of a job while its entries are read: its state, its incidents, and which of them are open."""

from dataclasses import dataclass, field
from datetime import datetime

from projectors.explain.drafts import Drafts, IncidentDraft
from projectors.explain.model import IncidentKind, Nature
from projectors.phrases import Said
from projectors.phrases.actors import by_whom
from statemachine import events as e
from statemachine.ids import ReplicaName
from statemachine.log.entry import Entry
from statemachine.observations import ActorSource, PodObserved
from statemachine.state import JobState


@dataclass
class Diagnosis:
    """The diagnosis up to an event. `state` is the job's before it; `begun` is when the job's log begins.

    `root`: the incident that ended the job, once it has failed. `refusal`, `status_lost`: open incidents of these
    kinds; `starting`: the start or resume under way; `eviction`: Kueue's, until it admits the job again. `asked_at`,
    `leaving_since`, `last_seen`: when a replica's pod was asked for, when its deletion was decided, and its last
    report. `failures`: failures in this entry without a decision yet; `ends`: ends of pods in deletion.
    """

    state: JobState
    begun: datetime
    drafts: Drafts = field(default_factory=Drafts)
    entries: int = 0
    since: datetime | None = None
    root: IncidentDraft | None = None
    refusal: IncidentDraft | None = None
    status_lost: IncidentDraft | None = None
    starting: IncidentDraft | None = None
    eviction: IncidentDraft | None = None
    asked_at: dict[ReplicaName, datetime] = field(default_factory=dict)
    leaving_since: dict[ReplicaName, datetime] = field(default_factory=dict)
    last_seen: dict[ReplicaName, PodObserved] = field(default_factory=dict)
    failures: dict[ReplicaName, e.ReplicaFailed] = field(default_factory=dict)
    ends: dict[ReplicaName, e.Cause] = field(default_factory=dict)

    def add(
        self, entry: Entry, kind: IncidentKind, nature: Nature, says: Said, *, cause: e.Cause | None = None
    ) -> IncidentDraft:
        """Adds an incident of the whole job."""
        by = actor(entry) if nature is Nature.ASKED_FOR else ""
        how = actor_source(entry) if by else ActorSource.RECORDED
        return self.drafts.add(IncidentDraft(kind, nature, entry, says, by=by, by_source=how, cause=cause))

    def add_of(
        self,
        replica: ReplicaName,
        entry: Entry,
        kind: IncidentKind,
        nature: Nature,
        *,
        says: Said,
        cause: e.Cause,
    ) -> IncidentDraft:
        """Adds an incident of one replica, which moves the replica's pod from now on."""
        state = self.state.replicas.get(replica)
        draft = IncidentDraft(kind, nature, entry, says, replica, state.attempt if state else 0, cause=cause)
        self.drafts.moved_by[replica] = draft
        return self.drafts.add(draft)

    def write_accepted(self, entry: Entry) -> None:
        """The cluster accepted the write that it had refused."""
        if self.refusal:
            self.refusal.over(entry.seen_at)
        self.refusal = None

    def write_given_up(self) -> None:
        """The refused write is not desired any more, or the cluster refuses another one now."""
        self.refusal = None


def actor(entry: Entry) -> str:
    """The actor of the entry; empty if none is known."""
    return entry.actor or getattr(entry.cause, "actor", "")


def actor_source(entry: Entry) -> ActorSource:
    """How the actor of the entry is known."""
    if entry.actor:
        return entry.actor_source
    return getattr(entry.cause, "actor_source", ActorSource.RECORDED)


def by(entry: Entry) -> Said:
    """` by alice`; empty if no actor is known."""
    return by_whom(actor(entry), actor_source(entry))
