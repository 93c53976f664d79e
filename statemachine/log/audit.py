"""The auditor's reading of a log: every record that does not belong where it stands, and nothing else."""

from collections.abc import Iterable, Sequence

from statemachine.errors import EntryUnreadable
from statemachine.ids import JobUid, Seq
from statemachine.log.codec import entry_hash
from statemachine.log.entry import GENESIS, Entry, EntryEvents
from statemachine.log.port import Record
from statemachine.log.reader import Skipped, misnumbered, read, unchained


class Verifier:
    """Checks records in log order: readable, numbered without holes, each naming the one before it by hash.

    A flaw is told once: what was written on top of a refused entry, and names it rightly, is its branch and
    is not told again. So a changed entry shows as the one link that broke, not as everything behind it. That
    the end of a history was changed or cut off, or all of it written anew, no chain can tell by itself:
    compare `heads` with those noted elsewhere.
    """

    def __init__(self) -> None:
        self.heads: dict[JobUid, tuple[Seq, str]] = {}
        """Of each job: number and hash of the last entry that belongs."""
        self._branches: dict[JobUid, set[str]] = {}

    def check(self, record: Record, entry: Entry | EntryEvents | None = None) -> Skipped | None:
        """What is wrong with the record, None if it belongs. `entry` is what is in it, if somebody has read it."""
        last, head = self.heads.get(record.job, (0, GENESIS))
        own = entry_hash(record.body)
        try:
            prev = (entry or read(record)).prev
        except EntryUnreadable as error:
            return self._unreadable(record, own, error.reason)
        if prev == head and record.seq == last + 1:
            self.heads[record.job] = record.seq, own
            return None
        branch = self._branches.setdefault(record.job, set())
        known = prev in branch
        branch.add(own)
        if known:
            return None
        wrong = unchained(last) if record.seq == last + 1 else misnumbered(record.seq, last)
        return _flaw(record, wrong)

    def _unreadable(self, record: Record, own: str, reason: str) -> Skipped:
        """The next entry may still vouch for these bytes: it names their hash."""
        last, _ = self.heads.get(record.job, (0, GENESIS))
        if record.seq == last + 1:
            self.heads[record.job] = record.seq, own
        return _flaw(record, reason)


def verify(records: Iterable[Record]) -> Sequence[Skipped]:
    """The flaws of a whole log, or of whole histories out of it; empty if there are none."""
    verifier = Verifier()
    return [flaw for record in records if (flaw := verifier.check(record))]


def _flaw(record: Record, reason: str) -> Skipped:
    return Skipped(record.position, record.job, record.seq, reason)
