"""Bad input gets one clear sentence and the right exit code, never a traceback, and nothing is lost.

Commands are forked, but for those that meet a closed pipe, a full disk or an early interrupt: how an interpreter ends
then is part of it.
"""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from jobledger.cli import run_command
from tests.integration.cli_words import Place, environment, says_once, script

pytestmark = pytest.mark.integration


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a: [1, 2", ["bad.yaml", "line"]),
        ("kind: [unclosed\nx: y: z", ["bad.yaml", "line 2"]),
        ("", ["bad.yaml", "holds no manifest"]),
        ("just a text", ["is a text"]),
        (
            "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJb\nmetadata: {name: x}",
            ["did you mean"],
        ),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}", ["Unsupported value", "Pod"]),
        ("apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\nspec: {}", ["metadata"]),
        (
            "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\nmetadata: {name: x}\nspec: 3",
            ["spec", "must be of type object"],
        ),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}", ["holds no job"]),
    ],
)
def test_a_file_that_is_no_job(text: str, parts: list[str], place: Place) -> None:
    (place.folder / "bad.yaml").write_text(text)
    says_once(place.run("run", "bad.yaml"), 2, *parts)
    assert not place.store.exists()


def test_a_file_that_is_no_job_is_not_even_sent(place: Place) -> None:
    (place.folder / "bad.yaml").write_text("a: [1, 2")
    says_once(place.run("submit", "bad.yaml"), 2, "bad.yaml", "line")


def test_a_missing_file(place: Place) -> None:
    says_once(place.run("run", "nowhere.yaml"), 2, "nowhere.yaml", "there is no such file")


def test_every_problem_of_several_documents_is_said_with_its_place(place: Place) -> None:
    name = place.write("two.yaml", script("Bad_Name", "pass"), script("fine", "pass", replicas=0))
    done = place.run("run", name)
    assert done.returncode == 2
    first, second = done.stderr.strip().splitlines()
    assert "two.yaml" in first
    assert "DNS-1035" in first
    assert "document 2" in second
    assert "must be at least 1" in second


def test_a_manifest_from_standard_input(place: Place) -> None:
    says_once(place.run("run", "-", stdin="a: b: c"), 2, "standard input, line 1")


def test_a_job_that_is_paused_in_its_manifest_cannot_be_run(place: Place) -> None:
    name = place.write("paused.yaml", script("x", "pass", runMode={"pause": {"enabled": True}}))
    says_once(place.run("run", name), 2, "is paused", "jobledger serve")


@pytest.mark.parametrize(
    ("variable", "value", "parts"),
    [
        ("JOBLEDGER_STOER", "x", ["JOBLEDGER_STOER", "did you mean JOBLEDGER_STORE?"]),
        ("JOBLEDGER_LOG__LEVEL", "loud", ["JOBLEDGER_LOG__LEVEL", "'debug'"]),
        ("JOBLEDGER_SETTLE", "soon", ["JOBLEDGER_SETTLE", "90s"]),
    ],
)
def test_an_environment_variable_that_is_wrong(
    variable: str, value: str, parts: list[str], place: Place
) -> None:
    place.env = environment(**{variable: value})
    says_once(place.run("serve"), 2, *parts)
    assert not place.store.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["get"],
        ["describe", "x"],
        ["logs", "x"],
        ["pause", "x"],
        ["resume", "x"],
        ["scale", "x", "--replicas", "2"],
        ["delete", "x"],
        ["wait", "x", "--for", "phase=Running"],
    ],
)
def test_without_a_server_every_client_verb_says_how_to_start_one(arguments: list[str], place: Place) -> None:
    says_once(place.run(*arguments), 3, f"no server at {place.store}.sock; start one with `jobledger serve")


def test_a_server_that_was_killed_leaves_no_doubt(place: Place) -> None:
    with place.server() as server:
        server.kill()
        server.wait()
    assert Path(f"{place.store}.sock").exists()
    says_once(place.run("pause", "x"), 3, "no server at", "start one with `jobledger serve")
    read = place.run("get")
    assert read.returncode == 0
    assert read.stderr.splitlines() == [
        f"jobledger: no server at {place.store}.sock; this is the state in the store {place.store}",
        "no jobs in namespace default",
    ]


def test_a_label_selector_that_is_none(place: Place) -> None:
    says_once(
        place.run("get", "-l", "team in (a"), 2, '"team in (a" is no label selector: "," or ")" is missing'
    )
    says_once(place.run("get", "train", "-l", "team=a"), 2, "names and --selector exclude each other")


def test_a_server_address_that_is_none(place: Place) -> None:
    says_once(place.run("get", "--server", "https://example.org"), 2, "is no server")
    says_once(place.run("get", "--server", "http://127.0.0.1:1"), 3, "no server at http://127.0.0.1:1")


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "192.0.2.1:80", "example.org:80", "[::]:80", ":80"])
def test_other_interfaces_are_refused(listen: str, place: Place) -> None:
    says_once(place.run("serve", "--listen", listen), 2, "is not this machine alone")
    assert not place.store.exists()


@pytest.mark.parametrize("listen", ["8080", "127.0.0.1:x", "127.0.0.1:70000"])
def test_an_address_that_is_none_is_refused(listen: str, place: Place) -> None:
    says_once(place.run("serve", "--listen", listen), 2, "needs HOST:PORT")


def test_an_unknown_job_is_named_with_the_nearest(place: Place) -> None:
    name = place.write("job.yaml", script("digits", "import time; time.sleep(600)"))
    with place.server():
        place.ok("submit", name)
        place.ok("wait", "digits", "--for", "phase=Running", "--timeout", "50s")
        for verb in (
            ["get"],
            ["describe"],
            ["logs"],
            ["pause"],
            ["delete"],
            ["wait", "--for", "phase=Running"],
        ):
            says_once(place.run(verb[0], "digitz", *verb[1:]), 2, 'no job "digitz"', 'did you mean "digits"?')
        says_once(place.run("scale", "digits", "--replicas", "2"), 2, "spec.elastic is not enabled")
        says_once(place.run("logs", "digits", "-r", "worker-9"), 2, "it has worker-0")
        says_once(place.run("logs", "digits", "--previous"), 2, "no previous attempt")
        says_once(place.run("submit", name), 2, "exists already")
        place.ok("delete", "digits", "--grace-period", "0")


def test_a_store_in_use_names_who_uses_it(place: Place) -> None:
    name = place.write("job.yaml", script("x", "pass"))
    with place.server() as server:
        says_once(place.run("run", name), 3, "is in use by process", str(server.pid), "serve")
        says_once(place.run("serve"), 3, "is in use by process", str(server.pid))


def test_a_store_in_a_folder_that_is_not_there(place: Place) -> None:
    name = place.write("job.yaml", script("x", "pass"))
    done = place.run("run", name, "--store", "missing/ledger.db", store=False)
    says_once(done, 3, "there is no directory", "--store")


def test_a_store_that_is_something_else(place: Place) -> None:
    name = place.write("job.yaml", script("x", "pass"))
    place.store.write_text("a text, and no database at all " * 100)
    says_once(place.run("run", name), 3, "is not a jobledger store")
    place.store.unlink()
    other = sqlite3.connect(place.store)
    other.execute("CREATE TABLE t (x)")
    other.close()
    says_once(place.run("run", name), 3, "database of another program")


def test_a_store_that_is_read_only(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, because root, which tests may run as, is allowed to write everything."""
    name = place.write("job.yaml", script("x", "pass"))
    place.store.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: not (Path(path) == place.store and mode & os.W_OK))
    assert run_command(["run", str(place.folder / name), "--store", str(place.store)]) == 3
    assert capsys.readouterr().err.splitlines() == [
        f"jobledger: store {place.store} is read-only; make it writable, or choose another file with --store"
    ]


def test_a_closed_pipe_is_no_reason_to_complain(place: Place) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        place.command("config"), env=place.env, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert done.stderr == ""


def test_a_full_disk_is_said_and_loses_nothing(place: Place) -> None:
    """A limit on the size of files stands for the full disk: SQLite and the pods meet it alike."""
    name = place.write("job.yaml", script("x", "import time; time.sleep(600)"))
    place.ok("run", place.write("first.yaml", script("first", "pass")))
    limit = place.store.stat().st_size // 2
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(limit), *place.command("run", name, "--timeout", "5s")],
        cwd=place.folder,
        env=place.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 3, done.stderr + done.stdout
    assert "PhaseEntered Succeeded" in place.ok("history", "first")


_LIMITED = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


def interrupted(process: subprocess.Popen[str]) -> str:
    """What it said on standard error when it had ended, after as few interrupts as it takes."""
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=10)[1]
    process.kill()
    raise AssertionError(f"it goes on: {process.communicate()[1]}")


def test_an_interrupt_before_anything_began_is_130(place: Place) -> None:
    """A pipe without content holds the command where it reads its files: Python's own handler still stands.

    Python handles a signal that comes just before a call that waits only after it, so one is sent again.
    """
    pipe = place.folder / "pipe.yaml"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        place.command("run", str(pipe)),
        env=place.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("wb"):  # returns when the command has opened the other end
        said = interrupted(process)
    assert process.returncode == 130
    assert "Traceback" not in said
