"""kill -9 of `jobledger serve`, again and again over a running job: nothing twice, nothing forgotten, no holes.

Every third life of the server has a real start, so that kills at any moment of a start are among them.
"""

import itertools
import json
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobledger.places import socket_path
from statemachine.log.kafka.address import Address
from tests.harness import program, wait_for
from tests.support.repetition import kills
from tests.support.seeds import chance

pytestmark = pytest.mark.integration

KILLS = kills(6)
STARTING = 5
"""Of so many kills one hits a server that starts; the others wait until it serves."""

REPLICAS = 3
FAILURES = 4
"""Starts of each replica but the first that fail, before one that lasts."""

SCRIPT = """
echo "$ME $ATTEMPT $UID" >> "$TALLY"
if [ "$RANK" != 0 ] && [ "$(grep -c "^$ME " "$TALLY")" -le {failures} ]; then sleep 0.7; exit 9; fi
while [ ! -e "$STOP" ]; do sleep 0.05; done
"""


def manifest(folder: Path) -> dict[str, Any]:
    def field(name: str, path: str) -> dict[str, Any]:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}

    env = [
        field("ME", "metadata.name"),
        field("UID", "metadata.uid"),
        field("ATTEMPT", "metadata.annotations['jobledger.dev/attempt']"),
        {"name": "TALLY", "value": str(folder / "tally")},
        {"name": "STOP", "value": str(folder / "stop")},
    ]
    script = SCRIPT.replace("{failures}", str(FAILURES))
    container = {"name": "pytorch", "image": "none", "command": ["sh", "-c", script], "env": env}
    worker = {"type": "worker", "replicas": REPLICAS, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": "survivor"},
        "spec": {"replicaSpecs": [worker], "runPolicy": {"backoffLimit": 100, "cleanUpPolicy": "None"}},
    }


class Server:
    """A `jobledger serve` that is killed and started again over one store."""

    def __init__(self, folder: Path, log: Sequence[str]) -> None:
        self.folder, self.store, self.log = folder, folder / "ledger.db", log
        self.lives = itertools.count()
        self.start()

    def start(self) -> None:
        words = ["serve", "--store", str(self.store), *self.log]
        env = {**os.environ, "JOBLEDGER_KAFKA__INSTANCE": "serve", "JOBLEDGER_RESTART__BACKOFF": "0"}
        with (self.folder / "serve.log").open("ab") as log:
            self.process = program.start(
                *words, stdout=log, stderr=log, env=env, real=not next(self.lives) % 3
            )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def serves(self) -> bool:
        """It has recovered, and answers."""
        with socket.socket(socket.AF_UNIX) as caller, suppress(OSError):
            caller.settimeout(60)
            caller.connect(str(socket_path(self.store)))
            caller.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return caller.recv(64).startswith(b"HTTP/1.1 200 ")
        return False

    def cli(self, *arguments: str, check: bool = True) -> str:
        done = program.run(*arguments, "--store", str(self.store), within=150)
        assert not check or done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def until(self, *arguments: str, within: float = 90.0) -> str:
        """What a client verb prints as soon as it succeeds."""
        end = time.monotonic() + within
        while True:
            done = program.run(*arguments, "--store", str(self.store), within=150)
            if done.returncode == 0:
                return done.stdout
            assert time.monotonic() < end, (arguments, done.stdout, done.stderr)


@pytest.fixture(params=["sqlite", "kafka"])
def log(request: pytest.FixtureRequest) -> Sequence[str]:
    """What a command has to be told of where the log is."""
    if request.param == "sqlite":
        return ()
    address: Address = request.getfixturevalue("ledger_topics")
    return ("--log", str(address))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_again_and_again_start_nothing_twice_and_lose_nothing(
    tmp_path: Path, log: Sequence[str]
) -> None:
    choices, while_serving = chance(7), 0
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(manifest(tmp_path)))
    server = Server(tmp_path, log)
    try:
        server.until("submit", str(tmp_path / "job.yaml"))
        for number in range(KILLS):
            if number % STARTING != STARTING - 1:
                wait_for("it serves", server.serves)
                while_serving += 1
            time.sleep(choices.uniform(0.02, 0.7))  # what is under test is that any moment will do
            assert server.process.poll() is None, "it has ended by itself"
            server.kill()
            server.start()
        spent = (REPLICAS - 1) * FAILURES
        server.until("wait", "survivor", f"--for=jsonpath={{.status.backoffCount}}={spent}", "--timeout=60")
        running = f"--for=jsonpath={{.status.aggregate.running}}={REPLICAS}"
        server.until("wait", "survivor", running, "--timeout=60")
        (tmp_path / "stop").touch()
        server.until("wait", "survivor", "--for=phase=Succeeded", "--timeout=60")
        job = json.loads(server.cli("get", "survivor", "-o", "json"))
        entries = json.loads(server.cli("history", "survivor", "-o", "json", *log))
        server.cli("replay", "--verify", *log)
    finally:
        (tmp_path / "stop").touch()
        server.kill()

    assert while_serving == KILLS - KILLS // STARTING
    starts = Counter(line for line in (tmp_path / "tally").read_text().splitlines())
    assert set(starts.values()) == {1}, "a pod was started twice"
    attempts = {tuple(line.split()[:2]) for line in starts}
    assert len(attempts) == len(starts), "an attempt had two pods"
    failed = [line for line in starts if not line.split()[0].endswith("worker-0")]
    assert job["status"]["backoffCount"] == spent
    assert len(failed) == (REPLICAS - 1) * (FAILURES + 1), "a pod was forgotten"
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    numbers: dict[str, set[int]] = {}
    for pod, attempt in attempts:
        numbers.setdefault(pod, set()).add(int(attempt))
    assert all(those == set(range(1, len(those) + 1)) for those in numbers.values()), "an attempt never ran"
    lost = [event for entry in entries for event in entry["events"] if event["type"] == "ReplicaLost"]
    assert lost == []
