"""Which tests run in one process, what runs first, and when a server that few tests want is stopped.

With `--dist loadgroup` every test may run in any process, except those of a group. A group is a server that only some
tests want, so that it is started once; or a module whose fixtures are made once for all its tests. Groups come first,
the longest before the others: single tests fill the time that is left. A server of a group is stopped after the last
test that wants it: a control plane or a broker that nobody uses takes processor time from all others. Module
`scheduling` says which process is given what.
"""

from collections import defaultdict
from typing import Any, Final

import pytest

from tests.harness import scheduling

SERVERS: Final = {
    "killable_plane": "killable",
    "killable_kafkas": "killable",  # few tests, and one of them wants both
    "audited_plane": "audited",
    "secure_kafka": "audited",  # some of either want the shared control plane, too
    "killable_kafka": "killable-kafka",
    "killable_postgres": "killable-postgres",
}
"""Fixture → group, the longest group first."""

_LAST: Final = pytest.StashKey[tuple[str, ...]]()
"""The servers that no test after this one wants."""

_ORDER: Final = [*dict.fromkeys(SERVERS.values())]


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of a group, and sorts: groups of servers, groups of modules, then all others as they stand."""
    shared = {str(item.path) for item in items if _has_module_fixture(item)}
    places: dict[pytest.Item, tuple[int, int]] = {}
    members = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        names = {SERVERS[name] for name in _servers(item)}
        assert len(names) <= 1, f"{item.nodeid} wants servers of several groups: {', '.join(sorted(names))}"
        if names:
            group = names.pop()
            places[item] = (_ORDER.index(group), _latest(item))
        elif str(item.path) in shared:
            group = item.path.stem
            places[item] = (len(_ORDER), 0)
        else:
            continue
        members[group].append(item)
    for group, its_tests in members.items():
        wants = frozenset[str]().union(*map(_shared_servers, its_tests))
        for item in its_tests:
            item.add_marker(pytest.mark.xdist_group(scheduling.marked(group, wants)))
    for item in items:
        if item not in places and (wants := _shared_servers(item)):
            item.add_marker(pytest.mark.xdist_group(scheduling.marked("", wants)))
    items.sort(key=lambda item: places.get(item, (len(_ORDER) + 1, 0)))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.ByServers | None:
    """Ours for groups; else pytest-xdist's own."""
    return scheduling.ByServers(config, log, _ORDER) if config.getvalue("dist") == "loadgroup" else None


def _servers(item: pytest.Item) -> list[str]:
    """The servers of groups that the test wants."""
    return [name for name in SERVERS if name in getattr(item, "fixturenames", ())]


def _shared_servers(item: pytest.Item) -> frozenset[str]:
    """The servers that it wants which all tests of a process share."""
    return frozenset(getattr(item, "fixturenames", ())) & scheduling.STARTS.keys()


def _latest(item: pytest.Item) -> int:
    """Of the servers of one group the ones that fewer tests want come last, and are not started before."""
    return max([*SERVERS].index(name) for name in _servers(item))


def pytest_collection_finish(session: pytest.Session) -> None:
    """After the last test of a server, of those that were not deselected, it may be stopped."""
    last = {name: item for item in session.items for name in _servers(item)}
    for item in last.values():
        item.stash[_LAST] = tuple(name for name, wants in last.items() if wants is item)


@pytest.hookimpl(trylast=True)  # after the teardown of the test itself
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """The servers that no other test of this process wants are stopped."""
    for name in item.stash.get(_LAST, ()):
        definitions = item._fixtureinfo.name2fixturedefs[name]  # type: ignore[attr-defined]
        definitions[-1].finish(item._request)  # type: ignore[attr-defined]


def _has_module_fixture(item: pytest.Item) -> bool:
    """A fixture of the test is made once for its module."""
    information = getattr(item, "_fixtureinfo", None)
    definitions = information.name2fixturedefs.values() if information is not None else ()
    return any(definition[-1].scope == "module" for definition in definitions if definition)
