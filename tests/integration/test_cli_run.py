"""`jobledger run` with real processes: outcomes, interrupts, restarts, what is shown.

They are forked, but for what has real starts: commands that users read and type again, the demo, what runs in a
terminal, and one `run` that is interrupted and one that is killed.
"""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness import program
from tests.integration.cli_words import ESCAPE, ROOT, SECONDS, Place, is_alive, says_once, script, wait_until

pytestmark = pytest.mark.integration

SLEEPER = """
import os, signal, time
open(f"pid-{os.environ['RANK']}", "w").write(str(os.getpid()))
print("ready", flush=True)
time.sleep(600)
"""

STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(f"pid-{os.environ['RANK']}", "w").write(str(os.getpid()))
print("ready", flush=True)
time.sleep(600)
"""

ONCE = """
import os, sys
if os.environ["RANK"] == "1" and not os.path.exists("tried"):
    open("tried", "w").close()
    sys.exit(3)
import time
while not os.path.exists("tried"):
    time.sleep(0.02)
time.sleep(1)
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _pid(place: Place, rank: int = 0) -> int:
    path = place.folder / f"pid-{rank}"
    wait_until(lambda: path.exists() and path.read_text(), f"{path.name}")
    return int(path.read_text())


def test_a_job_that_succeeds_ends_the_command_with_0(place: Place) -> None:
    done = place.run("run", place.write("job.yaml", script("fine", "print('hello')", replicas=2)))
    assert done.returncode == 0, done.stderr
    assert re.search(r"fine succeeded after \d+s: 2 replicas, 0 restarts\.", done.stdout)
    assert not ESCAPE.search(done.stdout)


def test_a_job_that_fails_ends_it_with_1_and_shows_its_last_words(place: Place) -> None:
    failing = script("bad", "print('out of luck'); raise SystemExit(3)", runPolicy={"backoffLimit": 0})
    done = place.run("run", place.write("job.yaml", failing))
    assert done.returncode == 1, done.stderr
    assert "bad failed after" in done.stdout
    assert "out of luck" in done.stdout


@pytest.mark.parametrize(
    ("container", "says"),
    [
        ({"command": ["no-such-program"]}, '"no-such-program" was not found on the PATH'),
        ({"workingDir": "/no/such/folder"}, 'working directory "/no/such/folder": No such file or directory'),
        ({"workingDir": "/etc/passwd"}, 'working directory "/etc/passwd": Not a directory'),
        ({"command": ["./text"]}, '"./text" cannot be executed: Exec format error'),
        ({"env": [{"name": "LONG", "value": "x" * 200_000}]}, "Argument list too long"),
    ],
)
def test_what_the_system_refuses_for_good_fails_the_job_at_once(
    place: Place, container: dict[str, Any], says: str
) -> None:
    (place.folder / "text").write_text("no program")
    (place.folder / "text").chmod(0o755)
    job = script("bad", "import time; time.sleep(600)", replicas=2)
    worker = job["spec"]["replicaSpecs"][0]
    job["spec"]["replicaSpecs"].append(
        {
            "type": "other",
            "replicas": 1,
            "template": {
                "spec": {"containers": [{**worker["template"]["spec"]["containers"][0], **container}]}
            },
        }
    )
    job["spec"]["runPolicy"] = {"cleanUpPolicy": "All"}
    (place.folder / "job.json").write_text(json.dumps(job))
    done = place.run("run", "job.json")
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert says in done.stdout
    assert "0 restarts" in done.stdout
    why = place.ok("why", "bad")
    assert says in why
    assert "evidence lost" not in why
    failed = json.loads(place.ok("history", "bad", "-o", "json"))[-1]
    assert "running normally" not in json.dumps(failed)


def test_one_failed_job_of_two_is_a_failure(place: Place) -> None:
    name = place.write(
        "jobs.yaml",
        script("good", "pass"),
        script("bad", "raise SystemExit(1)", runPolicy={"backoffLimit": 0}),
    )
    done = place.run("run", name)
    assert done.returncode == 1
    assert "good succeeded" in done.stdout
    assert "bad failed" in done.stdout


def test_what_to_look_at_next_really_works(place: Place) -> None:
    done = place.run("run", place.write("job.yaml", script("fine", "print('hello')")))
    commands = re.findall(r"jobledger ((?:history|why|logs) .*)", done.stdout)
    assert [command.split()[0] for command in commands] == ["history", "why", "logs"]
    for command in commands:
        again = subprocess.run(
            [sys.executable, "-m", "jobledger", *shlex.split(command)],
            env=place.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert again.returncode == 0, again.stderr
        assert again.stdout
    assert again.stdout == "hello\n"


def test_logs_are_printed_as_they_come_each_line_with_its_replica(place: Place) -> None:
    text = "import os; print('I am', os.environ['RANK'])"
    done = place.run("run", place.write("job.yaml", script("talk", text, replicas=2)), "--logs")
    assert "[worker-0] I am 0" in done.stdout.splitlines()
    assert "[worker-1] I am 1" in done.stdout.splitlines()


def test_a_replica_that_fails_is_restarted_and_both_logs_are_kept(place: Place) -> None:
    name = place.write("job.yaml", script("again", ONCE, replicas=2))
    done = place.run("run", name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 restart." in done.stdout
    assert "worker-1 runs (attempt 2)" in done.stdout
    assert place.run("logs", "again", "-r", "worker-1", "--previous").returncode == 0


def test_the_same_file_can_be_run_again_and_the_first_history_stays(place: Place) -> None:
    name = place.write("job.yaml", script("fine", "pass"))
    place.ok("run", name)
    assert "replaces the one that has succeeded" in place.ok("run", name)
    with place.server():
        uids = {
            load["metadata"]["uid"] for load in json.loads(place.ok("get", "--all", "-o", "json"))["items"]
        }
    assert len(uids) == 2


def test_config_maps_and_secrets_in_the_same_file_reach_the_processes(place: Place) -> None:
    job = script("settings", "import os; print(os.environ['COLOUR'], os.environ['WORD'])")
    container = job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["envFrom"] = [{"configMapRef": {"name": "colours"}}, {"secretRef": {"name": "words"}}]
    name = place.write(
        "job.yaml",
        job,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "colours"},
            "data": {"COLOUR": "blue"},
        },
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "words"}, "stringData": {"WORD": "hush"}},
    )
    assert "[worker-0] blue hush" in place.ok("run", name, "--logs")


def test_an_interrupt_stops_the_processes_and_the_log_says_so(place: Place) -> None:
    process = place.start("run", place.write("job.yaml", script("long", SLEEPER)), real=True)
    pid = _pid(place)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 130, output
    assert "asking the jobs to stop" in output
    assert not is_alive(pid)
    assert place.run("replay", "--verify").returncode == 0
    assert "interrupted" in place.ok("why", "long")


def test_a_second_interrupt_ends_at_once_what_ignores_the_first(place: Place) -> None:
    manifest = script("long", STUBBORN)
    pods = manifest["spec"]["replicaSpecs"][0]["template"]["spec"]
    pods["terminationGracePeriodSeconds"] = 3600  # nobody waits for that
    process = place.start("run", place.write("job.yaml", manifest))
    pid = _pid(place)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    for line in process.stdout:
        if "asking the jobs to stop" in line:
            break
    assert is_alive(pid)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 130, output
    assert not is_alive(pid)


def test_replicas_that_go_on_after_the_end_are_named(place: Place) -> None:
    text = f"import os, time\nif os.environ['RANK'] == '1':\n  exec({SLEEPER!r})\n"
    text += "while not os.path.exists('pid-1'):\n  time.sleep(0.02)"
    place.env["JOBLEDGER_SETTLE"] = "100ms"
    done = place.run("run", place.write("job.yaml", script("part", text, replicas=2)))
    assert done.returncode == 0, done.stderr
    assert "still running: worker-1" in done.stdout
    assert is_alive(_pid(place, 1))
    with place.server():
        place.ok("delete", "part", "--grace-period", "0")
    assert not is_alive(_pid(place, 1))


def test_other_jobs_of_the_store_are_said_to_go_on(place: Place) -> None:
    first = place.start("run", place.write("job.yaml", script("long", SLEEPER)))
    pid = _pid(place)
    first.kill()
    first.communicate()
    assert "also in this store, and going on: long" in place.ok(
        "run", place.write("b.yaml", script("b", "pass"))
    )
    assert is_alive(pid)
    with place.server():
        place.ok("delete", "long", "--grace-period", "0")


def test_sigterm_is_an_interrupt_with_its_own_exit_code(place: Place) -> None:
    process = place.start("run", place.write("job.yaml", script("long", SLEEPER)))
    pid = _pid(place)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 143
    assert not is_alive(pid)


def test_a_job_that_takes_longer_than_the_timeout_is_stopped_and_has_not_succeeded(place: Place) -> None:
    done = place.run("run", place.write("job.yaml", script("long", SLEEPER)), "--timeout", "6s")
    assert done.returncode == 1, done.stderr
    assert "stopped after 6s (--timeout)" in done.stdout
    assert not is_alive(_pid(place))


def test_a_run_that_was_killed_is_taken_over_by_the_next_one_with_the_same_process(place: Place) -> None:
    name = place.write("job.yaml", script("long", SLEEPER))
    first = place.start("run", name, real=True)
    pid = _pid(place)
    first.kill()
    first.communicate()
    assert is_alive(pid)
    second = place.start("run", name)
    assert second.stdout is not None
    assert "following it" in second.stdout.readline()
    assert (place.folder / "pid-0").read_text() == str(pid)
    assert is_alive(pid)
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=SECONDS)
    assert not is_alive(pid)


def test_another_job_of_the_same_name_that_is_not_over_is_not_replaced(place: Place) -> None:
    first = place.start("run", place.write("job.yaml", script("long", SLEEPER)))
    pid = _pid(place)
    first.kill()
    first.communicate()
    says_once(
        place.run("run", place.write("other.yaml", script("long", "pass"))),
        1,
        'another job "long" is not over',
    )
    assert is_alive(pid)
    with place.server():
        place.ok("delete", "long", "--grace-period", "0")
    assert not is_alive(pid)


def test_a_terminal_shows_a_live_table_within_its_width(place: Place) -> None:
    name = place.write(
        "job.yaml", script("shown", "print('x' * 300); import time; time.sleep(1)", replicas=2)
    )
    master, slave = pty.openpty()
    env = {**place.env, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    process = subprocess.Popen(
        place.command("run", name), cwd=place.folder, env=env, stdout=slave, stderr=slave
    )
    os.close(slave)
    output = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not piece:
            break
        output += piece
    os.close(master)
    assert process.wait(timeout=SECONDS) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode())
    assert "REPLICA" in text
    assert "LAST LINE" in text
    rows = [line for line in re.split(r"[\r\n]+", text) if line.startswith("worker-")]
    assert rows
    assert max(map(len, rows)) <= 80


@pytest.mark.parametrize(
    ("example", "program_"),
    [
        ("digits.yaml", "digits"),
        ("kubeflow-digits.yaml", "digits"),
        ("generic.yaml", "primes.py"),
        ("tensorflow.yaml", "tf_config.py"),
    ],
)
def test_an_example_runs_from_any_folder(example: str, program_: str, tmp_path: Path) -> None:
    for name in (program_, example):
        (tmp_path / "examples").mkdir(exist_ok=True)
        (tmp_path / "examples" / name).symlink_to(ROOT / "examples" / name)
    place = Place(tmp_path)
    file, store = tmp_path / "examples" / example, tmp_path / "ledger.db"
    done = program.run("run", str(file), "--store", str(store), cwd="/", env=place.env, within=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "succeeded" in done.stdout


def test_containers_without_a_working_directory_start_in_the_folder_of_their_manifest(place: Place) -> None:
    (place.folder / "deep" / "given").mkdir(parents=True)
    here, given = (
        script("here", "import os; print(os.getcwd())"),
        script("there", "import os; print(os.getcwd())"),
    )
    container = given["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"][0]
    container["workingDir"] = str(place.folder / "deep" / "given")
    place.write("deep/jobs.yaml", here, given)
    place.ok("run", "deep/jobs.yaml")
    assert place.ok("logs", "here") == f"{place.folder}/deep\n"
    assert place.ok("logs", "there") == f"{place.folder}/deep/given\n"


def test_containers_of_a_manifest_from_standard_input_start_where_the_command_was_given(place: Place) -> None:
    text = yaml.safe_dump(script("here", "import os; print(os.getcwd())"))
    assert place.run("run", "-", stdin=text).returncode == 0
    assert place.ok("logs", "here") == f"{place.folder}\n"


def test_the_demo_loses_a_worker_and_still_succeeds() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        env=Place(ROOT).env,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert not ESCAPE.search(done.stdout)
    assert "gets no chance to say good-bye" in done.stdout
    assert re.search(r"digits succeeded after \S+: 3 replicas, 1 restart\.", done.stdout)
    commands = re.findall(r"^  (\S*jobledger (?:logs|replay) .*)$", done.stdout, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert (
            subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, check=False).returncode == 0
        )
