"""Which process runs what next: tests whose servers it runs already, before those that would have it start another.

A control plane that nobody asks costs a twentieth of a core, and its start ten seconds of one. Of four processes two
are enough to run all tests that want one, while the others run what wants none.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import pytest
from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

STARTS: Final = {"control_plane": 10, "kafka": 3, "postgres": 1}
"""Fixture of a server that all tests of a process share → seconds of processor time that its start takes."""

_BETWEEN: Final = "+"


class Unit(NamedTuple):
    """What a process is given at once: the tests of a group, or one test, which has no group."""

    group: str
    wants: frozenset[str]


def marked(group: str, wants: Iterable[str]) -> str:
    """The mark of a test for pytest-xdist: its group, and the shared servers that it wants."""
    return _BETWEEN.join((group, *sorted(wants)))


def unit(scope: str) -> Unit:
    """What a scope of pytest-xdist is: a mark, or the id of a test, with its mark behind an @ if it has one."""
    mark = scope
    if "::" in scope:
        mark = scope.rpartition("@")[2] if scope.rfind("@") > scope.rfind("]") else ""
    group, *wants = mark.split(_BETWEEN)
    return Unit(group, frozenset(wants))


class ByServers(LoadGroupScheduling):  # type: ignore[misc]
    """Units in our order, but for those that want shared servers; the groups of `first` come first of all."""

    def __init__(self, config: pytest.Config, log: Any, first: Iterable[str]) -> None:
        super().__init__(config, log)
        self._first = frozenset(first)
        self._alike: dict[tuple[bool, frozenset[str]], deque[tuple[int, str]]] | None = None
        """Scopes by whether they come first and what they want, with their place in our order."""
        self._running: dict[WorkerController, frozenset[str]] = {}

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        return nodeid if scope.startswith(_BETWEEN) else scope

    def _assign_work_unit(self, node: WorkerController) -> None:
        if self._alike is None:
            self._alike = {}
            for place, scope in enumerate(self.workqueue):
                this = unit(scope)
                self._alike.setdefault((this.group in self._first, this.wants), deque()).append(
                    (place, scope)
                )
        running = self._running.get(node, frozenset())
        waiting = [(_rank(*alike, running), scopes) for alike, scopes in self._alike.items() if scopes]
        if waiting:  # else all that is left is what another process did not come to, as it broke down
            _, scopes = min(waiting, key=lambda option: (option[0], option[1][0]))
            _, scope = scopes.popleft()
            self._running[node] = running | unit(scope).wants
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


def _rank(is_first: bool, wants: frozenset[str], running: frozenset[str]) -> tuple[int, bool]:
    """The lowest is taken: what starts least, and of what starts nothing that which others would start for."""
    if is_first:
        return -1, False
    return sum(STARTS[name] for name in wants - running), not wants
