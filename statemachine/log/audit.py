"""The audit of a log: finds every record that does not belong where it stands."""

from collections.abc import Iterable, Sequence

from statemachine.errors import EntryUnreadable
from statemachine.ids import JobUid, Seq
from statemachine.log.codec import entry_hash
from statemachine.log.entry import GENESIS, Entry, EntryEvents
from statemachine.log.port import Record
from statemachine.log.reader import Skipped, misnumbered, read, unchained


class Verifier:
    """Checks records in log order: readable, numbered without holes, each naming the one before it by hash.

    A flaw is reported once: entries that follow a refused one, and name it rightly, are its branch, and are no flaws
    of their own. So a changed entry shows as one broken link, not as everything behind it. A chain cannot show that
    the end of a history was changed or cut off, or that all of it was rewritten: compare `heads` with copies of them.
    """

    def __init__(self) -> None:
        self.heads: dict[JobUid, tuple[Seq, str]] = {}
        """For each job, number and hash of the last entry that belongs."""
        self._branches: dict[JobUid, set[str]] = {}

    def check(self, record: Record, entry: Entry | EntryEvents | None = None) -> Skipped | None:
        """What is wrong with the record; None if it belongs. `entry` is its content, if the caller has read it."""
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
        is_known = prev in branch
        branch.add(own)
        if is_known:
            return None
        wrong = unchained(last) if record.seq == last + 1 else misnumbered(record.seq, last)
        return _flaw(record, wrong)

    def _unreadable(self, record: Record, own: str, reason: str) -> Skipped:
        """Adds the unreadable bytes to the chain: the next entry may name their hash."""
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
