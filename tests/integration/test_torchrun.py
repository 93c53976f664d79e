"""The torchrun example, run by real torchrun: two replicas of two processes that train together."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


def has_torch(python: str) -> bool:
    command = [
        python,
        "-c",
        "import torch.distributed as d; assert d.is_available() and d.is_gloo_available()",
    ]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def any_torch() -> bool:
    """A Python that the local cluster would find, too: the one on the PATH, or the system's."""
    programs = [shutil.which("python3"), "/usr/bin/python3"]
    return any(has_torch(program) for program in programs if program and Path(program).exists())


@pytest.mark.timeout(600)
def test_the_torchrun_example_trains_in_four_processes(tmp_path: Path) -> None:
    if not any_torch():
        pytest.skip("no Python with torch and gloo here; on Debian: apt-get install python3-torch")
    command = [
        sys.executable,
        "-m",
        "jobledger",
        "run",
        str(ROOT / "examples" / "torchrun-ddp.yaml"),
        "--logs",
        "--timeout=200s",
    ]
    done = subprocess.run(
        [*command, "--store", str(tmp_path / "ledger.db")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=220,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "world size 4" in done.stdout
