"""Jobs' lives, kept while somebody looks at them: their entries, states at any moment, and the timeline.

A life is read from the log once; after that only what was added is. States are kept at every few entries, so that a
slider over thousands of them answers at once.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from markupsafe import Markup

from jobledger.app import App
from jobledger.console.timeline.build import timeline
from jobledger.console.timeline.model import Timeline
from jobledger.console.timeline.scale import Scale
from projectors.explain import Explanation, Language, explain
from statemachine.errors import EntryUnreadable
from statemachine.evolve import fold
from statemachine.ids import JobUid, Seq
from statemachine.log.codec import decode
from statemachine.log.entry import Entry
from statemachine.log.port import Record
from statemachine.log.reader import Reader
from statemachine.state import JobState

KEPT: Final = 32
"""Lives that are kept; those that nobody looked at for the longest go."""

_EVERY: Final = 64
"""Entries between two kept states."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A picture without a cursor, drawn `at` a time of the first `count` entries."""

    picture: Markup
    scale: Scale
    count: int
    at: datetime


class Life:
    """A job as its entries tell it; those that cannot be read end it, and `doubt` says so."""

    def __init__(self, uid: JobUid) -> None:
        self.uid = uid
        self.doubt = ""
        self.entries: list[Entry] = []
        self.pictures: dict[Hashable, Kept] = {}
        self.messages: dict[Hashable, str] = {}
        """Of pods that have ended: their containers' termination messages."""
        self.last_lines: dict[Hashable, tuple[str, ...]] = {}
        """Of pods that have ended: what they wrote last."""
        self._explained: dict[Language, Explanation] = {}
        self._states: list[JobState] = [JobState(uid)]  # after 0, 64, 128 … entries
        self._reader = Reader()
        self._read: Seq = 0
        self._drawn: tuple[int, Timeline] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def read(self) -> Seq:
        """The last record that was looked at."""
        return self._read

    def add(self, record: Record) -> None:
        """One more record of the log."""
        self._read = max(self._read, record.seq)
        folded = self._reader.accept(record)
        if folded is None:
            tracked = self._reader.tracked(record.job)
            self.doubt = self.doubt or tracked.quarantined or tracked.suspicious
            return
        try:
            entry = decode(record.body)
        except EntryUnreadable as error:
            self.doubt = self.doubt or f"entry {record.seq}: {error.reason}"
            return
        if (len(self.entries) + 1) % _EVERY == 0:
            self._states.append(folded.state)  # first: pages are made beside the loop
        self.entries.append(entry)

    def state(self, count: int | None = None) -> JobState:
        """The state after the first `count` entries; None: after all."""
        count = len(self.entries) if count is None else count
        at = count // _EVERY
        found = self._states[at]
        for entry in self.entries[at * _EVERY : count]:
            found = fold(found, entry.events)
        return found

    def beginning(self, count: int) -> Sequence[Entry]:
        """The first `count` entries."""
        return self.entries[:count]

    def explained(self, language: Language) -> Explanation:
        """Why the job is as it is. Raises ValueError for a life without entries."""
        kept = self._explained.get(language)
        if kept is None or kept.entries != len(self.entries):
            kept = self._explained[language] = explain(self.entries, language)
        return kept

    def timeline(self) -> Timeline:
        """The picture's data. Raises ValueError for a life without entries."""
        if self._drawn is None or self._drawn[0] != len(self.entries):
            self._drawn = (len(self.entries), timeline(self.entries))
        return self._drawn[1]


class Lives:
    """The lives that are looked at."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._kept: OrderedDict[JobUid, Life] = OrderedDict()
        self._reading: dict[JobUid, asyncio.Lock] = {}

    async def of(self, uid: str) -> Life:
        """The life of the job as it stands now; empty for one that the log does not know."""
        job = JobUid(uid)
        lock = self._reading.setdefault(job, asyncio.Lock())
        try:
            async with lock:
                life = self._kept.get(job) or Life(job)
                async for batch in self._app.log_of(job).scan(job=job, after_seq=life.read):
                    for record in batch:
                        life.add(record)
                    await asyncio.sleep(0)  # a long life is long to decode, and others are waiting
                self._keep(job, life)
                return life
        finally:
            if not lock.locked():
                self._reading.pop(job, None)

    def _keep(self, job: JobUid, life: Life) -> None:
        self._kept[job] = life
        self._kept.move_to_end(job)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
