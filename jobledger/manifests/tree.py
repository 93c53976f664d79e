"""Events of a YAML parser → documents of plain JSON values, without recursion, so that none can exhaust a stack.

Refused here: aliases that expand without end, deep nesting, fields given twice, tags that make objects.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from jobledger.manifests.places import Marks, NodePlaces, Place, place_of
from jobledger.manifests.scalars import Odd, field_name, tagged
from statemachine.errors import JobledgerError

MAX_DEPTH: Final = 100
"""Levels of nesting. A pod template reaches some fifteen; the rules of the kinds stop at 64."""

TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"

_MERGE: Final = "<<"


class Unreadable(JobledgerError):
    """A text is not what it should be; `line` and `column` count from 1, 0 where there is no such place."""

    def __init__(self, text: str, line: int = 0, column: int = 0) -> None:
        super().__init__(text)
        self.text, self.line, self.column = text, line, column


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its number from 1 on, the line on which it begins, its value.

    `marks` has the places of everything inside; those in JSON are looked for when they are wanted (`later`): it takes
    long, and few want them.
    """

    number: int
    line: int
    value: Any
    marks: Marks = field(default_factory=dict)
    later: Callable[[], Marks] | None = None

    def line_of(self, part: object) -> int:
        """The line on which `part` of the document begins; the document's if that is not known."""
        mark = self.marks.get(id(part))
        return mark.begin.line if mark else self.line

    def place_of(self, part: object, path: str) -> Place:
        """Where `path` stands that begins at `part` of the document; see `places.place_of`."""
        marks = self.later() if self.later else self.marks
        return place_of(marks, part, path) or Place(self.line, 1)


@dataclass(frozen=True, slots=True)
class _Node:
    """A finished value: how many characters it stands for, how many levels it has, and where it begins."""

    value: Any
    size: int
    height: int
    place: Place


@dataclass(slots=True)
class _Open:
    """An object or a list that is not closed yet.

    `key` waits for its value, which is merged in if `merging`; `merged` came in that way before, from `merged_parts`.
    """

    value: Any
    mark: NodePlaces
    anchor: str | None
    size: int = 2
    height: int = 1
    key: str | None = None
    merging: bool = False
    keys: dict[str, int] = field(default_factory=dict)
    merged: dict[str, Any] = field(default_factory=dict)
    merged_parts: dict[str | int, Place] = field(default_factory=dict)


class Builder:
    """Turns the parser's events into documents. No part of it looks further than the innermost open value."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._number = 0
        self._begin()

    def _begin(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, _Node | None] = {}
        self._marks: dict[int, NodePlaces] = {}
        self._size = 0
        self._done: Document | None = None

    def take(self, event: yaml.Event) -> Document | None:
        """The document that `event` ends, unless it is empty."""
        mark = event.start_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(0, 0)
        try:
            match event:
                case yaml.ScalarEvent():
                    plain = event.tag is None and event.implicit[0]
                    value = tagged(event.value, event.tag, plain=plain)
                    node = _Node(value, len(event.value) + 1, 0, place)
                    self._anchor(event.anchor, node)
                    self._add(node, place, plain=plain)
                case yaml.DocumentStartEvent():
                    self._begin()
                    self._number += 1
                case yaml.DocumentEndEvent():
                    return self._done
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    self._start(event, place)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._end()
                case yaml.AliasEvent():
                    self._add(self._aliased(event.anchor or ""), place)
                case _:
                    pass
        except Odd as error:
            raise Unreadable(str(error), place.line, place.column) from None
        return None

    def _start(self, event: yaml.CollectionStartEvent, place: Place) -> None:
        mapping = isinstance(event, yaml.MappingStartEvent)
        wanted = "map" if mapping else "seq"
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{wanted}"):
            raise Odd(f"the tag {event.tag} is not allowed; plain YAML needs no tags")
        if len(self._open) >= MAX_DEPTH:
            raise Odd(TOO_DEEP)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open({} if mapping else [], NodePlaces(place), event.anchor))

    def _end(self) -> None:
        closed = self._open.pop()
        if closed.merged:
            own = dict(closed.value)
            closed.value.clear()
            closed.value.update(closed.merged | own)
        for key, place in closed.merged_parts.items():
            closed.mark.parts.setdefault(key, place)
        self._marks[id(closed.value)] = closed.mark
        node = _Node(closed.value, closed.size, closed.height, closed.mark.begin)
        self._anchor(closed.anchor, node)
        self._add(node, closed.mark.begin, again=False)

    def _anchor(self, name: str | None, node: _Node) -> None:
        if name is not None:
            self._anchors[name] = node

    def _aliased(self, name: str) -> _Node:
        if name not in self._anchors:
            raise Odd(f"the alias *{name} names nothing above it")
        node = self._anchors[name]
        if node is None:
            raise Odd(f"the alias *{name} stands inside of what it names")
        if len(self._open) + node.height > MAX_DEPTH:
            raise Odd(TOO_DEEP)
        return node

    def _add(self, node: _Node, place: Place, *, plain: bool = False, again: bool = True) -> None:
        """The node, which stands at `place`, is in the innermost open value, or is the document.

        `again`: its characters count for the document; those of an object or list did when they were added.
        """
        self._size += node.size if again else 2
        if self._size > self._limit:
            raise Odd(f"with its aliases expanded, the document has more than {self._limit} characters")
        if not self._open:
            if node.value is not None:
                self._done = Document(self._number, node.place.line, node.value, self._marks)
            return
        into = self._open[-1]
        into.size += node.size
        into.height = max(into.height, node.height + 1)
        if isinstance(into.value, list):
            into.mark.parts[len(into.value)] = place
            into.value.append(node.value)
        elif into.key is None:
            into.merging = plain and node.value == _MERGE
            into.key = _key(into, node)
            if not into.merging:
                into.mark.parts[into.key] = place
        else:
            self._put(into, into.key, node.value)
            into.key = None

    def _put(self, into: _Open, key: str, value: Any) -> None:
        if not into.merging:
            into.value[key] = value
            return
        for base in value if isinstance(value, list) else [value]:
            if not isinstance(base, dict):
                raise Odd('"<<" merges objects only')
            into.merged = base | into.merged  # the first that has a field wins
            into.merged_parts = self._marks[id(base)].parts | into.merged_parts


def _key(into: _Open, node: _Node) -> str:
    key = field_name(node.value)
    if key in into.keys:
        raise Odd(f'the field "{key:.60}" stands here a second time; the first is on line {into.keys[key]}')
    into.keys[key] = node.place.line
    return key
