"""A disk that has no room any more, under a store: commands say so and end, and what was written stays whole."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli_words import SECONDS, Place, is_alive, script, wait_until
from tests.support.small_disks import fill, free, small_disk

pytestmark = pytest.mark.integration

UNTIL_ASKED = """
import os, time
if not os.path.exists("pid"):
    open("pid", "w").write(str(os.getpid()))
    print("ready", flush=True)
while not os.path.exists("stop"):
    time.sleep(0.02)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small one; skips where none can be mounted."""
    with small_disk(tmp_path / "disk") as place:
        yield place


class Crowded(Place):
    """A folder whose store, and nothing else, is on a small disk."""

    @property
    def store(self) -> Path:
        return self.folder / "disk" / "ledger.db"

    def fill(self) -> None:
        fill(self.store.parent)

    def free(self) -> None:
        free(self.store.parent)


@pytest.fixture
def place(tmp_path: Path, disk: Path) -> Crowded:
    assert disk.parent == tmp_path
    return Crowded(tmp_path)


def _pid(place: Place) -> int:
    path = place.folder / "pid"
    wait_until(lambda: path.exists() and path.read_text(), "its process")
    return int(path.read_text())


def _goes_on(place: Crowded) -> None:
    """With room, everything works on the store, and the same command brings the job to its end."""
    (place.folder / "stop").touch()
    done = place.run("run", "job.yaml")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "Succeeded" in place.ok("history", "long")
    place.ok("replay", "--verify")


def _said(place: Crowded, said: str) -> None:
    lines = [line for line in said.splitlines() if line.startswith("jobledger: ")]
    assert len(lines) == 1, said
    assert re.search(rf"no space is left for store {place.store}: .* long .*free some", lines[0])
    assert "Traceback" not in said


def test_run_ends_its_processes_and_itself(place: Crowded) -> None:
    place.env["JOBLEDGER_FULL"] = "2s"
    place.write("job.yaml", script("long", UNTIL_ASKED))
    process = place.start("run", "job.yaml")
    pid = _pid(place)
    place.fill()
    said, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 3, said
    _said(place, said)
    assert not is_alive(pid)
    place.free()
    _goes_on(place)


def test_an_end_that_cannot_be_written_is_written_later(place: Crowded) -> None:
    place.env["JOBLEDGER_FULL"] = "2s"
    place.write("job.yaml", script("long", UNTIL_ASKED))
    process = place.start("run", "job.yaml")
    pid = _pid(place)
    place.fill()
    (place.folder / "stop").touch()
    said, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 3, said
    _said(place, said)
    assert not is_alive(pid)
    place.free()
    _goes_on(place)
    assert "RestartScheduled" not in place.ok("history", "long")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_can_be_stopped_while_its_disk_is_full(place: Crowded, number: signal.Signals) -> None:
    place.env["JOBLEDGER_FULL"] = "1h"
    place.write("job.yaml", script("long", UNTIL_ASKED))
    process = place.start("run", "job.yaml")
    pid = _pid(place)
    place.fill()
    process.send_signal(number)
    said, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 3, said
    _said(place, said)
    assert not is_alive(pid)
    place.free()
    _goes_on(place)


def test_run_on_a_disk_that_is_full_before_it_starts_says_so(place: Crowded) -> None:
    place.env["JOBLEDGER_FULL"] = "1s"
    place.write("other.yaml", script("other", "pass"))
    assert place.run("run", "other.yaml").returncode == 0
    place.fill()
    place.write("job.yaml", script("long", UNTIL_ASKED))
    done = place.run("run", "job.yaml")
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert "no space" in done.stderr.lower()
    place.free()
    _goes_on(place)


def test_a_server_says_that_its_disk_is_full_and_ends_when_asked(place: Crowded) -> None:
    place.write("job.yaml", script("long", UNTIL_ASKED))
    process = place.start("serve")
    wait_until(place.is_served)
    place.ok("submit", "job.yaml")
    pid = _pid(place)
    place.fill()
    refused = place.run("pause", "long")
    assert refused.returncode == 3, refused.stdout
    assert "no space is left" in refused.stderr
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=SECONDS)
    assert "no space is left" in said
    assert "Traceback" not in said
    assert is_alive(pid), "the jobs of a server go on"
    place.free()
    _goes_on(place)
