"""Which public events a reader of a server wants, and may see. Judged by their envelopes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from jobledger.publishing.cursors import unusable
from jobledger.publishing.public_stream import PlacedEvent
from k8s_bridge.selectors import EVERYTHING, Selector
from projectors.contract.catalogue import CATALOGUE, Severity, short_name
from statemachine.errors import ConfigError
from statemachine.ids import JobUid

_SHORTEST_UID: Final = 4

Envelope = Mapping[str, str | int]

Labels = Callable[[JobUid], Awaitable[Mapping[str, str] | None]]
"""The labels that a job has now, or had at its end; None of a job that is not known."""

Visible = Callable[[Envelope], Awaitable[bool]]
"""The reader may list the job that the event is about."""


class Criteria(NamedTuple):
    """What is wanted: types, namespace, kinds, job, labels of the job as it is now, least severity."""

    types: tuple[str, ...] = ()
    namespace: str = ""
    kinds: frozenset[str] = frozenset()
    job: str = ""
    selector: Selector = EVERYTHING
    severity: int = 0

    def meets(self, envelope: Envelope) -> bool:
        """The event is wanted, whatever the labels of its job are."""
        return (
            int(envelope["severitynumber"]) >= self.severity
            and (not self.namespace or envelope["namespace"] == self.namespace)
            and (not self.kinds or envelope["kind"] in self.kinds)
            and (not self.job or self._names(envelope))
            and (not self.types or self._has(short_name(str(envelope["type"]))))
        )

    def _has(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.types)

    def _names(self, envelope: Envelope) -> bool:
        where, slash, name = self.job.rpartition("/")
        is_named = envelope["name"] == name and (not slash or envelope["namespace"] == where)
        uid = str(envelope["partitionkey"])
        return is_named or (len(self.job) >= _SHORTEST_UID and uid.startswith(self.job))


class Selection:
    """Chooses events by `criteria`, of those that are `visible`."""

    def __init__(self, criteria: Criteria, visible: Visible, labels: Labels) -> None:
        self._criteria, self._visible, self._labels = criteria, visible, labels

    async def has(self, placed: PlacedEvent[Any]) -> bool:
        """The event goes to the reader. Raises ClusterUnavailable when nobody can say."""
        envelope = placed.event.attributes
        return (
            self._criteria.meets(envelope)
            and await self._visible(envelope)
            and await self._labelled(envelope)
        )

    async def _labelled(self, envelope: Envelope) -> bool:
        selector = self._criteria.selector
        if not selector:
            return True
        labels = await self._labels(JobUid(str(envelope["partitionkey"])))
        return labels is not None and selector.selects({"labels": labels})


def types_in(patterns: Sequence[str]) -> tuple[str, ...]:
    """The patterns by the names of the catalogue. Raises ConfigError for one that means no type."""
    wanted = tuple(map(short_name, patterns))
    for pattern in wanted:
        if not any(fnmatchcase(public_type.name, pattern) for public_type in CATALOGUE):
            raise ConfigError(
                f'"{pattern:.100}" is no type of public event; /v1/contract has those that there are, such as '
                "job.failed, and replica.* means all of replicas"
            )
    return wanted


def severity_in(text: str) -> int:
    """The number of the severity that is called so; 0 for none. Raises ConfigError."""
    if not text:
        return 0
    try:
        return int(Severity[text.upper()])
    except KeyError:
        names = ", ".join(severity.name for severity in Severity)
        raise ConfigError(f'"{text:.100}" is no severity: it is one of {names}') from None


def instant_in(text: str) -> datetime:
    """The instant of an RFC 3339 time; without an offset it is UTC. Raises ConfigError."""
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise unusable(text) from None
