"""Which tests run in one process, and what runs first.

With `--dist loadgroup` every test may run in any process, except those of a group. A group is a server that only some
tests want, so that it is started once; or a module whose fixtures are made once for all its tests. Groups come first,
the longest before the others: single tests fill the time that is left.
"""

from typing import Final

import pytest

SERVERS: Final = {
    "killable_plane": "killable",
    "killable_kafkas": "killable",  # few tests, and one of them wants both
    "killable_kafka": "killable-kafka",
    "audited_plane": "audited",
    "secure_kafka": "secure",
    "killable_postgres": "killable-postgres",
}
"""Fixture → group, the longest group first."""

_ORDER: Final = [*dict.fromkeys(SERVERS.values())]


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of a group, and sorts: groups of servers, groups of modules, then all others as they stand."""
    shared = {str(item.path) for item in items if _has_module_fixture(item)}
    places = {}
    for item in items:
        names = {SERVERS[name] for name in getattr(item, "fixturenames", ()) if name in SERVERS}
        assert len(names) <= 1, f"{item.nodeid} wants servers of several groups: {', '.join(sorted(names))}"
        if names:
            group = names.pop()
            places[item] = _ORDER.index(group)
        elif str(item.path) in shared:
            group = item.path.stem
            places[item] = len(_ORDER)
        else:
            continue
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: places.get(item, len(_ORDER) + 1))


def _has_module_fixture(item: pytest.Item) -> bool:
    """A fixture of the test is made once for its module."""
    information = getattr(item, "_fixtureinfo", None)
    definitions = information.name2fixturedefs.values() if information is not None else ()
    return any(definition[-1].scope == "module" for definition in definitions if definition)
