"""Looking into a spec that may hold anything: what is not there, or of another type, reads as absent.

Rules run on every manifest, broken ones too, so that all problems are found at once; none of them may trip.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard


def find(tree: object, path: str) -> Any:
    """The value at `path` (`runMode.debug.enabled`, no indexes); None where there is none."""
    for key in _keys(path):
        if tree is None or (type(tree) is not dict and not isinstance(tree, Mapping)):
            return None
        tree = tree.get(key)
    return tree


@lru_cache(maxsize=1024)
def _keys(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """The value is an object. Its exact type comes first: asking an abstract class costs ten times as much."""
    return type(value) is dict or (value is not None and isinstance(value, Mapping))


def flag(tree: object, path: str) -> bool:
    """The value at `path` is true."""
    return find(tree, path) is True


def number(tree: object, path: str) -> int | None:
    """The integer at `path`, None if there is none."""
    value = find(tree, path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text(tree: object, path: str) -> str:
    """The string at `path`, empty if there is none."""
    value = find(tree, path)
    return value if isinstance(value, str) else ""


def texts(tree: object, path: str) -> Sequence[str]:
    """The strings in the list at `path`."""
    value = find(tree, path)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def items(tree: object, path: str) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """The objects in the list at `path`, with their indexes."""
    value = find(tree, path)
    if not value or not isinstance(value, list):
        return ()
    return [
        (index, item) for index, item in enumerate(value) if type(item) is dict or isinstance(item, Mapping)
    ]


def entries(tree: object, path: str) -> Mapping[str, Any]:
    """The object at `path`, empty if there is none."""
    value = find(tree, path)
    return value if is_object(value) else {}
