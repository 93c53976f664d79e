"""Writes an archive of simulated lives: `python -m tests.histories.record_simulated VERSION`.

Every family of the simulation runs seeds from 0 on, with all its faults. A life is taken if it shows something that
few of those taken show; what is missing to the number asked for is filled up with others, in their order, of which no
two show the same. The same code makes the same archive; a later one makes another of the same seeds, which is why
lives are kept as bytes.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tests.histories import archive
from tests.histories.archive import Life, life_of
from tests.histories.choosing import Candidate, chosen
from tests.simulation.run import simulate
from tests.simulation.shapes import Shape
from tests.simulation.together import SHAPES, jobs_of

FAMILIES: Final[Mapping[str, Shape | None]] = {
    **{shape.kinds[0].lower(): shape for shape in SHAPES.values()},
    "together": None,
}
"""Shapes of jobs by the first spelling of their kind; None: of several kinds."""

SEEDS: Final = 400
"""Seeds of each family that are examined."""

LIVES: Final = 200
"""Lives of each family that are taken."""


def candidates_of(family: str, seeds: Iterable[int]) -> Iterator[Candidate]:
    """Every job of these seeds, in the order of their first entries."""
    for seed in seeds:
        jobs: dict[str, list[bytes]] = {}
        for record in simulate(seed, FAMILIES[family] or jobs_of(seed)).records():
            jobs.setdefault(record.job, []).append(record.body)
        for number, bodies in enumerate(jobs.values()):
            yield Candidate(f"{family}-{seed}-{number}", tuple(bodies))


def simulated(family: str, seeds: Iterable[int], number: int) -> list[Life]:
    """So many lives of the family, out of these seeds."""
    return [life_of(*life) for life in chosen(list(candidates_of(family, seeds)), number)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the archive of a version."""
    parser = argparse.ArgumentParser("python -m tests.histories.record_simulated", description=__doc__)
    parser.add_argument("version", help="what the archive is called after: simulated-VERSION")
    parser.add_argument(
        "--seeds", type=int, default=SEEDS, help="seeds of each family (default: %(default)s)"
    )
    parser.add_argument(
        "--lives", type=int, default=LIVES, help="lives of each family (default: %(default)s)"
    )
    parser.add_argument(
        "--kinds",
        nargs="+",
        metavar="KIND",
        choices=FAMILIES,
        default=[*FAMILIES],
        help="families (default: all)",
    )
    asked = parser.parse_args(arguments)
    path = archive.FOLDER / f"simulated-{asked.version}{archive.SUFFIX}"
    if path.exists():
        parser.error(f"{path.name} is there already, and is never written again")
    lives = [life for family in asked.kinds for life in simulated(family, range(asked.seeds), asked.lives)]
    size = archive.write(path, lives)
    entries = sum(len(life.bodies) for life in lives)
    print(f"{path.name}: {len(lives)} lives, {entries} entries, {size / 1e6:.2f} MB")  # noqa: T201


if __name__ == "__main__":
    main()
