"""The consumers of examples/consumers that need no Kafka, over events of a ledger."""

import base64
import json
import sqlite3
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from standardwebhooks import Webhook

from tests.harness import program
from tests.integration.consumers.published import CONSUMERS, consumer, exported, ledger, running
from tests.integration.ports import free_port

pytestmark = pytest.mark.integration


def signed(key: Path, line: str) -> dict[str, str]:
    """The headers of an event that is sent again."""
    now = datetime.now(UTC)
    id_ = json.loads(line)["id"]
    signature = Webhook(key.read_text().strip()).sign(id_, now, line)
    stamp = str(int(now.timestamp()))
    return {"webhook-id": id_, "webhook-timestamp": stamp, "webhook-signature": signature}


def test_the_receiver_of_web_hooks_keeps_every_event_once_and_refuses_what_is_forged(tmp_path: Path) -> None:
    store, key, events = ledger(tmp_path), tmp_path / "hook.key", tmp_path / "events.db"
    lines = exported(store)
    key.write_text(f"whsec_{base64.b64encode(bytes(range(32))).decode()}\n")
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    command = consumer("webhook_receiver.py", "--key", str(key), "--store", str(events), "--port", str(port))
    with running(*command) as receiver:
        receiver.until(lambda line: "Uvicorn running" in line)
        published = ("publish", "--store", str(store), "--to", url, "--key", str(key), "--once")
        done = program.run("events", *published)
        assert done.returncode == 0, done.stderr
        assert httpx.post(url, content=lines[0], headers=signed(key, lines[0])).status_code == 204
        forged = {"webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
        assert httpx.post(url, content=b"{}", headers=forged).status_code == 401
    wanted = {json.loads(line)["id"]: json.loads(line) for line in lines}
    with sqlite3.connect(events) as kept:
        rows = kept.execute("SELECT id, event FROM events").fetchall()
    kept.close()
    assert {id_: json.loads(event) for id_, event in rows} == wanted


@pytest.mark.parametrize("as_file", [True, False])
def test_the_script_names_the_jobs_that_failed(tmp_path: Path, as_file: bool) -> None:
    lines = "\n".join(exported(ledger(tmp_path)))
    (tmp_path / "events.jsonl").write_text(lines)
    arguments = [str(tmp_path / "events.jsonl")] if as_file else []
    done = subprocess.run(
        [str(CONSUMERS / "failures.sh"), *arguments],
        input=None if as_file else lines,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    [row] = done.stdout.splitlines()
    assert row.split("\t")[1:3] == ["demo/mnist", "BackoffLimitExceeded"]
