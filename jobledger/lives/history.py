"""Everything that a log holds of one job, and what it says.

Whatever is wrong with one job's history is said of that job; all others stay readable.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from jobledger.lives.lookup import Known, candidates, chosen, known_jobs, others
from jobledger.lives.point_in_time import NOW, Moment
from jobledger.program.errors import UnknownJob
from statemachine.ids import Seq
from statemachine.log.codec import entry_hash
from statemachine.log.entry import Entry
from statemachine.log.life import Life, LifeStep, records_of
from statemachine.log.port import ReadableLog, Record
from statemachine.phases import Phase
from statemachine.state import JobState


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A record of a job's history: its entry and the phase after it, or why it does not count (`fault`)."""

    record: Record
    entry: Entry | None
    phase: Phase
    fault: str = ""

    @property
    def hash(self) -> str:
        """What the next entry has to name."""
        return entry_hash(self.record.body)


@dataclass(frozen=True, slots=True)
class HistoryReading:
    """What the records of a job say, from the first on.

    `entries` are those that can be read, up to the moment that was asked for; `state` is the one after them. `last`:
    the number of the last record that counts. `doubt`: why the history cannot be read to its end; empty if it can.
    """

    lines: tuple[HistoryLine, ...]
    entries: tuple[Entry, ...]
    state: JobState
    last: Seq
    doubt: str


@dataclass(frozen=True, slots=True)
class JobHistory:
    """Everything that the log holds of a job, in log order. `note`: whom else the name could have meant."""

    job: Known
    records: tuple[Record, ...]
    note: str = ""

    def read(self, take: Callable[[LifeStep], None] = lambda _: None, moment: Moment = NOW) -> HistoryReading:
        """The records are read, each once; `take` is given what can be shown up to the `moment`.

        Raises:
            ConfigError: it is no moment of the job's.
        """
        life, lines, entries = Life(self.job.uid), list[HistoryLine](), list[Entry]()
        still, state = True, life.tracked.state
        for record in self.records:
            step = life.add(record)
            lines.append(HistoryLine(record, step.entry, step.state.phase, step.fault))
            if step.entry is None or not step.whole:
                continue
            entries.append(step.entry)
            still = still and moment.covers(step.entry)
            if still:
                state = step.state
                take(step)
        known = moment.count(entries, str(self.job)) if entries else 0
        return HistoryReading(
            tuple(lines), tuple(entries[:known]), state, life.tracked.seq, self._doubt(lines)
        )

    def _doubt(self, lines: Sequence[HistoryLine]) -> str:
        if not lines:  # known by its saved state alone, as where entries were deleted, or not restored
            return f"the log holds none of its entries, only its state as saved after entry {self.job.seq}"
        return next((f"entry {line.record.seq}: {line.fault}" for line in lines if line.fault), "")


async def find(log: ReadableLog, job: str, *, namespace: str, uid: str, kind: str = "") -> JobHistory:
    """The history of the job that is meant.

    Where the log finds jobs, only first entries are read for it, and then those of this job. Where it does not
    (Kafka), and to say what else there is when there is no such job, all jobs are looked at. Raises what `chosen`
    raises.
    """
    jobs = await candidates(log, job, uid)
    with suppress(UnknownJob):
        return await _history_of(log, jobs, job, namespace=namespace, uid=uid, kind=kind)
    return await _history_of(log, await known_jobs(log), job, namespace=namespace, uid=uid, kind=kind)


async def _history_of(
    log: ReadableLog, jobs: Sequence[Known], job: str, *, namespace: str, uid: str, kind: str
) -> JobHistory:
    meant = chosen(jobs, job, namespace=namespace, uid=uid, kind=kind)
    return await history(log, meant, "" if uid else others(jobs, job, namespace=namespace, kind=kind))


async def history(log: ReadableLog, job: Known, note: str = "") -> JobHistory:
    """Everything that the log holds of `job`, from its first entry on: no snapshot is trusted."""
    return JobHistory(job, await records_of(log, job.uid), note)
