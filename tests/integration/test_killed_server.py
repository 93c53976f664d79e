"""kill -9 of `jobledger serve`, again and again over a running job: nothing twice, nothing forgotten, no holes.

The workers of the job fail and are restarted for as long as the server is killed, so that no kill comes when the work
is done. Every third life of the server has a real start, so that kills at any moment of a start are among them.
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
from typing import Any, NamedTuple

import pytest
import yaml

from jobledger.settings.locations import socket_path
from statemachine.log.kafka.address import Address
from tests.harness import program, wait_for
from tests.support.repetition import kills
from tests.support.seeds import chance

pytestmark = pytest.mark.integration

KILLS = kills(6)
STARTING = 6
"""Of so many kills one hits a server that starts; the others wait until it serves."""
GOING_ON = 3
"""Before one of so many kills the job has gone on: lives of half a second might end before anything is decided."""

REPLICAS = 3

SCRIPT = """
if [ "$RANK" != 0 ] && [ ! -e "$CALM" ]; then
    echo "$ME $ATTEMPT $UID fails" >> "$TALLY"
    sleep 0.7
    exit 9
fi
echo "$ME $ATTEMPT $UID lasts" >> "$TALLY"
while [ ! -e "$STOP" ]; do sleep 0.05; done
"""
"""A start writes down how it is going to end: until it is calm, every replica but the first fails."""


def manifest(folder: Path) -> dict[str, Any]:
    def field(name: str, path: str) -> dict[str, Any]:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}

    env = [
        field("ME", "metadata.name"),
        field("UID", "metadata.uid"),
        field("ATTEMPT", "metadata.annotations['jobledger.dev/attempt']"),
        {"name": "TALLY", "value": str(folder / "tally")},
        {"name": "CALM", "value": str(folder / "calm")},
        {"name": "STOP", "value": str(folder / "stop")},
    ]
    container = {"name": "pytorch", "image": "none", "command": ["sh", "-c", SCRIPT], "env": env}
    worker = {"type": "worker", "replicas": REPLICAS, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": "survivor"},
        "spec": {"replicaSpecs": [worker], "runPolicy": {"backoffLimit": 1000, "cleanUpPolicy": "None"}},
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
    """The options by which a command knows where the log is."""
    if request.param == "sqlite":
        return ()
    address: Address = request.getfixturevalue("ledger_topics")
    return ("--log", str(address))


class Start(NamedTuple):
    """A line of the tally: a pod that was started."""

    replica: str
    attempt: int
    uid: str
    ends: str


def starts(folder: Path) -> list[Start]:
    """Every start of a pod so far, in order."""
    lines = (folder / "tally").read_text(encoding="utf-8").splitlines()
    return [Start(pod, int(attempt), uid, ends) for pod, attempt, uid, ends in map(str.split, lines)]


def all_last(folder: Path) -> bool:
    """The latest start of each replica is one that does not fail."""
    latest = {start.replica: start.ends for start in starts(folder)}
    return list(latest.values()) == ["lasts"] * REPLICAS


def until_it_goes_on(server: Server) -> None:
    """A worker is started that had not been started yet."""
    before = len(starts(server.folder))
    wait_for("a worker is started again", lambda: len(starts(server.folder)) > before)


def kill_again_and_again(server: Server) -> int:
    """How many of the kills hit a server that served."""
    choices, while_serving = chance(7), 0
    for number in range(KILLS):
        serving = number % STARTING != STARTING - 1
        if serving:
            wait_for("it serves", server.serves)
        if number % GOING_ON == 1:
            until_it_goes_on(server)
        time.sleep(choices.uniform(0.02, 0.7))  # what is under test is that any moment will do
        assert server.process.poll() is None, "it has ended by itself"
        server.kill()
        while_serving += serving
        server.start()
    return while_serving


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_again_and_again_start_nothing_twice_and_lose_nothing(
    tmp_path: Path, log: Sequence[str]
) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(manifest(tmp_path)))
    server = Server(tmp_path, log)
    try:
        server.until("submit", str(tmp_path / "job.yaml"))
        wait_for("a worker has been started", (tmp_path / "tally").exists)
        while_serving = kill_again_and_again(server)
        failed_under_kills = sum(start.ends == "fails" for start in starts(tmp_path))
        (tmp_path / "calm").touch()
        wait_for("the last start of each replica lasts", lambda: all_last(tmp_path))
        spent = sum(start.ends == "fails" for start in starts(tmp_path))
        server.until("wait", "survivor", f"--for=jsonpath={{.status.backoffCount}}={spent}", "--timeout=60")
        running = f"--for=jsonpath={{.status.aggregate.running}}={REPLICAS}"
        server.until("wait", "survivor", running, "--timeout=60")
        (tmp_path / "stop").touch()
        server.until("wait", "survivor", "--for=phase=Succeeded", "--timeout=60")
        job = json.loads(server.cli("get", "survivor", "-o", "json"))
        entries = json.loads(server.cli("history", "survivor", "-o", "json", *log))
        server.cli("replay", "--verify", *log)
    finally:
        (tmp_path / "calm").touch()
        (tmp_path / "stop").touch()
        server.kill()

    hit = f"{while_serving} of {KILLS} kills hit a server that served, {failed_under_kills} workers failed meanwhile"
    print(hit)  # noqa: T201
    assert while_serving >= KILLS - KILLS // STARTING
    assert failed_under_kills >= KILLS // GOING_ON, "the job was hardly under way"
    assert job["status"]["backoffCount"] == spent
    began = Counter((start.replica, start.attempt, start.uid) for start in starts(tmp_path))
    assert set(began.values()) == {1}, "a pod was started twice"
    attempts = {(start.replica, start.attempt) for start in starts(tmp_path)}
    assert len(attempts) == len(began), "an attempt had two pods"
    assert len(began) == spent + REPLICAS, "a pod was forgotten"
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    numbers: dict[str, set[int]] = {}
    for pod, attempt in attempts:
        numbers.setdefault(pod, set()).add(attempt)
    assert all(those == set(range(1, len(those) + 1)) for those in numbers.values()), "an attempt never ran"
    lost = [event for entry in entries for event in entry["events"] if event["type"] == "ReplicaLost"]
    assert lost == []
