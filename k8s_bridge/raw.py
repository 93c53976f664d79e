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


def version_of(meta: Mapping[str, Any]) -> int:
    """The resourceVersion as a number, to tell which of two is newer; 0 if it is not a number.

    Source: Kubernetes API concepts, "Resource versions": decimal numbers compare, others are only equal or not.
    """
    return number(meta.get("resourceVersion"))


def number(resource_version: object) -> int:
    """See `version_of`."""
    decimal = text(resource_version)
    return int(decimal) if decimal.isascii() and decimal.isdigit() else 0
