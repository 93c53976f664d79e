"""examples/tf_config.py: what it says of a TF_CONFIG that TensorFlow would not accept."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "tf_config.py"

GOOD: dict[str, Any] = {
    "cluster": {"worker": ["a:1", "b:1"]},
    "task": {"type": "evaluator", "index": 0},
}
"""That of an evaluator: it has nothing to wait for."""


def said_of(text: str) -> tuple[int, str]:
    """Exit code and last words of the program, given a TF_CONFIG."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env={**os.environ, "TF_CONFIG": text},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def task(type_: str, index: Any) -> dict[str, Any]:
    """A TF_CONFIG of two workers, and this task."""
    return {**GOOD, "task": {"type": type_, "index": index}}


def test_a_good_one_is_good() -> None:
    assert said_of(json.dumps(GOOD)) == (0, "evaluator-0: TF_CONFIG is good; in the cluster: 2 worker\n")


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ([], "TF_CONFIG is not an object"),
        ({"cluster": {"worker": ["a:1"]}}, "cluster and task have to be objects"),
        ({**GOOD, "cluster": {"worker": []}}, "cluster.worker: not a list of addresses"),
        ({**GOOD, "cluster": {"worker": ["a"]}}, "cluster.worker: 'a' is not host:port"),
        ({**GOOD, "cluster": {"chief": ["a:1", "b:1"]}}, "cluster.chief: more than one"),
        (
            {**GOOD, "cluster": {"ps": ["a:1"]}},
            "cluster: nobody leads, as there is neither a chief nor a worker",
        ),
        (task("ps", 0), "task.type: ps is not in the cluster"),
        (task("master", 0), "task.type: 'master' is no type of TensorFlow's"),
        (task("worker", 2), "task.index: 2 exceeds the cluster's 2 of type worker"),
        (task("worker", "0"), "task.index: '0' is no index"),
    ],
)
def test_a_broken_one_is_named_and_ends_the_program(config: object, problem: str) -> None:
    assert said_of(json.dumps(config)) == (1, f"TF_CONFIG: {problem}\n")
