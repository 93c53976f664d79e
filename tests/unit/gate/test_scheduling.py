"""Which process runs what next: nobody starts a server while there is something else to do."""

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.harness.scheduling import STARTS, ByServers, Unit, marked, unit


class Node:
    """A process, and what it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += [str(index) for index in indices]


def scheduling(*scopes: str) -> ByServers:
    """All is still to be given away."""
    config: Any = SimpleNamespace(getvalue=lambda _: ["popen"])
    log: Any = MagicMock()
    scheduling = ByServers(config, log, ["killable", "audited"])
    scheduling.workqueue = OrderedDict((scope, {scope: False}) for scope in scopes)
    return scheduling


def next_of(scheduling: ByServers, node: Any) -> str:
    """The scope that the process is given."""
    waiting: list[str] = [*scheduling.workqueue]
    scheduling.registered_collections[node] = waiting
    scheduling._assign_work_unit(node)
    (taken,) = set(waiting) - set(scheduling.workqueue)
    assert node.given.pop() == str(waiting.index(taken))
    return taken


PLANE, KAFKA, BOTH = "a.py::p{}@+control_plane", "a.py::k{}@+kafka", "a.py::b@+control_plane+kafka"


def test_what_a_scope_is() -> None:
    assert unit("killable") == Unit("killable", frozenset())
    assert unit(marked("killable", ["kafka", "control_plane"])) == Unit(
        "killable", frozenset({"control_plane", "kafka"})
    )
    assert unit(f"a.py::test[x]@{marked('', ['kafka'])}") == Unit("", frozenset({"kafka"}))
    assert unit("a.py::test[x@+kafka]") == Unit("", frozenset())
    assert unit("a.py::test") == Unit("", frozenset())


def test_a_test_of_no_group_is_a_scope_of_its_own() -> None:
    assert scheduling()._split_scope("a.py::test@+kafka") == "a.py::test@+kafka"
    assert scheduling()._split_scope("a.py::test@killable+kafka") == "killable+kafka"
    assert scheduling()._split_scope("a.py::test[x@y]") == "a.py::test[x@y]"


def test_groups_of_servers_come_first_then_what_wants_none_in_our_order() -> None:
    work = scheduling("killable+control_plane", "audited", "a.py::p@+kafka", "test_a", "a.py::one")
    first, second = Node(), Node()
    assert [next_of(work, node) for node in (first, second, second, second)] == [
        "killable+control_plane",
        "audited",
        "test_a",
        "a.py::one",
    ]


def test_a_process_with_a_server_runs_what_wants_it_and_another_the_rest() -> None:
    units = ["killable+control_plane", "a.py::1", PLANE.format(1), "a.py::2", PLANE.format(2), "a.py::3"]
    work, having, other = scheduling(*units), Node(), Node()
    assert next_of(work, having) == units[0]
    assert [next_of(work, node) for node in (other, having, other, having)] == [
        "a.py::1",
        PLANE.format(1),
        "a.py::2",
        PLANE.format(2),
    ]
    assert next_of(work, having) == "a.py::3"


def test_a_server_is_started_when_nothing_else_is_left_and_the_cheapest_first() -> None:
    work, node = scheduling(BOTH, PLANE.format(1), KAFKA.format(1), KAFKA.format(2)), Node()
    assert [next_of(work, node) for _ in range(4)] == [
        KAFKA.format(1),
        KAFKA.format(2),
        BOTH,
        PLANE.format(1),
    ]


def test_what_a_process_did_not_come_to_is_given_to_another() -> None:
    work, node = scheduling("a.py::1"), Node()
    assert next_of(work, node) == "a.py::1"
    work.workqueue["a.py::1"] = {"a.py::1": False}
    assert next_of(work, Node()) == "a.py::1"


def test_every_server_that_is_shared_is_a_fixture(request: pytest.FixtureRequest) -> None:
    manager = request.session._fixturemanager
    assert all(manager._arg2fixturedefs[name][-1].scope == "session" for name in STARTS)
