"""Disks of a few megabytes that can be filled."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import disk_usage
from typing import Final

import pytest

_BALLAST: Final = "ballast"


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A disk of 4 MiB at this new folder; skips the test where none can be mounted."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> None:
    """There is no room for anything."""
    with (disk / _BALLAST).open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    assert disk_usage(disk).free == 0


def free(disk: Path) -> None:
    """There is the room that `fill` took."""
    (disk / _BALLAST).unlink()
