"""Observations to durable entries: the owner of a log, its only writer (design.md rule 3).

Observations come in batches from whoever feeds the engine. Each is decided on the state that the ones before
it left; what was decided is appended in one go, and only then becomes the state that everybody sees. A crash
at any point loses at most observations whose batch was not acknowledged, and those are delivered again.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from statemachine.decide import POLICY, decided
from statemachine.engine.clock import Clock
from statemachine.engine.undecided import NO_POLICY, Failure, Told, fallback
from statemachine.errors import InvariantBroken, SeqConflict
from statemachine.events import Event
from statemachine.evolve import fold
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.codec import encode, entry_hash
from statemachine.log.entry import Entry
from statemachine.log.port import DeadLetter, Draft, EventLog, Record
from statemachine.log.reader import Folded, Reader
from statemachine.observations import ActorSource, JobObserved, Observation
from statemachine.phases import Phase
from statemachine.state import JobState

log = logging.getLogger(__name__)

_ATTEMPTS: Final = 5
"""How often a batch is decided again because somebody else had written; an exclusive log needs one."""


class Seen(NamedTuple):
    """An observation, and its place among those of its partition; 0 where they have none.

    `trace`: the trace context (`traceparent`) that it came with; its entry carries it on.
    """

    observation: Observation
    place: Position = 0
    trace: str = ""


class _Head(NamedTuple):
    """Where a job's history stands within a batch."""

    state: JobState
    seq: Seq
    hash: str
    source: Position


class _Decided(NamedTuple):
    draft: Draft
    entry: Entry
    head: _Head


class Owner:
    """Decides observations and appends entries; `reader` holds the states and is advanced by nobody else."""

    def __init__(self, event_log: EventLog, reader: Reader, clock: Clock) -> None:
        self._log = event_log
        self.reader = reader
        self._clock = clock
        self._told = Told(event_log)
        self._untold: list[Folded] = []
        self.silent: Sequence[Observation] = ()
        """The observations of the last batch that changed nothing."""
        self.appended = 0
        """How many entries the last batch became."""
        self._repeats = 0
        self.counts: Counter[str] = Counter()
        """Observations that were `repeats`, or became dead `letters`."""

    async def take(self, batch: Sequence[Seen]) -> Sequence[Folded]:
        """Every observation of `batch` has been decided, and the entries are durable and folded.

        One whose place is not behind that of the last observation that caused an entry of its job is a repeat.
        Gives what was folded since the last time, in log order: these entries, and any that somebody else has
        written (an owner believed dead; or this one, if the log took entries and its answer was lost). An
        observation that cannot be decided goes to the dead letters; the others go on.

        Raises:
            LogUnavailable: nothing of the batch was appended; take it again later.
            OwnerLost: this owner cannot go on.
        """
        for _ in range(_ATTEMPTS):
            decided, failures = self._decide(batch)
            if failures and not await self._told.refresh(failures):
                decided, failures = self._decide(batch)
            new = [each for each in failures if not self._told.knows(each)]
            for (
                failure
            ) in new:  # before the entries: nothing may be appended of a batch that is to be taken again
                await self._keep(failure)
            self.counts.update(letters=len(new))
            try:
                records = await self._log.append([each.draft for each in decided]) if decided else ()
            except SeqConflict as conflict:
                log.warning(
                    "somebody else wrote this history", extra={"action": "conflict", "job": conflict.job}
                )
                await self._catch_up()
                continue
            await self._fold(records, decided)
            self.appended = len(records)
            self._told.appended()
            self.counts.update(repeats=self._repeats)
            told, self._untold = self._untold, []
            return told
        raise InvariantBroken(f"{_ATTEMPTS} conflicts in a row: two writers share this log")

    async def _fold(self, records: Sequence[Record], decided: Sequence[_Decided]) -> None:
        """What was appended is folded in, and before it whatever somebody else had written meanwhile."""
        if records and not self._log.is_exclusive and records[0].position != self.reader.position + 1:
            await self._catch_up()
            return
        self._untold += [
            self.reader.adopt(record, each.entry, each.head.state, each.head.hash)
            for record, each in zip(records, decided, strict=True)
        ]

    async def _catch_up(self) -> None:
        async for folded in self.reader.catch_up(self._log):
            self._untold.append(folded)

    def _decide(self, batch: Sequence[Seen]) -> tuple[list[_Decided], list[Failure]]:
        heads: dict[JobUid, _Head] = {}
        decided: list[_Decided] = []
        failures: list[Failure] = []
        silent: list[Observation] = []
        self._repeats = 0
        for each in batch:
            seen = each.observation
            head: _Head | None = None
            try:
                head = heads.get(seen.job) or self._head(seen.job)
                one = self._decide_one(head, each)
            except Exception as error:  # noqa: BLE001 - it is kept, and said
                failure = Failure(seen, error)
                one = None if self._tells_of(head, failure, failures) else self._fallback(head, each, failure)
                failures.append(failure)
                if one is None:
                    continue
            if one is None:
                silent.append(seen)
            else:
                heads[seen.job] = one.head
                decided.append(one)
        self.silent = silent
        return decided, failures

    def _tells_of(self, head: _Head | None, failure: Failure, before: Sequence[Failure]) -> bool:
        """The job's history tells of it; one that has none yet does not, whatever letters a crash has left."""
        if head is not None and head.state.phase is Phase.NEW:
            return False
        return self._told.is_said(failure) or any(map(failure.is_like, before))

    def _fallback(self, head: _Head | None, seen: Seen, failure: Failure) -> _Decided | None:
        """The entry that tells of the failure, if one can be written."""
        if head is None:  # its history cannot be folded
            return None
        with suppress(Exception):
            events = fallback(head.state, failure)
            if events:
                return self._entry(head, seen, events, fold(head.state, events), NO_POLICY)
        return None

    async def _keep(self, failure: Failure) -> None:
        fields = {"action": "dead-letter", "job": failure.seen.job}
        told = self._told.knows_of(failure)  # where it went wrong is said once, not for every pod
        if isinstance(failure.error, Quarantined):
            level = logging.DEBUG if told else logging.ERROR
            log.log(level, "nothing is decided about a job", extra={**fields, "error": failure.text})
        else:
            cause = None if told else failure.error
            log.error("an observation cannot be decided", exc_info=cause, extra=fields)
        body = failure.seen.model_dump_json().encode()
        await self._log.add_dead_letter(DeadLetter(self._clock.now(), failure.seen.job, body, failure.text))
        self._told.note(failure)

    def _head(self, job: JobUid) -> _Head:
        tracked = self.reader.tracked(job)
        if tracked.quarantined:
            raise Quarantined(f"the history of this job cannot be folded: {tracked.quarantined}")
        return _Head(tracked.state, tracked.seq, tracked.head, tracked.source)

    def _decide_one(self, head: _Head, seen: Seen) -> _Decided | None:
        if 0 < seen.place <= head.source:
            self._repeats += 1
            return None
        events, state = decided(head.state, seen.observation)
        return self._entry(head, seen, events, state, POLICY) if events else None

    def _entry(
        self, head: _Head, noticed: Seen, events: tuple[Event, ...], state: JobState, policy: int
    ) -> _Decided:
        seen, place, trace = noticed
        entry = Entry(
            job=seen.job,
            seq=head.seq + 1,
            prev=head.hash,
            policy=policy,
            seen_at=seen.at,
            happened_at=seen.happened_at,
            actor=seen.actor if isinstance(seen, JobObserved) else "",
            actor_source=seen.actor_source if isinstance(seen, JobObserved) else ActorSource.RECORDED,
            source=place,
            cause=seen,
            events=events,
        )
        body = encode(entry)
        if 0 < self._log.entry_limit < len(body):
            raise TooLarge(f"its entry has {len(body)} bytes, and the log takes {self._log.entry_limit}")
        after = _Head(state, entry.seq, entry_hash(body), place or head.source)
        return _Decided(Draft(seen.job, entry.seq, body, trace=trace), entry, after)


class TooLarge(InvariantBroken):
    """The decision cannot be written down: the observation, whole, is kept as a dead letter."""


class Quarantined(InvariantBroken):
    """The job's history cannot be folded; observations of it are kept as dead letters."""
