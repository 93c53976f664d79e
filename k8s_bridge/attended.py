"""Which jobs are looked after: which kinds, in which namespaces, and what is configured for them.

Some kinds are opt-in (`Kind.opt_in`): another controller may look after their jobs, and two never may. Where a kind
is not switched on its objects are neither watched nor touched, and jobs of it that the log knows stay as they are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from statemachine.kind import Kind, Owned
from statemachine.kinds import KINDS, UnknownKind, kind_of


@dataclass(frozen=True, slots=True)
class OptIn:
    """An opt-in kind is on in `namespaces`, in all if there are none; `settings` are for its jobs to keep."""

    namespaces: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attended:
    """What is looked after: jobs in `namespaces`, in all if there are none.

    `opted_in` are the opt-in kinds that are switched on, by name; None: all of them, as where nobody else could look
    after their jobs.
    """

    namespaces: tuple[str, ...] = ()
    opted_in: Mapping[str, OptIn] | None = None
    kept: Mapping[str, str] = field(default_factory=dict)
    """What is configured for jobs of every kind, for them to keep."""
    kueue: bool = False
    """Kueue's Workloads are read, which say how jobs stand in queues."""

    def places(self, kind: Kind) -> tuple[str | None, ...]:
        """The namespaces to watch for jobs of the kind; None stands for all, and nothing for nowhere."""
        everywhere = self.namespaces or (None,)
        if not kind.opt_in or self.opted_in is None:
            return everywhere
        said = self.opted_in.get(kind.names.kind)
        if said is None:
            return ()
        return (
            tuple(each for each in said.namespaces if self._is_ours(each)) if said.namespaces else everywhere
        )

    def _is_ours(self, namespace: str) -> bool:
        return not self.namespaces or namespace in self.namespaces

    def kinds(self) -> Iterator[Kind]:
        """The kinds that are looked after somewhere."""
        return (kind for kind in KINDS if self.places(kind))

    def covers(self, api_version: str, kind: str, namespace: str) -> bool:
        """A job of this kind, or alias, in this namespace is looked after. One of an unknown kind is not refused."""
        try:
            places = self.places(kind_of(api_version, kind))
        except UnknownKind:
            return self._is_ours(namespace)
        return None in places or namespace in places

    def settings(self, kind: Kind) -> Mapping[str, str]:
        """What is configured for jobs of the kind."""
        said = (self.opted_in or {}).get(kind.names.kind)
        return {**self.kept, **(said.settings if said is not None else {})}

    def owned(self, kind: Kind) -> Iterator[Owned]:
        """What jobs of the kind may own here beside pods and Services."""
        settings = self.settings(kind)
        return (each for each in kind.owns if each.when is None or settings.get(each.when[0]) == each.when[1])


EVERYTHING: Final = Attended()
"""Every kind in every namespace."""
