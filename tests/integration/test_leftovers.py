"""What a test leaves behind ends with it, and nobody else does."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.integration.cli_words import Place, script, wait_until
from tests.integration.leftovers import end_pods, pods_processes

pytestmark = pytest.mark.integration

RUNAWAY = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True, env={})
time.sleep(600)
"""
"""Starts a process that has neither its session nor its environment."""


def _runs_three(folder: Path) -> bool:
    return len(pods_processes(folder)) == 3


def test_every_process_of_a_pod_ends_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, other = Place(tmp_path / "one"), Place(tmp_path / "other")
    for place in (one, other):
        with place.server():
            place.ok("submit", place.write("job.yaml", script("runaway", RUNAWAY)))
            wait_until(partial(_runs_three, place.folder), "a shim and two processes")
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], cwd=one.folder)
    try:
        end_pods(one.folder)
        assert pods_processes(one.folder) == set()
        assert len(pods_processes(other.folder)) == 3
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_folder_without_pods_has_no_processes(tmp_path: Path) -> None:
    assert pods_processes(tmp_path) == set()
