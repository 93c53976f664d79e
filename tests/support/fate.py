"""What decides which faults happen: chance, or a script. Whatever happened is noted, and can be played again.

A fault is known by its name and by how many times it could have happened before: the third "quota" is the same
call in the same run. So a run is repeated, or parts of it are left out, without the random numbers that made it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

DEATH: Final = "dies at "
"""Before the name of the point where a process dies."""


class Fault(NamedTuple):
    """What happened at the `nth` (from 1) opportunity that it had."""

    name: str
    nth: int


class Fate:
    """Faults by their odds. `aims`: points where a process dies in any case, and at which passing, from 1 on."""

    def __init__(self, chance: Random, aims: Mapping[str, int] | None = None) -> None:
        self._chance, self.aims = chance, aims or {}
        self.opportunities: Counter[str] = Counter()
        self.happened: list[Fault] = []

    def strikes(self, name: str, odds: float) -> bool:
        """The fault happens, once in 1/`odds` calls."""
        self.opportunities[name] += 1
        return odds > 0 and self._note(name, self._wants(name, odds))

    def dies(self, point: str, odds: float) -> bool:
        """A process that passes the point dies there."""
        name = DEATH + point
        self.opportunities[name] += 1
        aimed = self.aims.get(point) == self.opportunities[name]
        return (aimed or odds > 0) and self._note(name, aimed or self._wants(name, odds))

    def _wants(self, name: str, odds: float) -> bool:
        return self._chance.random() < odds

    def _note(self, name: str, happens: bool) -> bool:
        if happens:
            self.happened.append(Fault(name, self.opportunities[name]))
        return happens


class Script(Fate):
    """Exactly these faults happen, whatever the odds; the times at which they can are counted alike."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        super().__init__(Random(0))
        self._faults = frozenset(faults)

    def strikes(self, name: str, odds: float) -> bool:
        """The script has it."""
        return super().strikes(name, 1.0)

    def dies(self, point: str, odds: float) -> bool:
        """The script has it."""
        return super().dies(point, 1.0)

    def _wants(self, name: str, odds: float) -> bool:
        return (name, self.opportunities[name]) in self._faults


def _nothing() -> None:
    pass


@dataclass
class Passages:
    """What a run keeps count of at the boundaries where a process can die; `stepped` is called after each append."""

    passed: Counter[str] = field(default_factory=Counter)
    died: Counter[str] = field(default_factory=Counter)
    stepped: Callable[[], None] = _nothing
