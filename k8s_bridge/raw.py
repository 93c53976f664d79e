"""Reading objects whose shape nobody has checked: what is not as expected is nothing, never an exception."""

from collections.abc import Mapping, Sequence
from typing import Any


def mapping(value: object) -> Mapping[str, Any]:
    """The value, if it is a mapping; else an empty one."""
    # the exact type first: asking an abstract class costs ten times as much
    return value if type(value) is dict or (value is not None and isinstance(value, Mapping)) else {}


def mappings(value: object) -> Sequence[Mapping[str, Any]]:
    """The mappings in a list; nothing of any other value."""
    if not value or not isinstance(value, list):
        return ()
    return [item for item in value if type(item) is dict or isinstance(item, Mapping)]


def text(value: object) -> str:
    """A string that can be written as UTF-8; anything else is nothing."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()
