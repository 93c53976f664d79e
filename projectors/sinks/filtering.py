"""Which public events a sink gets."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from k8s_bridge.selectors import EVERYTHING, Selector
from projectors.contract.catalogue import short_name
from projectors.contract.page import PublicEvent
from projectors.contract.stream import PublishedEntry


class Filter(NamedTuple):
    """Patterns of types and of namespaces, and the labels that a job has to have at the time; empty: all."""

    types: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    selector: Selector = EVERYTHING

    def of(self, published: PublishedEntry) -> Sequence[PublicEvent]:
        """The events of the entry that the sink gets."""
        state = published.state
        if not _fits(state.namespace, self.namespaces):
            return ()
        if not all(requirement.is_met_by(state.labels) for requirement in self.selector.requirements):
            return ()
        return [
            event
            for event in published.events
            if _fits(short_name(str(event.attributes["type"])), self.types)
        ]


def _fits(text: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)
