"""What is known while the entries of a job are told: its state, the incidents, and what is still open."""

from dataclasses import dataclass, field
from datetime import datetime

from projectors.explain.drafts import Draft, Drafts
from projectors.explain.model import IncidentKind, Nature
from projectors.phrases import Said
from projectors.phrases.actors import by_whom
from statemachine import events as e
from statemachine.ids import ReplicaName
from statemachine.log.entry import Entry
from statemachine.observations import ActorSource, PodObserved
from statemachine.state import JobState


@dataclass
class Told:
    """A job so far. `state` is the one before the event that is being told; `begun` is when its log begins.

    `root`: what ended the job, once it has failed. `refusal`, `status_lost`: open incidents of these kinds;
    `wish`: the start or resume that is not up yet; `eviction`: Kueue's, until it admits the job again. `asked_at`,
    `leaving_since`, `last_seen`: when a replica's pod was asked for, when it was to be deleted, and how it was last
    seen. `failures`: failures in this entry that nothing was decided on yet; `ends`: how pods whose deletion had
    begun have ended.
    """

    state: JobState
    begun: datetime
    drafts: Drafts = field(default_factory=Drafts)
    entries: int = 0
    since: datetime | None = None
    root: Draft | None = None
    refusal: Draft | None = None
    status_lost: Draft | None = None
    wish: Draft | None = None
    eviction: Draft | None = None
    asked_at: dict[ReplicaName, datetime] = field(default_factory=dict)
    leaving_since: dict[ReplicaName, datetime] = field(default_factory=dict)
    last_seen: dict[ReplicaName, PodObserved] = field(default_factory=dict)
    failures: dict[ReplicaName, e.ReplicaFailed] = field(default_factory=dict)
    ends: dict[ReplicaName, e.Cause] = field(default_factory=dict)

    def add(
        self, entry: Entry, kind: IncidentKind, nature: Nature, says: Said, *, cause: e.Cause | None = None
    ) -> Draft:
        """An incident of the whole job."""
        by = actor(entry) if nature is Nature.ASKED_FOR else ""
        how = actor_source(entry) if by else ActorSource.RECORDED
        return self.drafts.add(Draft(kind, nature, entry, says, by=by, by_source=how, cause=cause))

    def add_of(
        self,
        replica: ReplicaName,
        entry: Entry,
        kind: IncidentKind,
        nature: Nature,
        *,
        says: Said,
        cause: e.Cause,
    ) -> Draft:
        """An incident of one replica, whose pod it moves from now on."""
        known = self.state.replicas.get(replica)
        draft = Draft(kind, nature, entry, says, replica, known.attempt if known else 0, cause=cause)
        self.drafts.moved_by[replica] = draft
        return self.drafts.add(draft)

    def write_accepted(self, entry: Entry) -> None:
        """What was refused was taken after all."""
        if self.refusal:
            self.refusal.over(entry.seen_at)
        self.refusal = None

    def write_given_up(self) -> None:
        """What was refused is not wanted any more, or something else is refused now."""
        self.refusal = None


def actor(entry: Entry) -> str:
    """Who is behind the entry; empty where that is not known."""
    return entry.actor or getattr(entry.cause, "actor", "")


def actor_source(entry: Entry) -> ActorSource:
    """How that is known."""
    if entry.actor:
        return entry.actor_source
    return getattr(entry.cause, "actor_source", ActorSource.RECORDED)


def by(entry: Entry) -> Said:
    """` by alice`; nothing where nobody is known."""
    return by_whom(actor(entry), actor_source(entry))
