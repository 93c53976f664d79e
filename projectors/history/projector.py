"""Entries of the log → rows of the history view."""

from collections.abc import Iterator, Sequence

from projectors.history.database import (
    ADD_ENTRY,
    LABEL,
    LIST,
    MOVE,
    PUT_JOB,
    UNLABEL,
    UNLIST,
    Database,
    Reached,
    Row,
    Statement,
)
from projectors.history.facts import facts
from projectors.history.phrases import summary
from projectors.history.queries import History
from projectors.history.resuming import PastStates
from statemachine.budget import budget
from statemachine.errors import ConfigError, ViewUnavailable
from statemachine.ids import JobUid, Position
from statemachine.log.codec import decode_brief
from statemachine.log.entry import EntryBrief
from statemachine.log.port import EventLog, Record
from statemachine.log.reader import Reader
from statemachine.redact import redacted_text
from statemachine.state import JobState

BATCH = 200
"""Entries in one transaction: in a store that holds the log, too, its appends wait while it is made."""

Step = tuple[Record, EntryBrief, JobState]
"""A record that a reader accepted, the entry in it, and its job's state behind it."""


class HistoryProjector:
    """A stream projector: the tables in `database` follow `log`, which is partition number `partition` of a ledger.

    It writes rows and the position that they reach in one transaction, so every entry is in the view once, in spite
    of crashes and of other projectors of the same partition. `part` is added to the name of one of several.
    """

    def __init__(self, log: EventLog, database: Database, partition: int = 0, part: str = "") -> None:
        self.name = "history" + part
        self.history = History(database)
        self._log, self._database, self._partition = log, database, partition
        self._reader: Reader | None = None
        self._beside: Reader | None = None
        self._past = PastStates(log, database, partition, 0)

    async def advance(self) -> None:
        """The view is at the end of the log as it was when this was called.

        Raises:
            LogUnavailable: the log, or a store with the tables, is out of reach.
            ViewUnavailable: the database is out of reach, or refuses the user.
        """
        try:
            while not await self._followed():
                self.forget()
        except ConfigError as error:  # the configuration was valid at the start, and may become valid again
            raise ViewUnavailable(str(error)) from error

    def stand_beside(self, reader: Reader) -> None:
        """`reader`, which another part brings on, saves this projector the first read of the log."""
        self._beside = reader

    def forget(self) -> None:
        """Drops what is remembered of the view: another process may bring it further."""
        self._reader = None

    async def _followed(self) -> bool:
        """Brings the view to the end of the log; False if somebody put it back meanwhile."""
        rested_at = self._reader.position if self._reader else None
        reader = self._reader or await self._start()
        self._reader = None  # if the rest fails half-way, it is ahead of the rows, and they may be gone
        async for batch in self._log.scan(reader.position):
            for start in range(0, len(batch), BATCH):
                if not await self._take(reader, batch[start : start + BATCH]):
                    return False
        if rested_at == reader.position and await self.history.position(self._partition) < rested_at:
            return False  # a change of the view would have said so, but the log has nothing new
        self._reader = reader
        return True

    async def _start(self) -> Reader:
        await self._database.prepare()
        reached = await self.history.position(self._partition)
        end = await self._log.end()
        if reached > end:
            raise ViewUnavailable(
                f"the history in {self._database} is at position {reached} of partition {self._partition}, and the "
                f"log ends at {end}: it was made from another log; `jobledger history --rebuild` makes it anew"
            )
        self._past = PastStates(self._log, self._database, self._partition, reached)
        if self._beside is not None and self._beside.position == reached:
            return self._beside.copy(decode_brief)
        return await self._past.resume()

    async def _take(self, reader: Reader, records: Sequence[Record]) -> bool:
        """Puts `records` into the view; False if it ends before they begin, or before what it said of their jobs."""
        await self._past.know(reader, {record.job for record in records})
        since = max(reader.position, self._past.seen)
        steps: list[Step] = []
        for record in records:
            folded = reader.accept(record)
            if folded and isinstance(folded.entry, EntryBrief):
                steps.append((record, folded.entry, folded.state))
        fits = True

        def change(reached: Reached) -> Sequence[Statement]:
            nonlocal fits
            fits = reached.position >= since
            return self._statements(steps, reader.position, reached) if fits else ()

        await self._database.change(self._partition, change)
        reader.forget_closed()
        return fits

    def _statements(self, steps: Sequence[Step], upto: Position, reached: Reached) -> Sequence[Statement]:
        """The statements that put `steps` into the view, in log order, without those that it holds already."""
        new = [step for step in steps if step[0].position > reached.position]
        latest = reached.latest
        begun: dict[JobUid, Row] = {}
        last: dict[JobUid, Step] = {}
        for record, entry, state in new:
            if record.job not in begun:
                # a clock that was set back does not change the order of jobs: it is that of the log
                began_at = max(latest, entry.seen_at)
                latest = began_at if record.seq == 1 else latest
                begun[record.job] = (began_at, self._partition, record.position)
            last[record.job] = (record, entry, state)  # one row a job and batch, however many entries
        here = [step for step in last.values() if not step[2].closed]
        relabelled = {
            entry.job for _, entry, _ in new if any(event.type == "LabelsChanged" for event in entry.events)
        }
        labelled = [state for _, _, state in last.values() if state.closed or state.uid in relabelled]
        return [
            Statement(ADD_ENTRY, [(self._partition, *_entry_row(step)) for step in new]),
            Statement(PUT_JOB, [(*_job_row(step), *begun[job]) for job, step in last.items()]),
            Statement(LIST, [facts(step[2], step[1].seen_at) for step in here]),
            Statement(UNLIST, [(step[2].uid,) for step in last.values() if step[2].closed]),
            Statement(UNLABEL, [(state.uid,) for state in labelled]),
            Statement(LABEL, [row for state in labelled for row in _label_rows(state)]),
            Statement(MOVE, [(self._partition, max(upto, reached.position), latest)]),
        ]


def _job_row(step: Step) -> Row:
    record, entry, state = step
    return (
        *(state.uid, state.api_version, state.kind, state.namespace, state.name, state.phase.value),
        *(state.created_at, state.started_at, state.completed_at),
        *(state.deleted, budget(state).used, state.plan.scale if state.plan else 0),
        *(record.seq, entry.seen_at),
    )


def _entry_row(step: Step) -> Row:
    record, entry, state = step
    return (
        *(record.position, record.job, record.seq, entry.seen_at, entry.happened_at, _text(entry.actor)),
        *(entry.cause.type, state.phase.value),
        *([event.type for event in entry.events], _text(redacted_text(summary(entry.events)))),
        entry.actor_source.value,
    )


def _label_rows(state: JobState) -> Iterator[Row]:
    """The rows of a job's labels; a closed job has none."""
    for key, value in state.labels.items():
        yield state.uid, _text(key), _text(value)


def _text(text: str) -> str:
    """The text without the character zero, which PostgreSQL cannot hold."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
