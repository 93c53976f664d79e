"""Ways to damage a log: a function a way, from sound records to damaged ones.

Some leave the rest as it was, as a disk or a copy does. Others write what follows anew, so that it is chained again,
as somebody does who knows how: those are `forged`.
"""

import json
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from statemachine.ids import JobUid, Seq
from statemachine.log.codec import entry_hash
from statemachine.log.port import Record

Records = list[Record]
Mutation = Callable[[Records], Records]
Raw = dict[str, Any]


def whole(records: Records) -> Records:
    """As it was written."""
    return records


def removed(*seqs: int) -> Mutation:
    """Entries are missing."""
    return lambda records: [record for record in records if record.seq not in seqs]


def cut(after: int) -> Mutation:
    """The end is missing, as in an older copy."""
    return lambda records: records[:after]


def repeated(seq: int, *, behind: int) -> Mutation:
    """An entry stands a second time, behind another."""

    def again(records: Records) -> Records:
        return _placed([*records[:behind], records[seq - 1], *records[behind:]])

    return again


def swapped(first: int, second: int) -> Mutation:
    """Two records have changed places."""

    def exchange(records: Records) -> Records:
        records = list(records)
        records[first - 1], records[second - 1] = records[second - 1], records[first - 1]
        return _placed(records)

    return exchange


def reversed_(records: Records) -> Records:
    """The last entry comes first."""
    return _placed(list(reversed(records)))


def twice(records: Records) -> Records:
    """The whole history was copied behind itself."""
    return _placed([*records, *records])


def apart(records: Records) -> Records:
    """Positions have holes, as those of a topic with other records have."""
    return [replace(record, position=record.position * 10) for record in records]


def bytes_of(seq: int, change: Callable[[bytes], bytes]) -> Mutation:
    """The bytes of one entry are others, and nothing else."""

    def damage(records: Records) -> Records:
        return [
            replace(record, body=change(record.body)) if record.seq == seq else record for record in records
        ]

    return damage


def flipped(part: bytes) -> Callable[[bytes], bytes]:
    """One bit of the byte behind the first `part` has turned."""

    def flip(body: bytes) -> bytes:
        place = body.index(part) + len(part)
        return body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]

    return flip


def renumbered(seq: int, number: int) -> Mutation:
    """The log says that entry `seq` is another one."""

    def damage(records: Records) -> Records:
        return [replace(record, seq=Seq(number)) if record.seq == seq else record for record in records]

    return damage


def handed_over(seq: int, job: str) -> Mutation:
    """The log says that entry `seq` is of another job."""

    def damage(records: Records) -> Records:
        return [replace(record, job=JobUid(job)) if record.seq == seq else record for record in records]

    return damage


def unchained(seq: int, change: Callable[[Raw], object]) -> Mutation:
    """The object of one entry was changed, and written as it is read."""
    return bytes_of(seq, lambda body: _dumped(_changed(body, change)))


def forged(seq: int, change: Callable[[Raw], object]) -> Mutation:
    """The object of one entry was changed, and every entry behind it names the one before it by its new hash."""

    def damage(records: Records) -> Records:
        result: Records = []
        for record in records:
            body = record.body
            if record.seq == seq:
                body = _dumped(_changed(body, change))
            elif record.seq > seq:
                prev = entry_hash(result[-1].body)
                body = body.replace(_prev(body), b'"prev":"%b"' % prev.encode())
            result.append(replace(record, body=body))
        return result

    return damage


def added(*changes: Callable[[Raw], object], of: int) -> Mutation:
    """Entries stand behind the last one, each a changed copy of entry `of`, numbered and chained."""

    def damage(records: Records) -> Records:
        result = list(records)
        for change in changes:
            last, copied = result[-1], json.loads(records[of - 1].body)
            copied |= {"seq": last.seq + 1, "prev": entry_hash(last.body)}
            change(copied)
            result.append(Record(last.position + 1, last.job, Seq(last.seq + 1), _dumped(copied)))
        return result

    return damage


def branch(of: int, change: Callable[[Raw], object]) -> Mutation:
    """A writer that came too late appends another entry `of`, behind the one that is there."""

    def damage(records: Records) -> Records:
        late = replace(records[of - 1], body=_dumped(_changed(records[of - 1].body, change)))
        return _placed([*records[:of], late, *records[of:]])

    return damage


def both(first: Mutation, second: Mutation) -> Mutation:
    """One after the other."""
    return lambda records: second(first(records))


def _placed(records: Records) -> Records:
    return [replace(record, position=position) for position, record in enumerate(records, 1)]


def _changed(body: bytes, change: Callable[[Raw], object]) -> Raw:
    raw: Raw = json.loads(body)
    change(raw)
    return raw


def _dumped(raw: Raw) -> bytes:
    return json.dumps(raw, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def _prev(body: bytes) -> bytes:
    start = body.index(b'"prev":"')
    return body[start : body.index(b'"', start + 8) + 1]
