"""From one log to another: every entry that a reader would come to, byte for byte, and then looked at again.

The other may have another number of partitions: a job's entries are wholly in the one that it has there. The place
that an entry names is one among the observations of the first log; in the other it is marked as moved, and nobody
goes by its place.
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
from statemachine.log.port import DeadLetter, Draft, EventLog, ReadableLog, Record
from statemachine.log.reader import read

_BATCH: Final = 256

Hashes = dict[JobUid, list[str]]
"""Of each job, the hashes of its entries in their order."""


class NotTheSame(LogError):
    """The other log holds something else than the first at some place."""


class Copied(NamedTuple):
    """What is in the other log now, how many entries were there before, and how many dead letters the first has."""

    jobs: int
    entries: int
    before: int
    letters: int = 0


async def copy(source: ReadableLog, target: Partitions) -> Copied:
    """The histories in `source` are in `target`, which may hold the beginnings of some already, and nothing else.

    So are the dead letters. What no reader believes (an entry that does not follow) is left behind. Snapshots are
    left behind, too: they are made again. `target` is this process's to write.

    Raises:
        NotTheSame: `target` holds another history; or, at the end, not what was copied. It names job and entry.
        LogError: one of them cannot be read or written now; a repetition goes on where this one ended.
    """
    there = await hashes(*target.logs)
    before = sum(map(len, there.values()))
    wanted: Hashes = {}
    waiting: dict[int, list[Draft]] = {}
    async for batch in source.scan():
        for record in batch:
            if not _follows(record, wanted):
                continue
            own = wanted.setdefault(record.job, [])
            own.append(entry_hash(record.body))
            known = there.get(record.job, [])
            if len(own) <= len(known):
                _compare({record.job: own}, {record.job: known[: len(own)]})
            else:
                number = target.number_of(record.job)
                draft = Draft(record.job, record.seq, record.body, moved=True)
                waiting.setdefault(number, []).append(draft)
        await _write(target.logs, waiting, least=_BATCH)
    await _write(target.logs, waiting, least=1)
    _compare(wanted, await hashes(*target.logs))
    letters = await _letters(source, target)
    return Copied(len(wanted), sum(map(len, wanted.values())), before, letters)


async def _letters(source: ReadableLog, target: Partitions) -> int:
    """The dead letters of `source` are in `target`, those that were there before not again; how many they are."""
    there = Counter([_said(each) for log in target.logs for each in await log.dead_letters()])
    letters = await source.dead_letters()
    for each in letters:
        if there[_said(each)]:
            there[_said(each)] -= 1
        else:
            await target.log_of(each.job).add_dead_letter(each)
    return len(letters)


def _said(letter: DeadLetter) -> tuple[datetime, JobUid, bytes, str]:
    return letter.at, letter.job, letter.observation, letter.error


async def hashes(*logs: ReadableLog) -> Hashes:
    """The histories in these logs."""
    found: Hashes = {}
    for log in logs:
        async for batch in log.scan():
            for record in batch:
                if _follows(record, found):
                    found.setdefault(record.job, []).append(entry_hash(record.body))
    return found


def _follows(record: Record, known: Mapping[JobUid, Sequence[str]]) -> bool:
    """A reader comes to it: the next one that names the one before it, or that cannot be read at all."""
    own = known.get(record.job, ())
    if record.seq != len(own) + 1:
        return False
    try:
        return read(record).prev == (own[-1] if own else GENESIS)
    except EntryUnreadable:
        return True  # with it the job's readable history ends, in the copy as well


async def _write(logs: Sequence[EventLog], waiting: dict[int, list[Draft]], *, least: int) -> None:
    for number, drafts in waiting.items():
        while len(drafts) >= least:
            batch = drafts[:_BATCH]
            await logs[number].append(batch)
            del drafts[: len(batch)]


def _compare(wanted: Hashes, found: Hashes) -> None:
    for job in [*wanted, *(each for each in found if each not in wanted)]:
        left, right = wanted.get(job, []), found.get(job, [])
        if left != right:
            raise NotTheSame(f"job {job}: entry {_first(left, right)} is not the same in both logs")


def _first(left: Sequence[str], right: Sequence[str]) -> Seq:
    """Number of the first entry that is not in both."""
    pairs = zip(left, right, strict=False)
    return next(
        (seq for seq, (one, two) in enumerate(pairs, 1) if one != two), min(len(left), len(right)) + 1
    )
