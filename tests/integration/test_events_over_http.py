"""Public events of a real `jobledger serve`: the client and `events tail --server` go on when the server does."""

import json
import os
import signal
import subprocess
from itertools import islice
from pathlib import Path

import pytest

from jobledger.client import events
from jobledger.program.errors import NoServer, ServerRefused
from jobledger.settings.locations import socket_path
from tests.integration.cli_words import SECONDS, Place, script, wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def socket_of(place: Place) -> str:
    return str(socket_path(place.store))


def done(place: Place, name: str) -> None:
    """A job of this name has been run to its end."""
    place.ok("submit", place.write(f"{name}.yaml", script(name, "print('done')")))
    place.ok("wait", name, "--for", "phase=Succeeded", "--timeout", "50s")


def killed(place: Place) -> None:
    """A server has answered, and was killed."""
    server = place.start("serve")
    wait_until(place.is_served)
    os.killpg(server.pid, signal.SIGKILL)
    server.communicate(timeout=SECONDS)


def test_a_reader_goes_on_by_itself_when_its_server_was_killed(place: Place) -> None:
    with place.server():
        done(place, "first")
        reader = events(socket_of(place), after="beginning")
        received_lines = [received.line for received in islice(reader, 3)]
    killed(place)
    with place.server():
        done(place, "second")
        whole = list(events(socket_of(place), follow=False))
        received_lines += [received.line for received in islice(reader, len(whole) - 3)]
        assert received_lines == [received.line for received in whole]
        assert list(events(socket_of(place), after=whole[-1].cursor, follow=False)) == []
        assert {received.event["name"] for received in whole} == {"first", "second"}
    with pytest.raises(NoServer):
        next(events(socket_of(place)))


def test_tail_prints_what_a_server_has_and_what_comes(place: Place) -> None:
    with place.server():
        done(place, "first")
        of_log = place.ok("events", "tail", "-o", "jsonl")
        of_server = place.ok("events", "tail", "-o", "jsonl", "--server", socket_of(place))
        assert of_server == of_log
        rows = place.ok("events", "tail", "first", "--type", "job.succeeded", "--server", socket_of(place))
        assert rows.split()[1:] == ["INFO", "job.succeeded", "default/first"]
        cursors = [received.cursor for received in events(socket_of(place), follow=False)]
        rest = place.ok("events", "tail", "-o", "jsonl", "--server", socket_of(place), "--after", cursors[-1])
        assert rest == ""
        created = ("--type", "job.created", "-o", "jsonl")
        tail = place.start("events", "tail", "-f", *created, "--server", socket_of(place))
        assert tail.stdout is not None
        assert json.loads(tail.stdout.readline())["name"] == "first"
        done(place, "second")
        assert json.loads(tail.stdout.readline())["name"] == "second"
        tail.kill()
        tail.communicate(timeout=SECONDS)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--after", "yesterday"), '"yesterday" is no place to begin'),
        (("--after", "1-ffffffff-1"), "the cursor is of another ledger"),
        (("--type", "job.nothing"), '"job.nothing" is no type of public event'),
        (("--log", "sqlite:///x.db"), "leave out one of them"),
    ],
)
def test_what_the_server_refuses_is_said_in_one_sentence(
    place: Place, arguments: tuple[str, ...], sentence: str
) -> None:
    with place.server():
        refused: subprocess.CompletedProcess[str] = place.run(
            "events", "tail", "--server", socket_of(place), *arguments
        )
        assert refused.returncode == 2, refused.stderr
        assert sentence in refused.stderr
        assert "Traceback" not in refused.stderr
        with pytest.raises(ServerRefused):
            next(events(socket_of(place), after="1-ffffffff-1"))
