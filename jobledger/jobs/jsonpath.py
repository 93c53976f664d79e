"""The part of kubectl's JSONPath that people wait with: `.a.b`, `['a']`, `[0]`, `[*]`, `[?(@.a=="b")]`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_STEP: Final = re.compile(
    r"""\.(?P<name>[A-Za-z0-9_-]+)
      | \[(?P<index>-?\d+)\]
      | \[(?P<all>\*)\]
      | \[(?P<quote>['"])(?P<key>.*?)(?P=quote)\]
      | \[\?\(@\.(?P<field>[A-Za-z0-9_-]+)\s*==\s*(?P<q>['"])(?P<value>.*?)(?P=q)\)\]""",
    re.VERBOSE,
)

Step = str | int | tuple[str, str] | None
"""A field, an index, a (field, value) that an item must have, or None for every item."""


class PathInvalid(ValueError):
    """A path that is none; the message says what is possible."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path into a manifest."""

    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> "Path":
        """The path that `text` writes, with or without a leading dot. Raises PathInvalid."""
        rest = text if text.startswith((".", "[")) else f".{text}"
        steps: list[Step] = []
        while rest:
            found = _STEP.match(rest)
            if found is None:
                raise PathInvalid(
                    f'"{text}" is no path: use steps such as .status.phase, [0], [*] or [?(@.type=="Running")]'
                )
            steps.append(_step(found))
            rest = rest[found.end() :]
        return cls(tuple(steps))

    def texts(self, value: Any) -> list[str]:
        """Everything at the path, as kubectl would print it."""
        found = [value]
        for step in self.steps:
            found = [inner for each in found for inner in _inside(each, step)]
        return [
            str(each).lower() if isinstance(each, bool) else str(each) for each in found if each is not None
        ]


def _step(found: re.Match[str]) -> Step:
    if found["name"] is not None:
        return found["name"]
    if found["key"] is not None:
        return found["key"]
    if found["index"] is not None:
        return int(found["index"])
    return (found["field"], found["value"]) if found["field"] is not None else None


def _inside(value: Any, step: Step) -> Iterator[Any]:
    match step:
        case str() if isinstance(value, dict) and step in value:
            yield value[step]
        case int() if isinstance(value, list) and -len(value) <= step < len(value):
            yield value[step]
        case None if isinstance(value, list):
            yield from value
        case (field, wished) if isinstance(value, list):
            yield from (each for each in value if isinstance(each, dict) and str(each.get(field)) == wished)
        case _:
            return
