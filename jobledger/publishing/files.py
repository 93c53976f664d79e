"""Public events in files of JSON Lines: written whole or not at all, and read back."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from projectors.contract.envelope import structured
from projectors.contract.page import PublicEvent
from projectors.sinks.folder import parts
from statemachine.errors import ConfigError

NAME: Final = "events.jsonl"
"""Of the file that an export makes in a directory."""

Write = Callable[[PublicEvent], object]


@contextmanager
def written(place: str) -> Iterator[Write]:
    """Takes events for the file, or the directory, at `place`; `-` is standard output.

    A file gets its name when it is complete and on the disk. Raises ConfigError.
    """
    if place == "-":
        yield lambda event: sys.stdout.buffer.write(structured(event) + b"\n")
        sys.stdout.buffer.flush()
        return
    with replaced(Path(place) / NAME if Path(place).is_dir() else Path(place)) as file:
        yield lambda event: file.write(structured(event) + b"\n")


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name when it is complete and on the disk. Raises ConfigError."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def opened(place: str) -> Iterator[Iterator[bytes]]:
    """The lines of the file at `place`, or of what is published or else exported there; `-` is standard input.

    Raises ConfigError.
    """
    if place == "-":
        yield iter(sys.stdin.buffer)
        return
    paths = (parts(Path(place)) or [Path(place) / NAME]) if Path(place).is_dir() else [Path(place)]
    with ExitStack() as files:
        try:
            opened_files = [files.enter_context(path.open("rb")) for path in paths]
        except OSError as error:
            raise ConfigError(f"{error.filename} cannot be read: {error.strerror}") from error
        yield chain.from_iterable(opened_files)
