"""A form as it was sent: values by path, how many items a list has, and the item that is to come or to go."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from statemachine.errors import Problem

T = TypeVar("T")

COUNT: Final = "#"
"""Behind the path of a list: how many items the form shows."""

_MOST: Final = 500
_FRESH: Final = f"[{_MOST}]"


class Posted:
    """The fields. `grow` is the list that gets one more item, `drop` the item that goes.

    `strict`: what was left blank as a whole goes, because this is the end; otherwise it is still to be filled in.
    """

    def __init__(
        self, fields: Mapping[str, list[str]], *, grow: str = "", drop: str = "", strict: bool = False
    ) -> None:
        self._fields, self._grow, self._drop = fields, grow, drop
        self.strict = strict
        self.problems: list[Problem] = []

    def __getitem__(self, path: str) -> str:
        return self._fields.get(path, [""])[-1]

    def __contains__(self, path: str) -> bool:
        return path in self._fields

    def has(self, path: str) -> bool:
        """The form shows the list at `path`."""
        return path + COUNT in self._fields

    def is_fresh(self, path: str) -> bool:
        """The field is of an item that no form has shown yet."""
        return _FRESH in path

    def wrong(self, path: str, text: str) -> None:
        """What was typed at `path` cannot be read."""
        self.problems.append(Problem("", path, text))

    def items(
        self,
        path: str,
        read: Callable[[str, Mapping[str, Any]], T],
        blank: Mapping[str, Any],
        base: Any = None,
    ) -> list[T]:
        """The items of the list at `path`, each read with the one of `base` that it was made from."""
        count = self[path + COUNT]
        old = base if isinstance(base, list) else []
        items = []
        for index in range(min(int(count), _MOST) if count.isascii() and count.isdigit() else 0):
            at = f"{path}[{index}]"
            if at != self._drop:
                was = old[index] if index < len(old) else {}
                items.append(read(at, was if isinstance(was, Mapping) else {}))
        if path == self._grow and len(items) < _MOST:
            items.append(_fresh(read, blank, path))
        return items


def _fresh(read: Callable[[str, Mapping[str, Any]], T], blank: Mapping[str, Any], path: str) -> T:
    """One more item, which nothing was typed into yet: its index is one that no form shows."""
    return read(f"{path}{_FRESH}", blank)


def changed(tree: dict[str, Any], name: str, value: Any) -> None:
    """The value stands in the tree under this name; nothing and an empty text do not."""
    if value is None or value == "":
        tree.pop(name, None)
    else:
        tree[name] = value
