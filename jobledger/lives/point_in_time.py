"""Moments in a job's history: the number of an entry, a time, or a while ago."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Final, Self

from statemachine.errors import ConfigError
from statemachine.ids import Seq
from statemachine.log.entry import Entry


@dataclass(frozen=True, slots=True)
class Moment:
    """After entry `seq`, or as far as things were known at `time`; both None: now."""

    seq: Seq | None = None
    time: datetime | None = None

    @classmethod
    def parse(cls, text: str, now: datetime | None = None) -> Self:
        """`12`, `2024-05-17T09:30:00Z` (UTC where it says no zone) or `-5m`; empty is now.

        Raises:
            ConfigError: it is none of them.
        """
        text = text.strip()
        if not text:
            return cls()
        if text.isascii() and text.isdigit() and len(text) < 10:
            return cls(seq=int(text))
        try:
            if text.startswith("-"):
                return cls(time=_ago(text[1:], now or datetime.now(UTC)))
            at = datetime.fromisoformat(text)
            return cls(time=(at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC))
        except (ValueError, OverflowError):
            raise ConfigError(
                f'--at "{text}" is no moment: give the number of an entry, '
                "a time such as 2024-05-17T09:30:00Z, or a while ago such as -5m or -1h30m"
            ) from None

    def covers(self, entry: Entry) -> bool:
        """The entry was known then, as far as it alone can tell: the first that was not ends the past.

        So a past is a whole beginning, even where a clock was set back behind the moment.
        """
        if self.seq is not None:
            return entry.seq <= self.seq
        return self.time is None or entry.seen_at <= self.time

    def count(self, entries: Sequence[Entry], job: str) -> int:
        """How many of `entries`, which are a job's from the first on, were known then.

        Raises:
            ConfigError: the job had no entry then, or has fewer than that.
        """
        if self.seq is not None:
            if not 1 <= self.seq <= len(entries):
                raise ConfigError(f"--at {self.seq}: {job} has the entries 1 to {len(entries)}")
            return self.seq
        if self.time is None:
            return len(entries)
        count = sum(1 for _ in takewhile(self.covers, entries))
        if not count:
            first = entries[0].seen_at.strftime("%Y-%m-%dT%H:%M:%SZ")
            raise ConfigError(f"--at: {job} was not known then; its first entry is of {first}")
        return count


NOW: Final = Moment()


def _ago(text: str, now: datetime) -> datetime:
    from jobledger.settings.values import duration

    return now - duration(text)
