"""Many recorded lives in one compressed file.

A life is a line of JSON, which says what it has to fold to for ever, and behind it the job's entries as the log held
them, one a line. Phases and digests of statuses stand there once an entry; of a digest its first sixteen digits are
enough to tell two statuses apart. XZ, since lives repeat each other: a thousand entries take a tenth of a megabyte.
"""

import json
import lzma
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statemachine.log.codec import decode
from statemachine.log.port import Record
from statemachine.observations import JobObserved
from tests.histories.record import folded

FOLDER: Final = Path(__file__).parent / "archives"
SUFFIX: Final = ".jsonl.xz"

_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Life:
    """One recorded job: its entries, and the phase and the status digest behind each of them."""

    name: str
    kind: str
    bodies: tuple[bytes, ...]
    phases: tuple[str, ...]
    statuses: tuple[str, ...]

    def records(self) -> list[Record]:
        """The entries as a log holds them that has no other job."""
        job = decode(self.bodies[0]).job
        return [Record(number, job, number, body) for number, body in enumerate(self.bodies, 1)]


def expected(bodies: Iterable[bytes]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What today's code folds the entries of one job to: phases, and digests of statuses."""
    whole = list(bodies)
    result = folded(decode(whole[0]).job, whole)
    return tuple(result["phases"]), tuple(digest[:_DIGITS] for digest in result["statuses"])


def life_of(name: str, bodies: Iterable[bytes]) -> Life:
    """The life that these entries tell, with what they fold to today."""
    whole = tuple(bodies)
    cause = decode(whole[0]).cause
    kind = cause.kind if isinstance(cause, JobObserved) else ""
    return Life(name, kind, whole, *expected(whole))


def write(path: Path, lives: Iterable[Life]) -> int:
    """The lives are in a new file, in this order; gives its size. Equal lives give equal bytes.

    Raises:
        FileExistsError: there is such a file, and what is recorded is never written again.
    """
    packed = lzma.compress(b"".join(line + b"\n" for life in lives for line in _lines(life)), preset=9)
    with path.open("xb") as file:
        return file.write(packed)


def read(path: Path) -> Iterator[Life]:
    """The lives of an archive, in its order."""
    lines = iter(lzma.decompress(path.read_bytes()).splitlines())
    for line in lines:
        head = json.loads(line)
        bodies = tuple(next(lines) for _ in head["phases"])
        yield Life(head["life"], head["kind"], bodies, tuple(head["phases"]), tuple(head["statuses"]))


def archives() -> list[Path]:
    """Every archive there is."""
    return sorted(FOLDER.glob(f"*{SUFFIX}"))


def _lines(life: Life) -> Iterator[bytes]:
    head = {"life": life.name, "kind": life.kind, "phases": life.phases, "statuses": life.statuses}
    yield json.dumps(head, separators=(",", ":")).encode()
    yield from life.bodies
