"""Checks that a log is intact, and that its observations are still decided as recorded. Pure: records → verdicts.

Every record is checked as an auditor does (readable, numbered without holes, chained by hash); every recorded
observation is decided again on the state folded before it, and the events are compared as bytes; snapshots are
compared with the state that the entries fold to. An entry that another version of the rules decided is folded and
counted: its events are history, and no release promises to decide the same.

A finding that a damage can explain, but also a clock or a release that was set back, is only a warning.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from statemachine.decide import POLICY, decide
from statemachine.engine.undecided import NO_POLICY
from statemachine.errors import EntryUnreadable
from statemachine.events import Event
from statemachine.ids import JobUid, Seq
from statemachine.log.audit import Verifier
from statemachine.log.codec import decode_state, encode, encode_state
from statemachine.log.entry import WHOLE, Entry
from statemachine.log.life import decode_most, why_unread
from statemachine.log.port import UNUSABLE, Record, Snapshot
from statemachine.log.reader import Reader
from statemachine.observations import JobObserved
from statemachine.state import STATE_VERSION, JobState
from statemachine.wire import plain

LATE: Final = timedelta(minutes=1)
"""An entry may be observed this much earlier than the entry before it without a warning: reports are late."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first fault in a job's records: in entry `seq`, or in the snapshot at `seq`.

    `recorded` and `now` are the events that differ, as plain data; both are empty when the record itself is
    wrong, which `says` tells.
    """

    seq: Seq
    says: str
    recorded: tuple[dict[str, Any], ...] = ()
    now: tuple[dict[str, Any], ...] = ()


@dataclass(slots=True)
class Verdict:
    """The result for one job. `difference` is None if its records hold; `warnings` are for a person to judge."""

    job: JobUid
    entries: int = 0
    decided_again: int = 0
    only_folded: int = 0
    """Entries that another version of the rules decided."""
    snapshots: int = 0
    namespace: str = ""
    name: str = ""
    difference: Difference | None = None
    warnings: list[Difference] = field(default_factory=list)


@dataclass(slots=True)
class _JobCheck:
    verdict: Verdict
    snapshot: Snapshot | None
    last: Entry | None = None


@dataclass
class Verification:
    """Checks records in log order, of one job or of all. `snapshots` were read before the records."""

    snapshots: Iterable[Snapshot] = ()
    _reader: Reader = field(default_factory=lambda: Reader(decode=decode_most))
    _verifier: Verifier = field(default_factory=Verifier)
    _jobs: dict[JobUid, _JobCheck] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for snapshot in self.snapshots:
            self._jobs[snapshot.job] = _JobCheck(Verdict(snapshot.job), snapshot)

    def take(self, record: Record) -> None:
        """The record is checked, decided again, and folded."""
        job = self._jobs.setdefault(record.job, _JobCheck(Verdict(record.job), None))
        verdict = job.verdict
        verdict.entries += 1
        folded = self._reader.accept(record)
        flaw = self._verifier.check(record, folded.entry if folded else None)
        if flaw is not None:
            _note(verdict, Difference(record.seq, flaw.reason))
        if folded is None:
            reason = self._reader.quarantined.get(record.job) or self._reader.last_skipped[-1].reason
            _note(verdict, Difference(record.seq, reason.removeprefix(f"entry {record.seq}: ")))
            return
        verdict.namespace, verdict.name = folded.state.namespace, folded.state.name
        if isinstance(folded.entry, Entry):
            self._decide_again(job, record, folded.entry, folded.before)
        else:
            _note(verdict, Difference(record.seq, why_unread(record.body)))
        if job.snapshot is not None and job.snapshot.seq == record.seq:
            self._compare(job, folded.state)

    def _decide_again(self, job: _JobCheck, record: Record, entry: Entry, before: JobState) -> None:
        verdict = job.verdict
        verdict.warnings.extend(Difference(entry.seq, doubt) for doubt in _doubts(job.last, entry))
        job.last = entry
        if entry.policy <= POLICY and not _agrees_with_its_cause(entry):
            _note(
                verdict, Difference(entry.seq, "its times, its actor or its job are not those of its cause")
            )
        if entry.policy != POLICY:
            verdict.only_folded += 1
            return
        verdict.decided_again += 1
        difference = redecided(entry, before, record.body)
        if difference is not None:
            _note(verdict, difference)

    def _compare(self, job: _JobCheck, state: JobState) -> None:
        """The snapshot is the state and the hash at its entry."""
        snapshot, verdict = job.snapshot, job.verdict
        job.snapshot = None
        if snapshot is None or snapshot.version != STATE_VERSION:
            return  # of another layout, or of a job in doubt: no reader uses it
        verdict.snapshots += 1
        if snapshot.head != self._reader.tracked(verdict.job).head:
            _note(
                verdict, Difference(snapshot.seq, "the snapshot names another entry than the log has there")
            )
            return
        try:
            same = decode_state(snapshot.body) == decode_state(encode_state(state))
        except EntryUnreadable as error:
            _note(verdict, Difference(snapshot.seq, error.reason))
            return
        if not same:
            _note(
                verdict, Difference(snapshot.seq, "the snapshot holds another state than the entries fold to")
            )

    def verdicts(self) -> Sequence[Verdict]:
        """The verdict on every job that has records, or a snapshot, in order of appearance."""
        for job in self._jobs.values():
            snapshot = job.snapshot
            if snapshot is not None and snapshot.version != UNUSABLE:
                says = f"a snapshot was taken at entry {snapshot.seq}, which the log does not have"
                _note(job.verdict, Difference(snapshot.seq, says))
        return [job.verdict for job in self._jobs.values()]


def _note(verdict: Verdict, difference: Difference) -> None:
    verdict.difference = verdict.difference or difference


def _doubts(last: Entry | None, entry: Entry) -> Iterator[str]:
    """What is odd about an entry that follows `last`, although the log need not be damaged."""
    if entry.policy > POLICY:
        yield f"it was decided by policy {entry.policy}, of a newer jobledger: known here is {POLICY}"
    if last is None:
        return
    if NO_POLICY < entry.policy < last.policy:
        yield f"it was decided by policy {entry.policy}, and the entry before it by {last.policy}"
    if last.seen_at - entry.seen_at > LATE:
        back = (last.seen_at - entry.seen_at).total_seconds()
        yield f"it was observed {back:.0f} s before the entry before it: a clock was put back, or a report is old"


def _agrees_with_its_cause(entry: Entry) -> bool:
    """The fields that an entry repeats of its cause, for readers that skip causes, agree; it may name no actor."""
    cause = entry.cause
    if (entry.job, entry.seen_at, entry.happened_at) != (cause.job, cause.at, cause.happened_at):
        return False
    if not entry.actor:
        return True
    return isinstance(cause, JobObserved) and (entry.actor, entry.actor_source) == (
        cause.actor,
        cause.actor_source,
    )


def redecided(entry: Entry, before: JobState, body: bytes) -> Difference | None:
    """How today's events for the entry's observation differ from the recorded ones; None if the bytes are equal.

    `body` is the entry as the log has it; an older release may have encoded it otherwise.
    """
    try:
        now = decide(before, entry.cause)
    except Exception as error:  # noqa: BLE001 - any failure of deciding differs from what was recorded
        return Difference(entry.seq, f"deciding the observation again fails: {error!r}", _plain(entry.events))
    whole = entry.changed(v=WHOLE)
    written = encode(whole.changed(events=now))
    if written == body or written == encode(whole):
        return None
    for number, (old, new) in enumerate(zip(entry.events, now, strict=False), 1):
        if _plain([old]) != _plain([new]):
            says = f"event {number} is decided otherwise now"
            return Difference(entry.seq, says, _plain([old]), _plain([new]))
    common = min(len(entry.events), len(now))
    says = "more events are decided now" if len(now) > common else "fewer events are decided now"
    return Difference(entry.seq, says, _plain(entry.events[common:]), _plain(now[common:]))


def _plain(events: Sequence[Event]) -> tuple[dict[str, Any], ...]:
    """The events as the log has them."""
    return tuple(plain(event) for event in events)
