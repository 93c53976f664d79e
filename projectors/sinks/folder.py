"""Files of public events in a directory: their names, their order, and where the last whole lines stand."""

import mmap
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from projectors.contract.envelope import id_of
from statemachine.errors import ConfigError
from statemachine.ids import JobUid

_NAME: Final = re.compile(r"events-([0-9]+)\.jsonl")


def parts(folder: Path) -> Sequence[Path]:
    """The files of events in the directory, oldest first; the last one grows."""
    return [folder / f"events-{number}.jsonl" for number in sorted(_numbers(folder))]


def next_part(folder: Path) -> Path:
    """The file that follows those that are there."""
    return folder / f"events-{max(_numbers(folder), default=0) + 1}.jsonl"


def _numbers(folder: Path) -> Sequence[int]:
    matches = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    return [int(match[1]) for match in matches if match]


def whole(path: Path) -> int:
    """How many bytes of the file are whole lines."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return text.rfind(b"\n") + 1


def last_ids(paths: Sequence[Path], partitions: int, number_of: Callable[[JobUid], int]) -> dict[int, str]:
    """The id of the last event of every partition that has one in `paths`, which end with whole lines.

    Reads from the end, and no further than all partitions need. Raises ConfigError for a line that is no event.
    """
    last: dict[int, str] = {}
    for path in reversed(paths):
        for line in _backwards(path):
            id_ = id_of(line)
            if not id_:
                raise ConfigError(
                    f"{path} has a line that is no event, behind which nothing is written: give another directory"
                )
            last.setdefault(number_of(JobUid(id_.partition("/")[0])), id_)
            if len(last) == partitions:
                return last
    return last


def _backwards(path: Path) -> Iterator[bytes]:
    """The lines of the file, the last one first."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            end = len(text)
            while end:
                start = text.rfind(b"\n", 0, end - 1) + 1
                yield text[start:end]
                end = start
