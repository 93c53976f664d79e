"""The error tree.

JobledgerError                 fields rather than prose; `.retryable` says whether trying again may help
├── SpecInvalid                all problems of a manifest at once
├── LogError
│   ├── SeqConflict            somebody else wrote this seq: fold theirs in, decide again
│   ├── LogUnavailable         retryable: locked, out of reach
│   │   └── StoreFull          no space is left where the store is
│   ├── OwnerLost              the log has to be opened anew, if it is still ours to write
│   ├── Hole                   observations were left out on their way: read them again
│   ├── StoreInUse             another process owns the store
│   ├── StoreUnusable          unreadable, read-only, damaged, or of another version
│   └── EntryUnreadable        a record that cannot be decoded, with its bytes
├── ClusterError
│   ├── ClusterUnavailable     retryable: 429, 5xx, time-outs
│   ├── Conflict · Missing · Expired       409 · 404 · 410
│   ├── LeaseLost              another process has taken over
│   └── Refused                the cluster said no: comes back as an observation
├── ViewUnavailable            retryable: the database of a view is out of reach
├── ConfigError                at start, before anything is opened
└── InvariantBroken            our bug: loud, never handled
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a manifest.

    `path` is the field's path from the manifest's root (`spec.replicaSpecs[0].replicas`), empty for the
    whole; `text` is the sentence without the path; `rule` the spec's rule id, empty for YAML and kind errors.
    """

    rule: str
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class JobledgerError(Exception):
    """Root of everything that jobledger raises on purpose."""

    retryable: ClassVar[bool] = False


class SpecInvalid(JobledgerError):
    """A manifest breaks rules; carries every problem found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


class LogError(JobledgerError):
    """Something about the event log or the store that holds it."""


class SeqConflict(LogError):
    """An entry's `seq` is taken: the log holds `found` entries of `job` already."""

    retryable = True

    def __init__(self, job: str, seq: int, last: int) -> None:
        super().__init__(f"job {job}: entry {seq} refused, the log is at {last}")
        self.job, self.seq, self.found = job, seq, last


class LogUnavailable(LogError):
    """The log cannot be reached or written now; nothing was lost, try again."""

    retryable = True


class StoreFull(LogUnavailable):
    """No space is left for the store at `path`: what is to be written waits until somebody frees some."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"no space is left for store {path}; nothing was lost: free some, and writing goes on"
        )
        self.path = path


class OwnerLost(LogError):
    """Somebody else writes this log now, or it is not known whether the last append took effect.

    The writer that still has the right opens the log anew and reads what is in it.
    """


class Hole(LogError):
    """Of a partition's observations, place `expected` should have come, and `found` did: read it again."""

    retryable = True

    def __init__(self, partition: int, expected: int, place: int) -> None:
        super().__init__(f"partition {partition}: observation {place} came where {expected} should have")
        self.partition, self.expected, self.found = partition, expected, place


class StoreInUse(LogError):
    """Another process has the store open for writing."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(f"store {path} is in use by {holder}; stop it first, or choose another with --store")
        self.path, self.holder = path, holder


class StoreUnusable(LogError):
    """The store cannot serve: the message says what is wrong and what to do."""


class EntryUnreadable(LogError):
    """A record of the log that cannot be decoded; `body` holds its bytes as found."""

    def __init__(self, reason: str, body: bytes) -> None:
        super().__init__(reason)
        self.reason, self.body = reason, body


class ClusterError(JobledgerError):
    """A call to the cluster did not do what was asked."""


class ClusterUnavailable(ClusterError):
    """429, 5xx, a time-out: nothing is known to have happened. `retry_after` is in seconds."""

    retryable = True

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Conflict(ClusterError):
    """409: the object is there already, or is not the one (uid, version) the caller spoke of.

    `exists` tells the first from the second.
    """

    def __init__(self, message: str, *, exists: bool = False) -> None:
        super().__init__(message)
        self.exists = exists


class Missing(ClusterError):
    """404: there is no such object."""


class Expired(ClusterError):
    """410: the position to watch from is too old; list again."""


class LeaseLost(ClusterError):
    """Another process does now what only one at a time should do."""


class Refused(ClusterError):
    """The cluster will not take the object: `status` (HTTP), `reason` and message as the server gave them."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


class ViewUnavailable(JobledgerError):
    """The database of a view cannot be read or written now. Whatever it lacks is in the log, try again."""

    retryable = True


class ConfigError(JobledgerError):
    """A setting, an argument or the installation is wrong; found before anything is opened."""


class InvariantBroken(JobledgerError):
    """Something that cannot happen did: a bug of jobledger."""


def first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first, out of groups in groups: the rest followed from it."""
    failure = group.exceptions[0]
    return first(failure) if isinstance(failure, BaseExceptionGroup) else failure
