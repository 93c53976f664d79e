"""Closed jobs in little memory: there may be a million of them, and only the number of the last entry counts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from zlib import crc32

from statemachine.ids import JobUid, Seq

_UUID: Final = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
"""How Kubernetes writes uids (RFC 9562, section 4)."""

_BEGIN: Final = re.compile("([0-9a-f]*)[0-9a-f-]*")
"""What they may begin with, and the digits of the first group."""

_UID: Final = 16
_SIZE: Final = _UID + 4
"""Bytes of a job on a shelf: its uid, and the number of its last entry."""

_MOST: Final = 256 ** (_SIZE - _UID) - 1
"""The greatest number that fits."""

_SHELVES: Final = 1 << 16
"""Of a million jobs fifteen are on each, wherever their uids differ."""

_EMPTY: Final = b""


class ClosedJobs(Mapping[JobUid, Seq]):
    """Closed jobs with the numbers of their last entries: 40 bytes a job of a million, where a dict takes 137.

    Uids that are UUIDs lie as bytes on shelves; others are in a dict.
    """

    def __init__(self, jobs: Mapping[JobUid, Seq] | None = None) -> None:
        self._shelves: dict[int, bytearray] = {}
        self._others: dict[JobUid, Seq] = {}
        self._shelved = 0
        self.update(jobs or {})

    def __len__(self) -> int:
        return self._shelved + len(self._others)

    def __iter__(self) -> Iterator[JobUid]:
        return self.starting_with("")

    def __getitem__(self, job: JobUid) -> Seq:
        uid = _bytes_of(job)
        if uid is None:
            return self._others[job]
        shelf = self._shelf_of(uid)
        place = _place(shelf, uid)
        if place < 0:
            raise KeyError(job)
        return int.from_bytes(shelf[place + _UID : place + _SIZE], "big")

    def __contains__(self, job: object) -> bool:
        uid = _bytes_of(job) if isinstance(job, str) else None
        if uid is None:
            return job in self._others
        return _place(self._shelf_of(uid), uid) >= 0

    def add(self, job: JobUid, seq: Seq) -> None:
        """The job is closed behind this entry. A damaged snapshot may have any number: it becomes one that fits."""
        uid = _bytes_of(job)
        if uid is None:
            self._others[job] = seq
            return
        shelf = self._shelves.setdefault(crc32(uid) % _SHELVES, bytearray())
        place, number = _place(shelf, uid), min(max(seq, 0), _MOST).to_bytes(_SIZE - _UID, "big")
        if place < 0:
            shelf += uid + number
            self._shelved += 1
        else:
            shelf[place + _UID : place + _SIZE] = number

    def update(self, jobs: Mapping[JobUid, Seq]) -> None:
        """All of these are closed."""
        for job, seq in jobs.items():
            self.add(job, seq)

    def clear(self) -> None:
        """None is known any more."""
        self._shelves.clear()
        self._others.clear()
        self._shelved = 0

    def starting_with(self, begin: str) -> Iterator[JobUid]:
        """Those whose uids begin so, in no order."""
        if match := _BEGIN.fullmatch(begin):
            first = _whole_bytes(match[1])
            for shelf in self._shelves.values():
                if first in shelf:  # few have it, of many
                    places = range(0, len(shelf), _SIZE)
                    jobs = (_uid_of(shelf[place : place + _UID]) for place in places)
                    yield from (job for job in jobs if job.startswith(begin))
        yield from (job for job in self._others if job.startswith(begin))

    def _shelf_of(self, uid: bytes) -> bytes | bytearray:
        return self._shelves.get(crc32(uid) % _SHELVES, _EMPTY)


class ClosedInAll(Mapping[JobUid, Seq]):
    """The closed jobs of several partitions."""

    def __init__(self, parts: Sequence[ClosedJobs]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[JobUid]:
        return self.starting_with("")

    def __getitem__(self, job: JobUid) -> Seq:
        for part in self._parts:
            if job in part:
                return part[job]
        raise KeyError(job)

    def starting_with(self, begin: str) -> Iterator[JobUid]:
        """Those whose uids begin so."""
        for part in self._parts:
            yield from part.starting_with(begin)


def _bytes_of(job: str) -> bytes | None:
    return bytes.fromhex(job.replace("-", "")) if _UUID.fullmatch(job) else None


def _uid_of(uid: bytes | bytearray) -> JobUid:
    digits = uid.hex()
    return JobUid(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")


def _whole_bytes(digits: str) -> bytes:
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _place(shelf: bytes | bytearray, uid: bytes) -> int:
    """The place of the uid, or less than 0; what looks like it between two places is not meant."""
    place = shelf.find(uid)
    while place > 0 and place % _SIZE:
        place = shelf.find(uid, place + 1)
    return place
