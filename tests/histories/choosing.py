"""Which of many lives are kept: those that show what few others show, and of the rest no two alike."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.histories.features import features

_OFTEN: Final = 5
"""What so many of the lives taken show is not looked for any more."""


class Candidate(NamedTuple):
    """One job's entries, and the name of the life that they are."""

    name: str
    bodies: tuple[bytes, ...]


def chosen(candidates: Sequence[Candidate], number: int) -> list[Candidate]:
    """So many of them, in their order: what shows rare things first."""
    shows = {life.name: features(life.bodies) for life in candidates}
    shown: Counter[str] = Counter()
    taken: set[str] = set()
    for name, words in shows.items():
        if len(taken) < number and any(shown[word] < _OFTEN for word in words):
            taken.add(name)
            shown.update(words)
    alike = {shows[name] for name in taken}
    for name, words in shows.items():
        if len(taken) < number and words not in alike:
            taken.add(name)
            alike.add(words)
    return [life for life in candidates if life.name in taken]
