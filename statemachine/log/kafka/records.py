"""Records of the topics ↔ what the log speaks of.

Anybody may have written anything into a topic. What is not as it should be is read as far as it goes, and never
fails: an entry without number has the number 0, which no reader accepts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

from statemachine.ids import JobUid, Position, Seq
from statemachine.log.codec import version_in
from statemachine.log.kafka.layout import RECORD_LIMIT
from statemachine.log.port import DeadLetter, EntryDraft, Record, Snapshot

COVERED: Final = b" covered"
CLOSED: Final = b" closed "
"""Key of the record that says what the snapshots of a partition cover; no job's uid begins with a space."""

_OVERHEAD: Final = 1024
"""Bytes that a record and its batch need at most, besides key, value and the texts in headers."""

_LONGEST_ERROR: Final = 16 * 1024
_LONGEST_TRACE: Final = 256
_DIGITS: Final = 18
_MOVED = "moved"
_TRACE = "traceparent"
_RETRIED, _RETRIED_AT = "retried", "retried-at"
_MAC = "mac"
_CUT: Final = " (the observation is cut off: it was larger than a record can be)"


class Message(Protocol):
    """A record as a consumer gives it; `timestamp` in milliseconds, by the brokers' clock."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Sequence[tuple[str, bytes | None]]


class Row(NamedTuple):
    """A record as a producer takes it; without value it removes those of its key."""

    key: bytes
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()

    @property
    def size(self) -> int:
        """Bytes, at most."""
        texts = sum(len(name) * 4 + len(text) for name, text in self.headers)
        return len(self.key) + len(self.value or b"") + texts + _OVERHEAD

    @property
    def fits(self) -> bool:
        """The topics take it."""
        return self.size <= RECORD_LIMIT


@dataclass(frozen=True, slots=True)
class Covered:
    """Every entry up to `position` is in one of `count` snapshots and closed jobs; `source`: see Saved."""

    position: Position = 0
    count: int = 0
    source: Position = 0


# ---- entries -----------------------------------------------------------------------------------------------------


def entry_row(draft: EntryDraft) -> Row:
    """The record of an entry. Headers tell what it is without its being read."""
    headers = [("type", b"entry"), ("v", b"%d" % version_in(draft.body)), ("seq", b"%d" % draft.seq)]
    if draft.moved:
        headers.append((_MOVED, b"1"))
    return Row(draft.job.encode(), draft.body, [*headers, *traced(draft.trace)])


def traced(trace: str) -> Sequence[tuple[str, bytes]]:
    """The header that carries a trace context on; none where there is none. Source: W3C, Trace Context."""
    return [(_TRACE, trace.encode())] if trace else []


def trace_of(headers: Sequence[tuple[str, bytes | None]]) -> str:
    """The trace context in these headers; empty without one that could be any."""
    return _trace(dict(headers).get(_TRACE))


def _trace(header: bytes | None) -> str:
    return _text(header) if header and len(header) <= _LONGEST_TRACE else ""


def record_of(message: Message) -> Record:
    """The entry; `seq` 0 if the record does not say that it is one, or which."""
    headers, key = dict(message.headers), message.key
    seq = _number(headers.get("seq")) if key and headers.get("type") == b"entry" else 0
    job, trace = JobUid(_text(key)), _trace(headers.get(_TRACE))
    return Record(message.offset + 1, job, seq, message.value or b"", _MOVED in headers, trace)


def _number(text: bytes | None) -> Seq:
    return int(text) if text and text.isdigit() and len(text) <= _DIGITS else 0


def _text(data: bytes | None) -> str:
    return (data or b"").decode(errors="replace")


# ---- snapshots ---------------------------------------------------------------------------------------------------


def snapshot_row(snapshot: Snapshot) -> Row:
    """The record of a snapshot: a line of JSON, and the state behind it.

    A state that does not fit in a record is left out, which makes the snapshot of no use: its job will be folded
    from its entries. An older one must not stay in its place.
    """
    row = _snapshot_row(snapshot, snapshot.version, snapshot.body)
    return row if row.fits else _snapshot_row(snapshot, 0, b"")


def _snapshot_row(snapshot: Snapshot, version: int, body: bytes) -> Row:
    head = {"seq": snapshot.seq, "head": snapshot.head, "version": version, "source": snapshot.source}
    return Row(snapshot.job.encode(), json.dumps(head, separators=(",", ":")).encode() + b"\n" + body)


def snapshot_of(message: Message) -> Snapshot | None:
    """The snapshot, if the record is one."""
    if not message.key or message.value is None:
        return None
    head, _, body = message.value.partition(b"\n")
    try:
        said = json.loads(head)
        seq, version, source = (int(said[name]) for name in ("seq", "version", "source"))
        return Snapshot(JobUid(message.key.decode()), seq, str(said["head"]), version, body, source)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def page_row(number: int, closed: Mapping[JobUid, Seq]) -> Row:
    """The record of a page of closed jobs, with their last entries: of a million jobs, a thousand records."""
    return Row(CLOSED + b"%d" % number, json.dumps(closed, separators=(",", ":")).encode())


def page_of(message: Message) -> tuple[int, dict[JobUid, Seq]] | None:
    """The number of a page and what is on it; None if that cannot be read."""
    number = (message.key or b"").removeprefix(CLOSED)
    try:
        said = json.loads(message.value or b"")
        return int(number), {JobUid(job): int(seq) for job, seq in said.items()}
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError):
        return None


def covered_row(covered: Covered) -> Row:
    """The record that says what all snapshots of the partition cover."""
    return Row(COVERED, json.dumps(asdict(covered)).encode())


def covered_of(message: Message) -> Covered:
    """What the record says; nothing is covered if that cannot be read."""
    try:
        said = json.loads(message.value or b"")
        return Covered(int(said["position"]), int(said["count"]), int(said.get("source", 0)))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return Covered()


def with_mac(row: Row, mac: bytes) -> Row:
    """The record with what says that a holder of the key has made it."""
    return row._replace(headers=[*row.headers, (_MAC, mac)])


def mac_of(message: Message) -> bytes:
    """What the record gives as its MAC; empty without one."""
    return dict(message.headers).get(_MAC) or b""


# ---- dead letters ------------------------------------------------------------------------------------------------


def letter_row(letter: DeadLetter) -> Row:
    """The record of a dead letter: the observation as it was, what is said of it in headers."""
    error = letter.error.encode(errors="replace")[:_LONGEST_ERROR]
    row = _letter_row(letter, letter.observation, error)
    if row.fits:
        return row
    room = RECORD_LIMIT - (row.size - len(letter.observation)) - len(_CUT)
    return _letter_row(letter, letter.observation[:room], error + _CUT.encode())


def _letter_row(letter: DeadLetter, observation: bytes, error: bytes) -> Row:
    headers = [("at", letter.at.isoformat().encode()), ("error", error)]
    if letter.retried_at:
        headers.append((_RETRIED_AT, letter.retried_at.isoformat().encode()))
    return Row(letter.job.encode(), observation, headers)


def letter_of(message: Message, partition: int) -> DeadLetter:
    """The dead letter; one that somebody else has put there has the time at which the brokers got it."""
    headers = dict(message.headers)
    error = _text(headers.get("error")) or "it does not say what was wrong with it"
    at = _time(_text(headers.get("at"))) or datetime.fromtimestamp(max(0, message.timestamp) / 1000, UTC)
    job, id_ = JobUid(_text(message.key)), message.offset + 1
    retried = _time(_text(headers.get(_RETRIED_AT)))
    return DeadLetter(at, job, message.value or b"", error, id_, partition, retried)


def retry_row(letter: DeadLetter, at: datetime) -> Row:
    """The record, among the dead letters, that says that the letter was retried."""
    headers = [(_RETRIED, b"%d" % letter.id), (_RETRIED_AT, at.isoformat().encode())]
    return Row(letter.job.encode(), None, headers)


def retry_of(message: Message) -> tuple[int, datetime] | None:
    """Which letter was retried and when, if the record says that; then it is no letter itself."""
    headers = dict(message.headers)
    id_, at = _number(headers.get(_RETRIED)), _time(_text(headers.get(_RETRIED_AT)))
    return (id_, at) if id_ and at and message.value is None else None


def _time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
