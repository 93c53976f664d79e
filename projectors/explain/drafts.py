"""Incidents in the making: which are open, which pods they move, and what they have led to so far."""

from dataclasses import dataclass, field
from datetime import datetime

from projectors.explain.model import Budget, Evidence, Incident, IncidentKind, Nature, Step, StepKind
from projectors.explain.wording import evidence
from projectors.phrases import Language, Said, in_words
from projectors.phrases.actors import by_whom
from statemachine.events import Cause
from statemachine.ids import PodUid, ReplicaName, Seq
from statemachine.log.entry import Entry
from statemachine.observations import ActorSource
from statemachine.phases import Phase


@dataclass
class IncidentDraft:
    """An incident that later entries may still add to."""

    kind: IncidentKind
    nature: Nature
    entry: Entry
    says: Said
    replica: str = ""
    attempt: int = 0
    by: str = ""
    by_source: ActorSource = ActorSource.RECORDED
    cause: Cause | None = None
    budget: Budget | None = None
    times: int = 1
    steps: list[Step] = field(default_factory=list)
    over_at: datetime | None = None

    @property
    def happened_at(self) -> datetime:
        """When it happened, by the cluster's time if there is one."""
        return self.entry.happened_at or self.entry.seen_at

    @property
    def by_whom(self) -> Said:
        """The actor, and how that is known: ` by alice`; empty if no actor is known."""
        return by_whom(self.by, self.by_source)

    @property
    def evidence(self) -> Evidence | None:
        """The cause as an explanation shows it."""
        return evidence(self.cause) if self.cause else None

    def over(self, at: datetime) -> None:
        """The incident was made good at `at`, unless it was made good before."""
        self.over_at = self.over_at or at

    def step(
        self,
        entry: Entry,
        kind: StepKind,
        replica: ReplicaName | None = None,
        *,
        attempt: int = 0,
        uid: PodUid = PodUid(""),
        phase: Phase | None = None,
    ) -> None:
        """Adds a consequence; the same one for several replicas in one entry is one step."""
        last = self.steps[-1] if self.steps else None
        if last and replica and (last.seq, last.what) == (entry.seq, kind):
            same = attempt if attempt == last.attempt else 0
            new = {"replicas": (*last.replicas, replica), "attempt": same, "pod_uid": ""}
            self.steps[-1] = last.model_copy(update=new)
            return
        self.steps.append(
            Step(
                seq=entry.seq,
                at=entry.seen_at,
                what=kind,
                replicas=(replica,) if replica else (),
                attempt=attempt,
                pod_uid=uid,
                phase=phase,
            )
        )

    def finished(self, language: Language) -> Incident:
        """The incident, in `language`."""
        return Incident(
            kind=self.kind,
            nature=self.nature,
            seq=self.entry.seq,
            at=self.entry.seen_at,
            happened_at=self.entry.happened_at,
            replica=self.replica,
            attempt=self.attempt,
            by=self.by,
            by_source=self.by_source,
            says=in_words(self.says, language),
            times=self.times,
            cause=self.evidence,
            budget=self.budget,
            led_to=tuple(self.steps),
            over_at=self.over_at,
        )


@dataclass
class Drafts:
    """All incidents in order, the incident that moves each replica's pod, and the chain of failures.

    `chain` has every failure since all replicas were last well: the earliest is the root cause if the job fails.
    """

    all: list[IncidentDraft] = field(default_factory=list)
    chain: list[IncidentDraft] = field(default_factory=list)
    moved_by: dict[ReplicaName, IncidentDraft] = field(default_factory=dict)
    _unwell: dict[ReplicaName, None] = field(default_factory=dict)
    _of_entry: dict[tuple[Seq, IncidentKind], IncidentDraft] = field(default_factory=dict)

    def add(self, draft: IncidentDraft) -> IncidentDraft:
        """Adds an incident; `of` finds an incident of the whole job by its entry and kind."""
        self.all.append(draft)
        if not draft.replica:
            self._of_entry[draft.entry.seq, draft.kind] = draft
        return draft

    def of(self, entry: Entry, kind: IncidentKind) -> IncidentDraft | None:
        """The incident of this kind that this entry has brought to the whole job."""
        return self._of_entry.get((entry.seq, kind))

    def last(self, kind: IncidentKind) -> IncidentDraft | None:
        """The last incident of this kind."""
        return next((draft for draft in reversed(self.all) if draft.kind is kind), None)

    def failed(self, replica: ReplicaName, draft: IncidentDraft) -> None:
        """The replica is not well because of `draft`, until it runs again."""
        self.chain.append(draft)
        self._unwell[replica] = None

    def well(self, replica: ReplicaName) -> None:
        """The replica runs. When all do, the chain is over, and did not end the job."""
        self._unwell.pop(replica, None)
        if not self._unwell:
            self.chain.clear()

    def fresh(self) -> None:
        """A pause begins: the failures before it do not count any more."""
        self._unwell.clear()
        self.chain.clear()

    @property
    def root(self) -> IncidentDraft | None:
        """The earliest failure of the chain, by the time when it happened; of several the one observed first."""
        return min(self.chain, key=lambda draft: draft.happened_at, default=None)
