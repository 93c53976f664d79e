"""Which public events somebody wants. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

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

    def _covers(self, published: PublishedEntry) -> bool:
        entry, state = published.entry, published.state
        return (
            (not self.namespace or state.namespace == self.namespace)
            and (not self.job or self._names(state.namespace, state.name, state.uid))
            and (self.since is None or entry.seen_at >= self.since)
            and (self.until is None or entry.seen_at < self.until)
            and all(requirement.is_met_by(state.labels) for requirement in self.selector.requirements)
        )

    def _names(self, namespace: str, name: str, uid: str) -> bool:
        where, slash, of = self.job.rpartition("/")
        is_named = name == of and (not slash or namespace == where)
        return is_named or (len(self.job) >= _SHORTEST_UID and uid.startswith(self.job))

    def _has(self, event: PublicEvent) -> bool:
        name = short_name(str(event.attributes["type"]))
        return not self.types or any(fnmatchcase(name, pattern) for pattern in self.types)


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
