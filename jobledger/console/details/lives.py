"""Jobs' lives, kept while somebody looks at them: their entries, states at any moment, the answer, and the timeline.

A life is read from the log once; after that only what was added is. Each step of it goes into everything that pages
make of it. States are kept at every few entries, so that a slider over thousands of them answers at once.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from markupsafe import Markup

from jobledger.console.timeline.build import Drawing
from jobledger.console.timeline.model import Timeline
from jobledger.console.timeline.scale import Scale
from jobledger.jobs.attempts import Attempt, attempts
from jobledger.service.app import App
from projectors.explain import Chronicle, Explanation, Language, explanation
from statemachine.evolve import fold
from statemachine.ids import JobUid, Seq
from statemachine.log.entry import Entry
from statemachine.log.life import Life, LifeStep, retold
from statemachine.log.port import Record
from statemachine.state import JobState

KEPT: Final = 32
"""Lives that are kept; those that nobody looked at for the longest go."""

_EVERY: Final = 64
"""Entries between two kept states."""


@dataclass(frozen=True, slots=True)
class KeptPicture:
    """A picture without a cursor, drawn `at` a time of the first `count` entries."""

    picture: Markup
    scale: Scale
    count: int
    at: datetime


class KeptLife:
    """A job as its entries tell it; those that cannot be read end it, and `doubt` says so.

    Pages are made in threads beside the one that adds. `entries` and the kept states only grow; what is shown of all
    of them together is asked for and added to in turns.
    """

    def __init__(self, uid: JobUid) -> None:
        self.uid = uid
        self.doubt = ""
        self.entries: list[Entry] = []
        self.pictures: dict[Hashable, KeptPicture] = {}
        self.messages: dict[Hashable, str] = {}
        """Of pods that have ended: their containers' termination messages."""
        self.last_lines: dict[Hashable, tuple[str, ...]] = {}
        """Of pods that have ended: what they wrote last."""
        self._life = Life(uid)
        self._read: Seq = 0
        self._states: list[JobState] = [JobState(uid)]  # after 0, 64, 128 … entries
        self._turn = threading.Lock()
        self._chronicle = Chronicle()
        self._drawing = Drawing()
        self._explained: dict[Language, tuple[int, Explanation]] = {}
        self._drawn: tuple[int, Timeline] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def read(self) -> Seq:
        """The last record that was looked at."""
        return self._read

    def add(self, records: Iterable[Record]) -> None:
        """More records of the log."""
        for record in records:
            with self._turn:
                self._add(record)

    def _add(self, record: Record) -> None:
        self._read = max(self._read, record.seq)
        step = self._life.add(record)
        if step.entry is None or not step.whole:
            self.doubt = self.doubt or self._doubt(record, step)
            return
        if (len(self.entries) + 1) % _EVERY == 0:
            self._states.append(step.state)  # first: who sees the entry needs the state before it
        self.entries.append(step.entry)
        self._chronicle.take(step)
        self._drawing.take(step)

    def _doubt(self, record: Record, step: LifeStep) -> str:
        """Why nothing can be read beyond the record; empty where it casts no doubt on the job."""
        tracked = self._life.tracked
        untold = f"entry {record.seq}: {step.fault}" if step.events else ""
        return tracked.quarantined or tracked.suspicious or untold

    def state(self, count: int | None = None) -> JobState:
        """The state after the first `count` entries; None: after all."""
        count = len(self.entries) if count is None else count
        at = count // _EVERY
        state = self._states[at]
        for entry in self.entries[at * _EVERY : count]:
            state = fold(state, entry.events)
        return state

    def steps(self, first: int, last: int) -> Iterator[LifeStep]:
        """The steps number `first` to `last`, folded from the kept state before them."""
        at = (first - 1) // _EVERY
        steps = retold(self._states[at], self.entries[at * _EVERY : last])
        return islice(steps, first - 1 - at * _EVERY, None)

    def attempts(self) -> list[Attempt]:
        """Every pod of the job, oldest first."""
        return attempts(entry.events for entry in self.entries)

    def explained(self, language: Language) -> Explanation:
        """Why the job is as it is. Raises ValueError for a life without entries."""
        with self._turn:
            known = self._explained.get(language)
            if known is None or known[0] != len(self.entries):
                known = len(self.entries), explanation(self._chronicle, language)
                self._explained[language] = known
            return known[1]

    def timeline(self) -> Timeline:
        """The picture's data. Raises ValueError for a life without entries."""
        with self._turn:
            if self._drawn is None or self._drawn[0] != len(self.entries):
                self._drawn = (len(self.entries), self._drawing.timeline(self._chronicle))
            return self._drawn[1]


class Lives:
    """The lives that are looked at."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._kept: OrderedDict[JobUid, KeptLife] = OrderedDict()
        self._reading: dict[JobUid, asyncio.Lock] = {}

    async def of(self, uid: str) -> KeptLife:
        """The life of the job as it stands now; empty for one that the log does not know."""
        job = JobUid(uid)
        lock = self._reading.setdefault(job, asyncio.Lock())
        try:
            async with lock:
                life = self._kept.get(job) or KeptLife(job)
                async for batch in self._app.log_of(job).scan(job=job, after_seq=life.read):
                    await asyncio.to_thread(life.add, batch)  # a long life is long to decode
                self._keep(job, life)
                return life
        finally:
            if not lock.locked():
                self._reading.pop(job, None)

    def _keep(self, job: JobUid, life: KeptLife) -> None:
        self._kept[job] = life
        self._kept.move_to_end(job)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
