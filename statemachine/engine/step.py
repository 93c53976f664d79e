"""Observations to durable entries: the owner of a log, its only writer (design.md rule 3).

The engine passes observations in batches. The owner decides each on the state that those before it left, appends all
entries in one go, and only then folds them into the states that other parts read. A crash at any point loses at most
observations whose batch was not acknowledged, and those are delivered again.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from statemachine.decide import POLICY, decided
from statemachine.engine.clock import Clock
from statemachine.engine.undecided import NO_POLICY, Failure, KnownFailures, fallback
from statemachine.errors import InvariantBroken, LogUnavailable, SeqConflict
from statemachine.events import Event
from statemachine.evolve import fold
from statemachine.ids import JobUid, Position, Seq
from statemachine.log.codec import encode, encode_observation, entry_hash
from statemachine.log.entry import Entry
from statemachine.log.port import DeadLetter, EntryDraft, EventLog, Record
from statemachine.log.reader import Folded, Reader
from statemachine.log.sharing import version
from statemachine.observations import ActorSource, JobObserved, Observation
from statemachine.phases import Phase
from statemachine.state import JobState

log = logging.getLogger(__name__)

_ATTEMPTS: Final = 5
"""How often a batch is decided again because another process has written; an exclusive log needs one."""


class Delivery(NamedTuple):
    """An observation, and its place among those of its partition; 0 without places.

    `trace`: the trace context (`traceparent`) that came with it; its entry passes it on.
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


class _Decision(NamedTuple):
    draft: EntryDraft
    entry: Entry
    head: _Head


class Owner:
    """Decides observations and appends entries. `reader` holds the states; only the owner advances it."""

    def __init__(self, event_log: EventLog, reader: Reader, clock: Clock) -> None:
        self._log = event_log
        self.reader = reader
        self._clock = clock
        self._known_failures = KnownFailures(event_log)
        self._unreturned: list[Folded] = []
        self.silent: Sequence[Observation] = ()
        """The observations of the last batch that changed nothing."""
        self.appended = 0
        """The number of entries of the last batch."""
        self._repeats = 0
        self.counts: Counter[str] = Counter()
        """Observations that were `repeats`, or became dead `letters`."""

    async def take(self, batch: Sequence[Delivery]) -> Sequence[Folded]:
        """Decides every observation of `batch`, and makes the entries durable before it folds them.

        An observation whose place is not behind the last one that caused an entry of its job is a duplicate. Returns
        what was folded since the last call, in log order: the new entries, and any that another owner has written
        (one believed dead; or this one, if the log took entries and its response was lost). An observation that
        cannot be decided goes to the dead letters; the others go on.

        Raises:
            LogUnavailable: nothing of the batch was appended; take it again later.
            OwnerLost: this owner cannot go on.
        """
        for _ in range(_ATTEMPTS):
            decided, failures = self._decide(batch)
            if failures and not await self._known_failures.refresh(failures):
                decided, failures = self._decide(batch)
            # before the entries: if a letter cannot be kept, nothing of the batch may be in the log
            for failure in failures:
                if not self._known_failures.knows(failure):  # nor by what was kept of this batch
                    await self._keep(failure)
            try:
                records = await self._log.append([decision.draft for decision in decided]) if decided else ()
            except SeqConflict as conflict:
                log.warning(
                    "somebody else wrote this history", extra={"action": "conflict", "job": conflict.job}
                )
                await self._catch_up()
                continue
            await self._fold(records, decided)
            self.appended = len(records)
            self._known_failures.appended()
            self.counts.update(repeats=self._repeats)
            return self._returned()
        raise LogUnavailable(
            f"another controller writes this log, too, and was quicker {_ATTEMPTS} times in a row: stop one of them"
        )

    async def catch_up(self) -> Sequence[Folded]:
        """What was folded since the last call, after reading to the end of the log. Raises LogUnavailable."""
        self.silent = ()
        await self._catch_up()
        return self._returned()

    def _returned(self) -> Sequence[Folded]:
        folded, self._unreturned = self._unreturned, []
        return folded

    async def _fold(self, records: Sequence[Record], decided: Sequence[_Decision]) -> None:
        """Folds the appended records, and before them any that another owner has written."""
        if records and not self._log.is_exclusive and records[0].position != self.reader.position + 1:
            await self._catch_up()
            return
        self._unreturned += [
            self.reader.adopt(record, decision.entry, decision.head.state, decision.head.hash)
            for record, decision in zip(records, decided, strict=True)
        ]

    async def _catch_up(self) -> None:
        async for folded in self.reader.catch_up(self._log):
            self._unreturned.append(folded)

    def _decide(self, batch: Sequence[Delivery]) -> tuple[list[_Decision], list[Failure]]:
        heads: dict[JobUid, _Head] = {}
        decided: list[_Decision] = []
        failures: list[Failure] = []
        silent: list[Observation] = []
        self._repeats = 0
        for delivery in batch:
            observation = delivery.observation
            head: _Head | None = None
            try:
                head = heads.get(observation.job) or self._head(observation.job)
                decision = self._decide_one(head, delivery)
            except Exception as error:  # noqa: BLE001 - it becomes a dead letter and an entry
                failure = Failure(observation, error)
                is_recorded = self._has(head, failure, failures)
                decision = None if is_recorded else self._fallback(head, delivery, failure)
                failures.append(failure)
                if decision is None:
                    continue
            if decision is None:
                silent.append(observation)
            else:
                heads[observation.job] = decision.head
                decided.append(decision)
        self.silent = silent
        return decided, failures

    def _has(self, head: _Head | None, failure: Failure, before: Sequence[Failure]) -> bool:
        """The job's history has the failure. A new job has no history, even if a crash has left a letter."""
        if head is not None and head.state.phase is Phase.NEW:
            return False
        return self._known_failures.is_said(failure) or any(map(failure.is_like, before))

    def _fallback(self, head: _Head | None, delivery: Delivery, failure: Failure) -> _Decision | None:
        """The entry that reports the failure, if one can be written."""
        if head is None:  # the job's history cannot be folded
            return None
        with suppress(Exception):
            events = fallback(head.state, failure)
            if events:
                return self._entry(head, delivery, events, fold(head.state, events), NO_POLICY)
        return None

    async def _keep(self, failure: Failure) -> None:
        fields = {"action": "dead-letter", "job": failure.observation.job}
        is_known = self._known_failures.knows_of(failure)  # the traceback is logged once, not for every pod
        if isinstance(failure.error, Quarantined):
            level = logging.DEBUG if is_known else logging.ERROR
            log.log(level, "nothing is decided about a job", extra={**fields, "error": failure.text})
        else:
            cause = None if is_known else failure.error
            log.error("an observation cannot be decided", exc_info=cause, extra=fields)
        body = encode_observation(failure.observation)
        await self._log.add_dead_letter(
            DeadLetter(self._clock.now(), failure.observation.job, body, failure.text)
        )
        self._known_failures.note(failure)
        self.counts.update(letters=1)

    def _head(self, job: JobUid) -> _Head:
        tracked = self.reader.tracked(job)
        if tracked.quarantined:
            raise Quarantined(f"the history of this job cannot be folded: {tracked.quarantined}")
        return _Head(tracked.state, tracked.seq, tracked.head, tracked.source)

    def _decide_one(self, head: _Head, delivery: Delivery) -> _Decision | None:
        if 0 < delivery.place <= head.source:
            self._repeats += 1
            return None
        events, state = decided(head.state, delivery.observation)
        return self._entry(head, delivery, events, state, POLICY) if events else None

    def _entry(
        self, head: _Head, delivery: Delivery, events: tuple[Event, ...], state: JobState, policy: int
    ) -> _Decision:
        cause, place, trace = delivery
        entry = Entry(
            v=version(cause, events),
            job=cause.job,
            seq=head.seq + 1,
            prev=head.hash,
            policy=policy,
            seen_at=cause.at,
            happened_at=cause.happened_at,
            actor=cause.actor if isinstance(cause, JobObserved) else "",
            actor_source=cause.actor_source if isinstance(cause, JobObserved) else ActorSource.RECORDED,
            source=place,
            cause=cause,
            events=events,
        )
        body = encode(entry)
        if 0 < self._log.entry_limit < len(body):
            raise TooLarge(f"its entry has {len(body)} bytes, and the log takes {self._log.entry_limit}")
        after = _Head(state, entry.seq, entry_hash(body), place or head.source)
        return _Decision(EntryDraft(cause.job, entry.seq, body, trace=trace), entry, after)


class TooLarge(InvariantBroken):
    """The log does not take the entry, as it is too large: the observation is kept as a dead letter."""


class Quarantined(InvariantBroken):
    """The job's history cannot be folded; observations of it are kept as dead letters."""
