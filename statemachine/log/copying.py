"""Copies a log to another one: every entry that a reader accepts, byte for byte, and compares both afterwards.

The target may have another number of partitions: a job's entries go to the one that holds the job there. The place
that an entry names counts observations of the source log; in the target the entry is marked as moved, and readers
ignore its place.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from statemachine.errors import EntryUnreadable, LogError
from statemachine.ids import JobUid, Seq
from statemachine.log.codec import entry_hash
from statemachine.log.entry import GENESIS
from statemachine.log.partitions import Partitions
from statemachine.log.port import DeadLetter, EntryDraft, EventLog, ReadableLog, Record
from statemachine.log.reader import read

_BATCH: Final = 256

Hashes = dict[JobUid, list[str]]
"""For each job, the hashes of its entries in order."""


class NotTheSame(LogError):
    """The target has another entry than the source at some place."""


class Copied(NamedTuple):
    """The content of the target now, its entries before the copy, and the number of dead letters in the source."""

    jobs: int
    entries: int
    before: int
    letters: int = 0


async def copy(source: ReadableLog, target: Partitions) -> Copied:
    """Copies histories and dead letters of `source` to `target`, which may hold beginnings of them, and nothing else.

    Entries that no reader accepts are not copied, nor are snapshots: they are made again. This process has to be the
    writer of `target`.

    Raises:
        NotTheSame: `target` holds another history, or has not kept the copy. The message names job and entry.
        LogError: a log cannot be read or written now; another call goes on where this one ended.
    """
    there = await hashes(*target.logs)
    before = sum(map(len, there.values()))
    histories: Hashes = {}
    pending: dict[int, list[EntryDraft]] = {}
    async for batch in source.scan():
        for record in batch:
            if not _follows(record, histories):
                continue
            own = histories.setdefault(record.job, [])
            own.append(entry_hash(record.body))
            copied = there.get(record.job, [])
            if len(own) <= len(copied):
                _compare({record.job: own}, {record.job: copied[: len(own)]})
            else:
                number = target.number_of(record.job)
                draft = EntryDraft(record.job, record.seq, record.body, moved=True)
                pending.setdefault(number, []).append(draft)
        await _write(target.logs, pending, least=_BATCH)
    await _write(target.logs, pending, least=1)
    _compare(histories, await hashes(*target.logs))
    letters = await _letters(source, target)
    return Copied(len(histories), sum(map(len, histories.values())), before, letters)


async def _letters(source: ReadableLog, target: Partitions) -> int:
    """Copies the dead letters that `target` does not have. Returns how many `source` has."""
    there = Counter([_content(letter) for log in target.logs for letter in await log.dead_letters()])
    letters = await source.dead_letters()
    for letter in letters:
        if there[_content(letter)]:
            there[_content(letter)] -= 1
        else:
            await target.log_of(letter.job).add_dead_letter(letter)
    return len(letters)


def _content(letter: DeadLetter) -> tuple[datetime, JobUid, bytes, str]:
    return letter.at, letter.job, letter.observation, letter.error


async def hashes(*logs: ReadableLog) -> Hashes:
    """The hashes of the histories in these logs."""
    histories: Hashes = {}
    for log in logs:
        async for batch in log.scan():
            for record in batch:
                if _follows(record, histories):
                    histories.setdefault(record.job, []).append(entry_hash(record.body))
    return histories


def _follows(record: Record, histories: Mapping[JobUid, Sequence[str]]) -> bool:
    """A reader accepts the record: it is the next one and names the one before it, or is unreadable."""
    own = histories.get(record.job, ())
    if record.seq != len(own) + 1:
        return False
    try:
        return read(record).prev == (own[-1] if own else GENESIS)
    except EntryUnreadable:
        return True  # the job's readable history ends here, in the copy as well


async def _write(logs: Sequence[EventLog], pending: dict[int, list[EntryDraft]], *, least: int) -> None:
    for number, drafts in pending.items():
        while len(drafts) >= least:
            batch = drafts[:_BATCH]
            await logs[number].append(batch)
            del drafts[: len(batch)]


def _compare(histories: Hashes, copies: Hashes) -> None:
    for job in [*histories, *(job for job in copies if job not in histories)]:
        left, right = histories.get(job, []), copies.get(job, [])
        if left != right:
            raise NotTheSame(f"job {job}: entry {_first(left, right)} is not the same in both logs")


def _first(left: Sequence[str], right: Sequence[str]) -> Seq:
    """The number of the first entry that differs."""
    pairs = zip(left, right, strict=False)
    return next(
        (seq for seq, (mine, theirs) in enumerate(pairs, 1) if mine != theirs), min(len(left), len(right)) + 1
    )
