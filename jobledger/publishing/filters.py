"""Which public events somebody wants. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from jobledger.program.errors import nearest
from jobledger.settings.values import duration
from k8s_bridge.selectors import Selector
from projectors.contract.catalogue import CATALOGUE, short_name
from projectors.contract.page import PublicEvent
from projectors.contract.stream import PublishedEntry
from statemachine.errors import ConfigError

_SHORTEST_UID: Final = 4


class Wanted(NamedTuple):
    """Events of this job, of these types, in this namespace, of jobs with these labels, recorded in this span."""

    job: str = ""
    types: tuple[str, ...] = ()
    namespace: str = ""
    selector: Selector = Selector()
    since: datetime | None = None
    until: datetime | None = None

    def of(self, published: PublishedEntry) -> Sequence[PublicEvent]:
        """Those of the entry that are wanted."""
        return [event for event in published.events if self._has(event)] if self._covers(published) else ()

    def names(self, published: PublishedEntry) -> bool:
        """The entry is of a job of the name and namespace that are wanted, whatever else is."""
        state = published.state
        return (not self.namespace or state.namespace == self.namespace) and (
            not self.job or self._names(state.namespace, state.name, state.uid)
        )

    def _covers(self, published: PublishedEntry) -> bool:
        entry, state = published.entry, published.state
        return (
            self.names(published)
            and (self.since is None or entry.seen_at >= self.since)
            and (self.until is None or entry.seen_at < self.until)
            and all(requirement.is_met_by(state.labels) for requirement in self.selector.requirements)
        )

    def _names(self, namespace: str, name: str, uid: str) -> bool:
        where, slash, of = self.job.rpartition("/")
        is_named = name == of and (not slash or namespace == where)
        return is_named or self.begins(uid)

    def begins(self, uid: str) -> bool:
        """The job that is wanted is named by the beginning of this uid."""
        return len(self.job) >= _SHORTEST_UID and uid.startswith(self.job)

    def _has(self, event: PublicEvent) -> bool:
        name = short_name(str(event.attributes["type"]))
        return not self.types or any(fnmatchcase(name, pattern) for pattern in self.types)


class Sought:
    """Says whether the log has a job that `wanted` names, from all entries that are given to it."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._is_open = bool(wanted.job)
        self._others: set[str] = set()

    def take(self, published: PublishedEntry) -> None:
        """One more entry, whether or not its events are wanted."""
        if self._is_open and self._wanted.names(published):
            self._is_open = False
            self._others.clear()
        elif self._is_open:
            self._others |= {published.state.name, f"{published.state.namespace}/{published.state.name}"}

    def missing(self, held: Iterable[str], *, follows: bool) -> str:
        """A sentence where the log ends without the job; empty if it has it, or said so before.

        A job is there as well if its uid is among the `held`, of which nothing can be published.
        """
        if not self._is_open or any(map(self._wanted.begins, held)):
            return ""
        self._is_open = False
        where = f' in namespace "{self._wanted.namespace}"' if self._wanted.namespace else ""
        if follows:
            return f'the log has no job "{self._wanted.job}"{where} yet; events follow once there is one'
        near = nearest(self._wanted.job, sorted(self._others))
        hint = f'did you mean "{near}"?' if near else "`jobledger get -A` lists all jobs"
        return f'the log has no job "{self._wanted.job}"{where}; {hint}'


def types_of(patterns: Sequence[str]) -> tuple[str, ...]:
    """The patterns by the names of the catalogue. Raises ConfigError for one that means no type."""
    wanted = tuple(map(short_name, patterns))
    for pattern in wanted:
        if not any(fnmatchcase(public_type.name, pattern) for public_type in CATALOGUE):
            raise ConfigError(
                f'--type "{pattern}" is no type of public event; `jobledger events schema` lists all'
            )
    return wanted


def moment_of(flag: str, text: str) -> datetime | None:
    """An RFC 3339 time, or a while ago such as `-5m`; None for nothing. Raises ConfigError."""
    if not text:
        return None
    try:
        if text.startswith("-"):
            return datetime.now(UTC) - duration(text[1:])
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(
            f'{flag} "{text}" is no time: give one such as 2024-05-17T09:30:00Z, or a while ago such as -5m'
        ) from None
