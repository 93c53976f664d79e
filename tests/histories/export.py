"""Writes an archive of the lives in a real log: `python -m tests.histories.export STORE FOLDER`.

STORE is the file of a ledger, or the URL of one in Kafka, which is only read; fire and chaos leave such behind. Taken
are the lives that show what few others show. One that does not verify is left out and named, since what is recorded
has to hold for ever; so is one that names a folder of this machine, since archives are published.
"""

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from jobledger.cli import reading
from jobledger.settings.model import Settings
from statemachine.errors import EntryUnreadable
from statemachine.ids import JobUid
from statemachine.log.port import ReadableLog
from tests.histories import archive
from tests.histories.archive import Life, life_of
from tests.histories.checking import problems
from tests.histories.choosing import Candidate, chosen

LIVES: Final = 100
"""Lives that are taken of a log."""

_OURS: Final = tuple(str(folder).encode() for folder in (Path.home(), Path.cwd(), tempfile.gettempdir()))


async def jobs_in(log: ReadableLog) -> dict[JobUid, list[bytes]]:
    """The entries of every job, in the order of their first ones."""
    jobs: dict[JobUid, list[bytes]] = {}
    async for batch in log.scan():
        for record in batch:
            jobs.setdefault(record.job, []).append(record.body)
    return jobs


def publishable(jobs: Iterable[Sequence[bytes]]) -> tuple[list[Life], list[str]]:
    """The lives that may be kept, and why others may not."""
    lives: list[Life] = []
    refused: list[str] = []
    for number, bodies in enumerate(jobs, 1):
        name = f"job-{number}"
        if any(folder in body for folder in _OURS for body in bodies):
            refused.append(f"{name}: names a folder of this machine")
            continue
        try:
            life = life_of(name, bodies)
        except EntryUnreadable as error:
            refused.append(f"{name}: {error.reason}")
            continue
        wrong = next(problems(life), "")
        if wrong:
            refused.append(wrong)
        else:
            lives.append(life)
    return lives, refused


def export(store: str, path: Path, number: int) -> tuple[list[Life], list[str]]:
    """An archive at `path` has so many lives of the log at most; gives them, and what was left out and why."""
    url = store if ":" in store else None
    settings = Settings() if url else Settings(store=Path(store))
    lives, refused = publishable(reading.reading(settings, jobs_in, url).values())
    taken = {
        candidate.name for candidate in chosen([Candidate(life.name, life.bodies) for life in lives], number)
    }
    kept = [life for life in lives if life.name in taken]
    archive.write(path, kept)
    return kept, refused


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the archive; gives 1 if a life had to be left out."""
    parser = argparse.ArgumentParser("python -m tests.histories.export", description=__doc__)
    parser.add_argument("store", help="file of a ledger, or kafka://HOST:PORT/PREFIX")
    parser.add_argument("folder", type=Path, help="where the archive goes")
    parser.add_argument("--name", default="exported", help="what it is called (default: %(default)s)")
    parser.add_argument("--lives", type=int, default=LIVES, help="how many at most (default: %(default)s)")
    asked = parser.parse_args(arguments)
    path = asked.folder / f"{asked.name}{archive.SUFFIX}"
    if path.exists():
        parser.error(f"{path.name} is there already, and is never written again")
    lives, refused = export(asked.store, path, asked.lives)
    for text in refused:
        print(f"left out: {text}")  # noqa: T201
    entries = sum(len(life.bodies) for life in lives)
    print(f"{path.name}: {len(lives)} lives, {entries} entries, {path.stat().st_size / 1e6:.2f} MB")  # noqa: T201
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
