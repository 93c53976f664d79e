"""A server that does not answer, as processes meet it: a listener that accepts nothing, or says nothing."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX, socket
from threading import Thread

import pytest

from tests.harness.program import run, start
from tests.unit.cli_offline.conftest import failed, write

VERBS = {
    "submit": ["submit", "job.yaml"],
    "get": ["get"],
    "describe": ["describe", "digits"],
    "logs": ["logs", "digits"],
    "pause": ["pause", "digits"],
    "resume": ["resume", "digits"],
    "scale": ["scale", "digits", "--replicas", "2"],
    "delete": ["delete", "digits"],
}

JOB = """
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: digits}
spec: {replicaSpecs: [{type: worker, template: {spec: {containers: [{name: pytorch, image: x, command: [ls]}]}}}]}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


@contextmanager
def listening(path: Path, backlog: int = 8) -> Iterator[socket]:
    with socket(AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(backlog)
        yield listener


def _environment(place: Path) -> dict[str, str]:
    return {**os.environ, "JOBLEDGER_STORE": str(place / "ledger.db")}


def asked(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(*arguments, cwd=place, env=_environment(place))


@pytest.mark.parametrize("verb", VERBS)
def test_a_server_that_is_silent_is_reported_with_its_address_and_what_to_do(verb: str, place: Path) -> None:
    address = place / "ledger.db.sock"
    with listening(address):
        done = asked(place, *VERBS[verb])
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        f"jobledger: no server at {address} (something listens there, and has said nothing for 2 s); "
        "it starts, or is stopped, stuck or overloaded: try again, or start another with `jobledger serve`\n"
    )


def test_get_and_describe_answer_from_the_store_beside_a_server_that_is_silent(place: Path) -> None:
    write(place / "ledger.db", failed())
    with listening(place / "ledger.db.sock"):
        for words in (["get", "-n", "demo"], ["describe", "mnist", "-n", "demo"]):
            done = asked(place, *words)
            assert (done.returncode, "Failed" in done.stdout) == (0, True)
            assert "has said nothing for 2 s); this is the state in the store" in done.stderr


def test_a_server_whose_queue_of_connections_is_full_is_silent_as_well(place: Path) -> None:
    address = place / "ledger.db.sock"
    with listening(address, backlog=0), socket(AF_UNIX) as first:
        first.connect(str(address))
        done = asked(place, "pause", "digits")
    assert done.returncode == 3
    assert "has said nothing for 2 s" in done.stderr


def test_a_socket_with_nobody_behind_it_is_reported_at_once(place: Path) -> None:
    address = place / "ledger.db.sock"
    with listening(address):
        pass
    assert address.exists()
    for goal in (["get"], ["wait", "digits", "--for", "delete", "--timeout", "1h"]):
        done = asked(place, *goal)
        assert (done.returncode, done.stderr) == (
            3,
            f"jobledger: no server at {address}; start one with `jobledger serve`\n",
        )


def test_nothing_is_asked_of_a_server_that_has_not_answered(place: Path) -> None:
    with listening(place / "ledger.db.sock") as listener:
        assert asked(place, "delete", "digits").returncode == 3
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1 << 16).startswith(b"GET /healthz ")
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize(
    "arguments",
    [
        ["wait", "digits", "--for", "phase=Succeeded", "--timeout", "5m"],
        ["logs", "digits", "--follow"],
    ],
)
def test_a_verb_that_waits_says_so_and_goes_on_when_the_server_answers(
    arguments: list[str], place: Path
) -> None:
    address = place / "ledger.db.sock"
    with (
        listening(address) as listener,
        start(
            *arguments,
            cwd=place,
            env=_environment(place),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as waiting,
    ):
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == (
            f"jobledger: no server at {address} (something listens there, and has said nothing for 2 s); "
            "waiting for it\n"
        )
        assert waiting.poll() is None
        answering = Thread(target=_refuse_all, args=(listener,), daemon=True)
        answering.start()
        _, said = waiting.communicate(timeout=120)
    assert (waiting.returncode, said) == (2, "jobledger: it has answered\n")


def _refuse_all(listener: socket) -> None:
    """Every request is answered: that there is no such job."""
    body = json.dumps({"code": "unknown-job", "detail": "it has answered"}).encode()
    head = f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.recv(1 << 16)
            try:
                connection.sendall(head + body)
            except BrokenPipeError:  # the connection that was given up after two seconds
                continue


def test_a_wait_ends_when_its_time_is_up_though_nobody_has_answered(place: Path) -> None:
    with listening(place / "ledger.db.sock"):
        done = asked(place, "wait", "digits", "--for", "phase=Succeeded", "--timeout", "3s")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].startswith("jobledger: no server at ")
    assert "has said nothing for 3 s" in done.stderr
