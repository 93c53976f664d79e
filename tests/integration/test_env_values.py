"""Literal values of environment variables stay out of the log of real processes, which get them all the same."""

import sqlite3
from pathlib import Path

import pytest

from tests.integration.cli_words import Place, environment, script

pytestmark = pytest.mark.integration

TWICE = """
import os, sys
with open("team", "a") as file:
    print(os.environ["TEAM"], file=file)
if not os.path.exists("tried"):
    open("tried", "w").close()
    sys.exit(3)
"""


def test_a_process_that_is_started_again_has_the_value_that_the_log_has_not(tmp_path: Path) -> None:
    place = Place(tmp_path, environment(JOBLEDGER_PRIVACY__ENV_VALUES="false"))
    job = script("secretive", TWICE, runPolicy={"backoffLimit": 1})
    (container,) = job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    container |= {"env": [{"name": "TEAM", "value": "literal-4711"}], "workingDir": str(tmp_path)}
    job["spec"]["replicaSpecs"][0]["restartPolicy"] = "OnFailure"
    done = place.run("run", place.write("job.yaml", job))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 restart" in done.stdout
    assert (tmp_path / "team").read_text(encoding="utf-8").split() == ["literal-4711"] * 2
    with sqlite3.connect(place.store) as store:
        bodies = b"".join(bytes(body) for (body,) in store.execute("SELECT body FROM entries"))
    assert b"jobledger.dev/env-value:" in bodies
    assert b"literal-4711" not in bodies
    assert "literal-4711" not in place.ok("history", "secretive", "--full")
    assert "ok: 1 job" in place.ok("replay", "--verify")
