"""Public events in files of JSON Lines: written whole or not at all, and read back."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from statemachine.errors import ConfigError

NAME: Final = "events.jsonl"
"""Of the file that an export makes in a directory."""

Write = Callable[[bytes], object]


@contextmanager
def written(place: str) -> Iterator[Write]:
    """Takes lines for the file, or the directory, at `place`; `-` is standard output.

    A file gets its name when it is complete and on the disk. Raises ConfigError.
    """
    if place == "-":
        yield lambda line: sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
        return
    path = Path(place) / NAME if Path(place).is_dir() else Path(place)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield lambda line: file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def opened(place: str) -> Iterator[BinaryIO]:
    """The file at `place`, or the one that an export made in that directory; `-` is standard input."""
    if place == "-":
        yield sys.stdin.buffer
        return
    path = Path(place) / NAME if Path(place).is_dir() else Path(place)
    try:
        file = path.open("rb")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    with file:
        yield file


def id_of(line: bytes) -> str:
    """The id of a structured event; empty if the line is none."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    id_ = event.get("id") if isinstance(event, dict) else None
    return id_ if isinstance(id_, str) else ""
