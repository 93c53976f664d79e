"""Which jobs the controller manages: which kinds, in which namespaces, and with which settings.

Some kinds are opt-in (`Kind.opt_in`): another controller may manage their jobs, and two never may. If a kind is not
switched on, the controller neither watches nor changes its objects, and its jobs in the log stay as they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from statemachine.kind import Kind
from statemachine.kinds import KINDS, UnknownKind, kind_of
from statemachine.owned import Owned


@dataclass(frozen=True, slots=True)
class OptIn:
    """An opt-in kind is on in `namespaces`, in all if there are none; its jobs keep `settings`."""

    namespaces: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attended:
    """What the controller manages: jobs in `namespaces`, in all if there are none.

    `opted_in` are the opt-in kinds that are switched on, by name; None: all of them, where no other controller can
    manage their jobs.
    """

    namespaces: tuple[str, ...] = ()
    opted_in: Mapping[str, OptIn] | None = None
    kept: Mapping[str, str] = field(default_factory=dict)
    """Settings for jobs of every kind, which they keep."""
    kueue: bool = False
    """The bridge reads Kueue's Workloads, which have the standing of jobs in queues."""

    def places(self, kind: Kind) -> tuple[str | None, ...]:
        """The namespaces to watch for jobs of the kind; None stands for all, and an empty tuple for nowhere."""
        everywhere = self.namespaces or (None,)
        if not kind.opt_in or self.opted_in is None:
            return everywhere
        opted_in = self.opted_in.get(kind.names.kind)
        if opted_in is None:
            return ()
        if not opted_in.namespaces:
            return everywhere
        return tuple(filter(self._is_ours, opted_in.namespaces))

    def _is_ours(self, namespace: str) -> bool:
        return not self.namespaces or namespace in self.namespaces

    def kinds(self) -> Iterator[Kind]:
        """The kinds that the controller manages somewhere."""
        return (kind for kind in KINDS if self.places(kind))

    def covers(self, api_version: str, kind: str, namespace: str) -> bool:
        """The controller manages jobs of this kind, or alias, in this namespace. It does not refuse unknown kinds."""
        try:
            places = self.places(kind_of(api_version, kind))
        except UnknownKind:
            return self._is_ours(namespace)
        return None in places or namespace in places

    def settings(self, kind: Kind) -> Mapping[str, str]:
        """The settings for jobs of the kind."""
        opted_in = (self.opted_in or {}).get(kind.names.kind)
        return {**self.kept, **(opted_in.settings if opted_in is not None else {})}

    def owned(self, kind: Kind) -> Iterator[Owned]:
        """The children that jobs of the kind may own here besides pods and Services."""
        settings = self.settings(kind)
        return (
            child for child in kind.owns if child.when is None or settings.get(child.when[0]) == child.when[1]
        )


EVERYTHING: Final = Attended()
"""Every kind in every namespace."""
