"""A run of many seeds in pieces: what a piece has met is kept when all its tests passed, so a stopped run goes on.

A piece is some seeds in a row of every family. Its counts are a file in the folder of the run, named after its first
seed and the commit that it tested; the folder goes when the last piece has passed.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.simulation.coverage import Coverage

SIZE: Final = 1000
"""Seeds of each family in a piece: a few minutes of two cores."""


class Piece(NamedTuple):
    """So many seeds of every family, from the first one on."""

    first: int
    seeds: int


def pieces(first: int, seeds: int) -> list[Piece]:
    """The pieces of a run, in order; the last one may be smaller."""
    end = first + seeds
    return [Piece(start, min(SIZE, end - start)) for start in range(first, end, SIZE)]


class Kept:
    """The pieces of a run that have passed. `parent`: the folder of all runs."""

    def __init__(self, parent: Path, first: int, seeds: int) -> None:
        self._folder = parent / f"{seeds}-from-{first}"

    def left(self, every: Sequence[Piece]) -> list[Piece]:
        """Those that have not passed yet, in order."""
        passed = {name.partition("-")[0] for name in self._names()}
        return [piece for piece in every if str(piece.first) not in passed]

    def keep(self, piece: Piece, coverage: Coverage, commit: str) -> None:
        """The piece has passed; its counts are there whole, or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder / f"{piece.first}.part"
        draft.write_text(coverage.as_json(), encoding="utf-8")
        draft.replace(self._folder / f"{piece.first}-{commit}.json")

    def coverage(self) -> Coverage:
        """What all of them together have met."""
        return Coverage.read(self._folder)

    def commits(self) -> list[str]:
        """What they tested, by name."""
        return sorted({name.partition("-")[2] for name in self._names()})

    def forget(self) -> None:
        """The next run of these seeds begins with the first piece."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _names(self) -> list[str]:
        return [path.stem for path in self._folder.glob("*.json")]
