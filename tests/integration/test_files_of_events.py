"""Files of public events, written by real processes that are killed in a write, and on a disk that is full.

Source: spec events.md, section 19, E14. At full size: 500 kills.
"""

import asyncio
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from projectors.contract.envelope import structured
from projectors.contract.stream import Publisher
from statemachine.log.sqlite import SqliteLog
from tests.contract.lives import PUBLICATION
from tests.harness import program
from tests.integration.cli_words import ROOT, Place, wait_until
from tests.support.random_lives import mixed, stories
from tests.support.repetition import sized
from tests.support.seeds import chance
from tests.support.small_disks import fill, free, small_disk
from tests.support.stores import filled

pytestmark = pytest.mark.integration

KILLS = sized(6, 500)
SMALL = 60_000
"""Bytes at which a file is full."""


def ledger(store: Path, jobs: int, seed: int) -> None:
    random = chance(seed)
    asyncio.run(filled(store, *mixed(list(stories(jobs, random)), random)))


async def projection(store: Path) -> list[bytes]:
    log = await SqliteLog.open(store, beside=True)
    records = [record async for batch in log.scan() for record in batch]
    await log.close()
    return [structured(event) + b"\n" for event in Publisher(PUBLICATION).all(iter(records))]


def text_of(folder: Path) -> bytes:
    paths = sorted(folder.glob("events-*.jsonl"), key=lambda path: int(re.sub(r"\D", "", path.name)))
    return b"".join(path.read_bytes() for path in paths)


def publish(store: Path, folder: Path, limit: int, left: int) -> int:
    """The exit code of a publisher that may write so many bytes."""
    words = [str(store), str(folder), str(limit), str(left)]
    done = program.run(*words, module="tests.integration.file_publisher_process", cwd=ROOT)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode


def test_a_publisher_that_is_killed_in_any_write_leaves_files_that_become_the_projection(
    tmp_path: Path,
) -> None:
    random, store, folder = chance(14), tmp_path / "ledger.db", tmp_path / "events"
    ledger(store, 40, 14)
    expected = b"".join(asyncio.run(projection(store)))
    for _ in range(KILLS):
        limit = random.choice((SMALL, 2**30))
        if publish(store, folder, limit, random.randint(1, len(expected) // 3)) == 0:
            assert text_of(folder) == expected
            shutil.rmtree(folder)
        else:
            assert expected.startswith(text_of(folder))
    assert publish(store, folder, SMALL, 2**40) == 0
    assert text_of(folder) == expected


def test_a_disk_that_is_full_makes_a_publisher_wait_and_leaves_whole_lines(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ledger(place.store, 60, 15)
    with small_disk(tmp_path / "disk") as disk:
        folder = disk / "events"
        folder.mkdir()
        fill(disk)
        with place.start("events", "publish", "--to", f"file:{folder}") as process:
            try:
                _waits(process)
                assert text_of(folder) == b""
                free(disk)
                wait_until(lambda: place.run(*_verified(folder)).returncode == 0, "all events")
                assert text_of(folder).endswith(b"\n")
            finally:
                process.send_signal(signal.SIGTERM)
                process.communicate()


def _verified(folder: Path) -> tuple[str, ...]:
    return "events", "verify", "--in", f"file:{folder}"


def _waits(process: subprocess.Popen[str]) -> None:
    """The publisher has said that it waits."""
    assert process.stdout is not None
    for line in process.stdout:
        if "No space is left for public events" in line:
            return
    raise AssertionError("it ended")
