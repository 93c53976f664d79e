"""A forked program against one with a real start: whatever a test could ask of either, the answer is the same."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.forking import ForkServer
from tests.forking.client import ROOT, Forked
from tests.harness import program, wait_for

START = Callable[..., "subprocess.Popen[str]"]

PARENT = "import os; print(os.getppid())"
SLEEP = "import time; print('ready', flush=True); time.sleep(600)"


@pytest.fixture(autouse=True)
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBLEDGER_REAL_STARTS", raising=False)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[START]:
    """Starts a program of this text; it ends with the test."""
    processes: list[subprocess.Popen[str]] = []

    def start(text: str, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
        (tmp_path / "probe.py").write_text(text)
        env = {**os.environ, "PYTHONPATH": str(tmp_path), **options.pop("variables", {})}
        given: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": env, **options}
        processes.append(program.start(*arguments, module="probe", text=True, **given))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def outcome(process: "subprocess.Popen[str]", stdin: str | None = None) -> tuple[int, str, str]:
    out, err = process.communicate(stdin, timeout=60)
    return process.returncode, out, err


ENDS = {
    "by itself": "print('done')",
    "with a code": "raise SystemExit(3)",
    "with a code of two bytes": "raise SystemExit(259)",
    "with a sentence": "raise SystemExit('no such thing')",
    "with a bug": "def f():\n    return 1 / 0\n\nf()",
    "with a bug of its syntax": "print('",
    "with a bug that has a cause": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e",
    "by Ctrl-C": "raise KeyboardInterrupt",
    "by its own SIGTERM": "import os; os.kill(os.getpid(), 15)",
    "by its own SIGKILL": "import os; print('a', flush=True); os.kill(os.getpid(), 9)",
    "at once": "import os; print('not written'); os._exit(4)",
    "with a thread that goes on": (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()"
        "\nprint('main')"
    ),
    "with exit functions": "import atexit; atexit.register(print, 'one'); atexit.register(print, 'two')",
    "with an exit function that fails": "import atexit; atexit.register(lambda: 1 / 0)",
    "with output that nobody takes": "import os; os.close(1); print('lost')",
    "with an error while it writes": "import sys; sys.stdout.write('x'); sys.stdout.close(); print('y')",
    "with a task that nobody has waited for": (
        "import asyncio\nloop = asyncio.new_event_loop()\nasync def f(): await asyncio.sleep(9)\n"
        "task = loop.create_task(f(), name='t')\nloop.run_until_complete(asyncio.sleep(0.1, loop.close))"
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_alike(started: START, end: str) -> None:
    forked, real = (outcome(started(ENDS[end], real=real)) for real in (False, True))
    assert forked[:2] == real[:2]
    assert comparable(forked[2]) == comparable(real[2])


def comparable(said: str) -> list[str]:
    """In lines; of a task that was left behind only that it was, for what its repr says depends on the moment."""
    lines = re.sub("0x[0-9a-f]+", "0x", said).splitlines()
    return lines[:1] if lines and lines[0].startswith("Task was destroyed") else lines


HAS = {
    "arguments": "import sys; print(sys.argv, sys.orig_argv, __name__, __file__)",
    "path": "import sys; print(sys.path)",
    "flags": "import sys; print(sys.flags, sys.executable, sys.warnoptions)",
    "folder": "import os; print(os.getcwd(), os.path.abspath('x'))",
    "environment": "import os; print(sorted(os.environ.items()))",
    "environment for its own children": "import os; os.system('env | grep -v ^_= | sort')",
    "time zone": "import time; print(time.tzname, time.localtime(0).tm_hour)",
    "handlers of signals": "import signal as s; print([(n, s.getsignal(n)) for n in sorted(s.valid_signals())])",
    "blocked signals": "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "limits": "import resource; print([resource.getrlimit(n) for n in range(8)])",
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd'), key=int)[:-1])",
    "streams": "import sys; print([(s.encoding, s.errors, s.line_buffering) for s in (sys.stdin, sys.stdout)])",
    "session and group": "import os; print(os.getsid(0), os.getpgid(0))",
    "main module": "import sys; print(sys.modules['__main__'].__dict__ is globals(), __spec__.origin)",
    "one thread": "import threading; print([each.name for each in threading.enumerate()])",
    "random numbers of its own": "import random; random.seed(4); print(random.random())",
    "garbage collection": "import gc; print(gc.isenabled(), gc.get_threshold())",
}


@pytest.mark.parametrize("thing", HAS)
def test_it_has_what_a_program_has_from_its_start(started: START, thing: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    options = {"cwd": tmp_path / "elsewhere", "stdin": subprocess.DEVNULL}
    variables = {"TZ": "Asia/Shanghai", "COLUMNS": "77", "PYTHONPATH": f"{tmp_path}:{ROOT}:relative"}
    forked, real = (
        outcome(started(HAS[thing], "a b", "", "-x", variables=variables, real=wanted, **options))
        for wanted in (False, True)
    )
    assert forked == real
    assert (forked[0], forked[2]) == (0, "")


def test_it_has_a_session_of_its_own_if_it_is_to_have_one(started: START) -> None:
    process = started("import os; print(os.getsid(0), os.getpgid(0))", start_new_session=True)
    assert outcome(process)[1].split() == [str(process.pid)] * 2


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["--help"],
        ["controller", "--help"],
        ["config"],
        ["validate", "examples/digits.yaml", "examples/broken.yaml"],
        ["render", "examples/deepspeed.yaml"],
        ["crds"],
        ["get"],
        ["wait", "a", "--for", "nonsense"],
        ["nosuch"],
        [],
    ],
    ids=" ".join,
)
def test_a_command_says_the_same_to_the_byte(words: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "COLUMNS": "90", "XDG_STATE_HOME": str(tmp_path)}
    forked, real = (program.run(*words, env=env, cwd=ROOT, real=real) for real in (False, True))
    assert (forked.args, forked.returncode) == (real.args, real.returncode)
    assert (forked.stdout, forked.stderr) == (real.stdout, real.stderr)


# ---- signals and waiting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_ends_it_and_is_its_return_code(started: START, number: signal.Signals) -> None:
    process = started(SLEEP)
    process.send_signal(number)
    assert process.wait(60) == process.returncode == process.poll() == -number


def test_an_interrupt_right_after_the_start_is_none_too_early(started: START) -> None:
    for _ in range(10):
        process = started(SLEEP)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


def test_it_is_stopped_and_goes_on(started: START) -> None:
    process = started("print(input(), flush=True)", stdin=subprocess.PIPE)
    process.send_signal(signal.SIGSTOP)
    wait_for("it is stopped", lambda: state(process.pid) == "T")
    assert process.poll() is None
    process.send_signal(signal.SIGCONT)
    assert outcome(process, "on\n") == (0, "on\n", "")


def test_who_waits_for_it_in_vain_gets_an_error(started: START) -> None:
    process = started(SLEEP)
    assert process.poll() is None
    for wait in (process.wait, lambda timeout: process.communicate(timeout=timeout)):
        with pytest.raises(subprocess.TimeoutExpired):
            wait(timeout=0.05)
    process.terminate()
    assert outcome(process) == (-signal.SIGTERM, "ready\n", "")


def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        program.run("validate", str(tmp_path / "pipe"), within=0.1)
    assert caught.value.cmd == [sys.executable, "-m", "jobledger", "validate", str(tmp_path / "pipe")]


def test_what_it_is_sent_and_what_it_says_may_be_large(started: START) -> None:
    text = "import sys; t = sys.stdin.read(); print(t); print(t, file=sys.stderr)"
    large = "ä" * 1_000_000
    assert outcome(started(text, stdin=subprocess.PIPE), large) == (0, f"{large}\n", f"{large}\n")
    assert (
        outcome(started("import os; print(os.environ['A'])", variables={"A": large[:60000]}))[1][:-1]
        == large[:60000]
    )


def test_both_outputs_may_be_one_file(started: START, tmp_path: Path) -> None:
    with (tmp_path / "said").open("w") as said:
        text = "import sys; print(1, flush=True); print(2, file=sys.stderr)"
        assert started(text, stdout=said, stderr=subprocess.STDOUT).wait(60) == 0
    assert (tmp_path / "said").read_text() == "1\n2\n"


def test_many_at_once_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text("import sys; print(sys.argv[1]); sys.exit(int(sys.argv[1]))")

    def outcome_of(number: int) -> tuple[int, str, str]:
        done = program.run(str(number), module="probe", cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(outcome_of, range(24))) == [
            (number, f"{number}\n", "") for number in range(24)
        ]


@pytest.mark.parametrize("real", [False, True])
def test_a_folder_that_is_not_there_is_said_at_the_start(started: START, real: bool, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        started(SLEEP, cwd=tmp_path / "nowhere", real=real)


# ---- which programs are forked -----------------------------------------------------------------------------------


def is_forked(process: "subprocess.Popen[str]") -> bool:
    """Its parent says so."""
    code, out, err = outcome(process)
    assert code == 0, err
    assert isinstance(process, Forked) == (int(out) != os.getpid())
    return isinstance(process, Forked)


def test_only_what_is_asked_for_has_a_real_start(started: START, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_forked(started(PARENT))
    assert not is_forked(started(PARENT, real=True))
    monkeypatch.setenv("JOBLEDGER_REAL_STARTS", "1")
    assert not is_forked(started(PARENT))


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "PYTHONUTF8", "LC_ALL", "TYPER_USE_RICH", "FORCE_COLOR"])
def test_a_variable_that_was_read_already_demands_a_real_start(started: START, name: str) -> None:
    assert not is_forked(started(PARENT, variables={name: "1"}))


@pytest.mark.parametrize(
    "name", ["COLUMNS", "NO_COLOR", "TERM", "PATH", "JOBLEDGER_STORE", "PYTHONPATH", "KUBECONFIG"]
)
def test_other_variables_do_not(started: START, name: str, tmp_path: Path) -> None:
    assert is_forked(started(PARENT, variables={name: str(tmp_path)}))


# ---- the server --------------------------------------------------------------------------------------------------

OWNER = """
import subprocess, time
from tests.forking import Forked, ForkServer
import sys
server = ForkServer()
command = [sys.executable, "-m", "jobledger", "validate", "-"]
programs = [Forked(server, command, stdin=subprocess.PIPE, start_new_session=bool(n)) for n in range(2)]
print(server.pid, *(each.pid for each in programs), flush=True)
time.sleep(600)
"""


def test_an_owner_that_was_killed_leaves_nothing_behind() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pids = [int(part) for part in owner.stdout.readline().split()]
        assert len(pids) == 3
        assert all(map(state, pids))
        owner.kill()
    wait_for("all of it is gone", lambda: not any(map(state, pids)), 30)


def test_a_server_that_is_closed_ends_what_runs() -> None:
    server = ForkServer()
    command = [sys.executable, "-m", "jobledger", "validate", "-"]
    with Forked(server, command, stdin=subprocess.PIPE) as process:
        server.close()
        assert process.wait(60) == -signal.SIGKILL
    assert not state(server.pid)


def state(pid: int) -> str:
    """The letter of a process that has not ended, else nothing."""
    try:
        letter = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""
    return "" if letter in "ZX" else letter
