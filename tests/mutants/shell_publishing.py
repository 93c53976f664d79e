"""Mutants of what reads public events for others: cursors, and the topic."""

from typing import Final

from tests.mutants.model import Mutant

_AT: Final = "tests/unit/publishing/"
_ON_CURSORS: Final = (f"{_AT}test_cursors.py", f"{_AT}test_topical.py")
_ON_TOPIC: Final = (f"{_AT}test_topical.py",)


def _of(module: str, name: str, old: str, new: str, tests: tuple[str, ...]) -> Mutant:
    return Mutant(f"publishing-{name}", f"jobledger.publishing.{module}", old, new, tests)


MUTANTS: Final[tuple[Mutant, ...]] = (
    _of(
        "cursors", "topic-place-behind-its-entry", "self.position - 1)) if", "self.position)) if", _ON_CURSORS
    ),
    _of(
        "cursors",
        "every-offset-is-in-the-log",
        " if self.position or not self.offset else None",
        "",
        _ON_CURSORS,
    ),
    _of("cursors", "topic-is-written-as-log", '"2" if isinstance', '"1" if isinstance', _ON_CURSORS),
    _of("cursors", "any-ledger", "cursor.ledger != ledger or ", "", _ON_CURSORS),
    _of("cursors", "ahead-of-the-log", "place.whole > end.position for", "False for", _ON_CURSORS),
    _of(
        "topical",
        "place-before-the-event",
        "TopicPlace(message.offset + 1,",
        "TopicPlace(message.offset,",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "gap-after-retention",
        "if await self._followed.partition.begin() > start:",
        "if False:",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "range-without-end",
        "end = min(end, start + _AT_ONCE)",
        "end = start + _AT_ONCE",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "nothing-is-dropped",
        "while self._events and self._size",
        "while False and self._size",
        _ON_TOPIC,
    ),
    _of("topical", "start-stays", "self._start = dropped.place.offset", "pass", _ON_TOPIC),
    _of("topical", "more-than-asked", "first, first + most))", "first, None))", _ON_TOPIC),
    _of(
        "topical",
        "emptied-topic-goes-on",
        "position_of(before.headers) != place.position",
        "False",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "beyond-the-end",
        "if place.offset > await followed",
        "if False and await followed",
        _ON_TOPIC,
    ),
    _of(
        "topical",
        "whole-entry-is-left-out",
        "return place.event is not None and ",
        "return False and ",
        _ON_TOPIC,
    ),
    _of(
        "topical", "late-is-left-out", "            high = late\n", "            high = late + 1\n", _ON_TOPIC
    ),
    _of("topical", "halving-stops", "            low = reached\n", "            break\n", _ON_TOPIC),
    _of(
        "topical",
        "first-late-is-passed",
        "each.place.offset - 1 for each in placed if",
        "each.place.offset for each in placed if",
        _ON_TOPIC,
    ),
)
