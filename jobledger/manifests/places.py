"""Where in a text the fields of its objects stand: marked while YAML is read, and looked for in JSON.

Objects are known by their identity, so what an alias repeats stands where its anchor is: that is the place to edit. A
field that `<<` merges in stands where it was written.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple


class Place(NamedTuple):
    """Counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class NodePlaces:
    """Where an object or a list begins, and where its fields (by name) or items (by index) do."""

    begin: Place
    parts: dict[str | int, Place] = field(default_factory=dict)


Marks = Mapping[int, NodePlaces]
"""By the id of the object or list, which has to be kept alive."""


def place_of(marks: Marks, value: object, path: str) -> Place | None:
    """The place of `path` in `value`: that of its field, or of the innermost part of the path that is there.

    `path` is as problems have it: `spec.replicaSpecs[0].replicas`, `metadata.labels[example.com/team]`. None: nothing
    is known of the value.
    """
    mark = marks.get(id(value))
    if mark is None:
        return None
    place, rest = mark.begin, path
    while rest and mark is not None:
        step = _step(value, rest)
        if step is None:
            break
        key, rest = step
        place = mark.parts.get(key, place)
        value = value[key]  # type: ignore[index]  # `_step` has looked
        mark = marks.get(id(value))
    return place


def has_field(value: object, path: str) -> bool:
    """`path` begins with a field of the object."""
    return _step(value, path) is not None


def _step(value: object, path: str) -> tuple[str | int, str] | None:
    """The first part of the path that `value` has, and the rest of it."""
    if isinstance(value, list):
        index = re.match(r"\[(\d{1,9})\]\.?", path)
        return (int(index[1]), path[index.end() :]) if index and int(index[1]) < len(value) else None
    if not isinstance(value, dict):
        return None
    inside = path.startswith("[")
    rest, ends = (path[1:], ("]",)) if inside else (path, (".", "["))
    fitting = [name for name in value if rest.startswith(name) and (rest[len(name) :][:1] or ends[0]) in ends]
    if not fitting:
        return None
    key = max(fitting, key=len)
    return key, rest[len(key) :].removeprefix("]" if inside else "").removeprefix(".")


# ---- JSON --------------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def of_json(text: str, begin: int, value: Any) -> Marks:
    """The places in the JSON document that begins at `begin` in `text` and was read as `value`."""
    marks: dict[int, NodePlaces] = {}
    lines = _Lines(text)
    inside: list[tuple[Any, NodePlaces]] = []
    key: str | int = 0
    naming = False
    for token in _TOKEN.finditer(text, begin):
        said, place = token[0], lines.place(token.start())
        if said in ("}", "]"):
            inside.pop()
            if not inside:
                break
            continue
        if said == ",":
            naming = isinstance(inside[-1][0], dict)
            key = key if naming else len(inside[-1][1].parts)
        elif naming and said != ":":
            key, naming = json.loads(said), False
            inside[-1][1].parts[key] = place
        elif said != ":":
            if inside and isinstance(inside[-1][0], list):
                key = len(inside[-1][1].parts)
                inside[-1][1].parts[key] = place
            if said in ("{", "["):
                opened = inside[-1][0][key] if inside else value
                mark = marks[id(opened)] = NodePlaces(place)
                inside.append((opened, mark))
                naming = said == "{"
            elif not inside:
                break
    return marks


def of_token(text: str, wanted: str) -> Place:
    """The place of the first bare word or number of a JSON text that is `wanted`."""
    offsets = (token.start() for token in _TOKEN.finditer(text) if token[0] == wanted)
    return _Lines(text).place(next(offsets, 0))


class _Lines:
    """Offsets into a text, asked for in order → places."""

    def __init__(self, text: str) -> None:
        self._text, self._line, self._begin = text, 1, 0

    def place(self, offset: int) -> Place:
        for end in self._ends(offset):
            self._line, self._begin = self._line + 1, end
        return Place(self._line, offset - self._begin + 1)

    def _ends(self, offset: int) -> Iterator[int]:
        while (end := self._text.find("\n", self._begin, offset)) >= 0:
            yield end + 1
