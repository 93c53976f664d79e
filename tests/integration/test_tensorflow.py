"""TensorFlow itself reads the TF_CONFIG of two workers that are processes of this machine, and trains in both."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.programs import HERE, built

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
def test_two_workers_train_one_model_by_the_strategy_that_reads_tf_config(tmp_path: Path) -> None:
    python, missing = built(HERE / "tensorflow")
    if python is None:
        pytest.skip(missing)
    command = ["run", str(ROOT / "examples" / "train-mirrored.yaml"), "--logs", "--timeout=500s"]
    done = subprocess.run(
        [sys.executable, "-m", "jobledger", *command, "--store", str(tmp_path / "ledger.db")],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=550,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("worker-0", "worker-1"):
        assert f"{name} of 2: y = 3.0 x + 1.0" in done.stdout
