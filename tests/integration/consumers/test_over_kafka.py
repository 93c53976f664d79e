"""The consumers of examples/consumers that read the topic, on a real broker."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.integration.consumers.conftest import Published
from tests.integration.consumers.published import CONSUMERS, consumer, running

pytestmark = pytest.mark.integration

TABLE = {
    "aaaa-1111": {"job": "demo/mnist", "phase": "Running", "restarts": 0, "gone": True},
    "bbbb-2222": {"job": "demo/mnist", "phase": "Failed", "restarts": 1, "gone": False},
    "cccc-3333": {"job": "demo/quota", "phase": "Pending", "restarts": 0, "gone": False},
}


def test_a_table_is_built_from_the_first_record_on(published: Published) -> None:
    with running(*consumer("table.py", published.servers, published.topic)) as lines:
        lines.until(lambda line: line.startswith("{") and json.loads(line) == TABLE)


def test_a_job_that_failed_is_an_alert(published: Published) -> None:
    command = consumer("alerts.py", published.servers, published.topic, published.topic)
    with running(*command) as lines:
        lines.until(lambda line: line.startswith("demo/mnist failed: BackoffLimitExceeded"))


def test_the_last_events_are_printed_by_kcat(published: Published) -> None:
    done = subprocess.run(
        [str(CONSUMERS / "recent.sh"), published.servers, published.topic, "1000"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    events = [json.loads(line) for line in published.lines]
    assert sorted((type_, job, json.dumps(json.loads(data))) for type_, job, data in rows) == sorted(
        (event["type"], f"{event['namespace']}/{event['subject']}", json.dumps(event["data"]))
        for event in events
    )


def test_faust_counts_every_restart_once(published: Published, tmp_path: Path) -> None:
    where = {
        "KAFKA": published.servers,
        "TOPIC": published.topic,
        "APP": f"{published.topic}-faust",
        "PARTITIONS": "1",
        "DATA": str(tmp_path / "faust"),
    }
    command = consumer("faust_app.py", "worker", "--without-web", "--loglevel", "warn")
    with running(*command, env={**os.environ, **where}) as lines:
        lines.until(lambda line: "mnist 1" in line)
