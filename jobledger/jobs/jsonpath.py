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
            match = _STEP.match(rest)
            if match is None:
                raise PathInvalid(
                    f'"{text}" is no path: use steps such as .status.phase, [0], [*] or [?(@.type=="Running")]'
                )
            steps.append(_step(match))
            rest = rest[match.end() :]
        return cls(tuple(steps))

    def texts(self, value: Any) -> list[str]:
        """Everything at the path, as kubectl would print it."""
        values = [value]
        for step in self.steps:
            values = [inner for value in values for inner in _inside(value, step)]
        return [
            str(value).lower() if isinstance(value, bool) else str(value)
            for value in values
            if value is not None
        ]


def _step(match: re.Match[str]) -> Step:
    if match["name"] is not None:
        return match["name"]
    if match["key"] is not None:
        return match["key"]
    if match["index"] is not None:
        return int(match["index"])
    return (match["field"], match["value"]) if match["field"] is not None else None


def _inside(value: Any, step: Step) -> Iterator[Any]:
    match step:
        case str() if isinstance(value, dict) and step in value:
            yield value[step]
        case int() if isinstance(value, list) and -len(value) <= step < len(value):
            yield value[step]
        case None if isinstance(value, list):
            yield from value
        case (field, wished) if isinstance(value, list):
            yield from (item for item in value if isinstance(item, dict) and str(item.get(field)) == wished)
        case _:
            return
