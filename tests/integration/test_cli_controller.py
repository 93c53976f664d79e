"""`jobledger controller` with what cannot work: one sentence, the right exit code, and nothing is opened.

It is forked, but for the one that runs, and the one that cannot import its client.
"""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli_words import Place

pytestmark = pytest.mark.integration

BAD_INPUT, UNAVAILABLE = 2, 3


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def written(place: Place, name: str, text: str) -> str:
    """The name of a file that says just this."""
    (place.folder / name).write_text(text)
    return name


def kubeconfig(place: Place) -> str:
    """One that is right, of a cluster where nobody answers."""
    named = {"name": "x"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{**named, "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{**named, "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{**named, "user": {"token": "x"}}],
    }
    return written(place, "kubeconfig", json.dumps(config))


def refused(place: Place, *arguments: str) -> tuple[int, str]:
    """The exit code, and what is said on standard error, which is one sentence."""
    done = place.run("controller", "--listen", "127.0.0.1:0", *arguments, store=False)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return done.returncode, lines[0].removeprefix("jobledger: ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--roles", "bridge,projector"],
            '"projector" is no role; did you mean "projectors"? there are bridge,',
        ),
        (
            ["--log", "kafka://broker"],
            "--log needs a URL such as kafka://broker-1:9092,broker-2:9092, not",
        ),
        (["--log", "/ledger.db"], "--log needs a URL such as sqlite:///var/lib/jobledger/ledger.db, not"),
        (["--namespaces", "Team"], '--namespaces: "Team" cannot be the name of a namespace'),
        (["--listen", "8080"], "--listen needs HOST:PORT, such as"),
        (["--kubeconfig", "nowhere"], "there is no kubeconfig nowhere"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_said(place: Place, arguments: list[str], says: str) -> None:
    code, sentence = refused(place, *arguments)
    assert (code, sentence[: len(says)]) == (BAD_INPUT, says)
    assert not list(place.folder.iterdir())


@pytest.mark.parametrize("text", ["", "a: [", "just text", "{}", "[1]", "\x00"])
def test_a_kubeconfig_that_is_none_is_named(place: Place, text: str) -> None:
    name = written(place, "config", text)
    code, sentence = refused(place, "--kubeconfig", name)
    assert (code, sentence.startswith("the kubeconfig config ")) == (BAD_INPUT, True), sentence


def test_an_unknown_context_is_named(place: Place) -> None:
    code, sentence = refused(place, "--kubeconfig", kubeconfig(place), "--context", "production")
    assert code == BAD_INPUT
    assert "production" in sentence


def test_an_address_that_is_taken_is_named(place: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, sentence = refused(place, "--kubeconfig", kubeconfig(place), "--listen", address)
    assert (code, sentence.startswith(f"cannot listen on {address}")) == (BAD_INPUT, True), sentence


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            "sqlite:///nowhere/ledger.db",
            "there is no directory /nowhere for the store; make it, or choose another",
        ),
        ("sqlite:.", "is a directory; name a file in it with --log"),
        ("sqlite:text", "is not a jobledger store (no SQLite database); choose another file with --log"),
    ],
)
def test_a_log_that_cannot_be_opened_is_named_by_its_flag(place: Place, url: str, says: str) -> None:
    written(place, "text", "Dear diary,\n" * 100)
    code, sentence = refused(place, "--kubeconfig", kubeconfig(place), "--log", url)
    assert (code, says in sentence) == (UNAVAILABLE, True), sentence


def test_a_log_that_another_engine_writes_is_not_opened_but_its_front_is(place: Place) -> None:
    config = kubeconfig(place)
    with place.server():
        url = f"sqlite://{place.store}"
        code, sentence = refused(place, "--kubeconfig", config, "--log", url)
        assert (code, "is in use by process" in sentence, "another with --log" in sentence) == (
            UNAVAILABLE,
            True,
            True,
        ), sentence
        command = place.command(
            *(
                "controller",
                "--listen",
                "127.0.0.1:0",
                "--kubeconfig",
                config,
                "--log",
                url,
                "--roles",
                "front",
            ),
            store=False,
        )
        with subprocess.Popen(
            command, cwd=place.folder, env=place.env, stderr=subprocess.PIPE, text=True
        ) as front:
            assert front.stderr
            try:
                assert "working" in front.stderr.readline()
            finally:
                front.terminate()
        assert front.returncode == 0


def test_without_the_kubernetes_client_the_command_says_what_to_install(place: Place) -> None:
    hidden = "import sys; sys.modules['aiohttp'] = None; from jobledger.cli import main; main()"
    command = [sys.executable, "-c", hidden, "controller", "--kubeconfig", "x"]
    done = subprocess.run(
        command, cwd=place.folder, env=place.env, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (
        BAD_INPUT,
        "jobledger: the Kubernetes client is not installed; install `jobledger[kubernetes]` to run this command\n",
    )
