"""Stores of very many jobs that are all alike: decided once, by the real rules, and written again and again."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

from statemachine.decide import decide
from statemachine.evolve import fold
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode_observation, encode_observation, encode_state, entry_hash
from statemachine.log.entry import GENESIS
from statemachine.log.port import UNUSABLE, EntryDraft, EventLog, Snapshot
from statemachine.log.sqlite import SqliteLog
from statemachine.observations import JobGone, JobObserved, Observation
from statemachine.phases import Phase
from statemachine.state import STATE_VERSION, JobState
from tests.bench.histories import API, KIND, START, Moment, history, life

_MODEL: Final = 999_999_999_999
"""The number of the job that is decided. It stands in its uid, its name and its pods' uids, and nowhere else."""

_RUNNING: Final = 9
"""Entries until the four pods of an ordinary job run."""

_AT_ONCE: Final = 5_000


class AlikeJobs:
    """The first `length` entries of a job's life (None: all), for any number of jobs; `state` is the model's then."""

    def __init__(self, moments: Sequence[Moment], length: int | None = None) -> None:
        past = moments[:length]
        self._entries = [(moment.draft.body, head) for moment, head in zip(past, _heads(past), strict=True)]
        self.state = _after(past[-1])
        self._state = encode_state(self.state)
        self._later = [encode_observation(moment.observation) for moment in moments[len(past) :]]

    @classmethod
    def running(cls) -> Self:
        """Jobs whose four pods run."""
        crowd = cls(list(history(_MODEL)), _RUNNING)
        assert crowd.state.phase is Phase.RUNNING
        return crowd

    @classmethod
    def gone(cls) -> Self:
        """Jobs of short lives: refused for their specs, then deleted."""
        uid = JobUid(f"00000000-0000-4000-8000-{_MODEL:012d}")
        begin = JobObserved(
            job=uid,
            at=START,
            api_version=API,
            kind=KIND,
            namespace="bench",
            name=f"job-{_MODEL}",
            generation=1,
            spec={},
        )
        end = JobGone(job=uid, at=START + timedelta(seconds=9))
        crowd = cls(list(life(uid, (begin, end))))
        assert crowd.state.closed
        return crowd

    def later(self, number: int) -> Iterator[Observation]:
        """What is observed next of job `number`, each of which changes something."""
        return (decode_observation(_numbered(body, number)) for body in self._later)

    async def write(self, log: EventLog, numbers: range) -> None:
        """The log has the jobs of these numbers at its end, and their snapshots."""
        for some in _parts(numbers):
            records = await log.append([draft for number in some for draft in self._drafts(number)])
        await self._save(log, numbers, records[-1].position)

    async def _save(self, log: EventLog, numbers: range, position: Position) -> None:
        for some in _parts(numbers):
            covers = position if some[-1] == numbers[-1] else 0
            await log.save_snapshots(covers, [self._snapshot(number) for number in some])

    def _drafts(self, number: int) -> Iterator[EntryDraft]:
        head = GENESIS
        for seq, (body, before) in enumerate(self._entries, 1):
            own = _numbered(body, number)
            if before:
                own = own.replace(before.encode(), head.encode(), 1)
            yield EntryDraft(_uid(number), seq, own)
            head = entry_hash(own)

    def _snapshot(self, number: int) -> Snapshot:
        seq = len(self._entries)
        if self.state.closed:
            return Snapshot(_uid(number), seq, "", UNUSABLE, b"", closed=True)
        *_, last = self._drafts(number)
        return Snapshot(last.job, seq, entry_hash(last.body), STATE_VERSION, _numbered(self._state, number))


class JobPast:
    """The past of one job, as the real rules decide it."""

    def __init__(self, uid: JobUid, observations: Iterable[Observation]) -> None:
        moments = list(life(uid, observations))
        self.drafts = [moment.draft for moment in moments]
        self.state = _after(moments[-1])

    def snapshot(self) -> Snapshot:
        """The state behind the last entry."""
        last = self.drafts[-1]
        return Snapshot(last.job, last.seq, entry_hash(last.body), STATE_VERSION, encode_state(self.state))


async def write_store(store: Path, live: int, ended: int) -> None:
    """A store with jobs that run, behind those that have ended and are gone; with snapshots."""
    log = await SqliteLog.open(store)
    try:
        if ended:
            await AlikeJobs.gone().write(log, range(live, live + ended))
        if live:
            await AlikeJobs.running().write(log, range(live))
    finally:
        await log.close()


def _after(moment: Moment) -> JobState:
    return fold(moment.before, decide(moment.before, moment.observation))


def _heads(moments: Iterable[Moment]) -> Iterator[str]:
    """The hash of the entry before each."""
    head = GENESIS
    for moment in moments:
        yield head
        head = entry_hash(moment.draft.body)


def _parts(numbers: range) -> Iterator[range]:
    return (numbers[start : start + _AT_ONCE] for start in range(0, len(numbers), _AT_ONCE))


def _uid(number: int) -> JobUid:
    return JobUid(f"00000000-0000-4000-8000-{number:012d}")


def _numbered(body: bytes, number: int) -> bytes:
    return body.replace(b"%012d" % _MODEL, b"%012d" % number)
