"""The shim, as the program that it is: one start, every end on record."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from k8s_bridge.kubelet import processes, shim
from k8s_bridge.kubelet.containers import NEVER, ContainerFolder, ContainerLaunch, Ended

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


class Container:
    """A container folder with a program to run in it."""

    def __init__(self, folder: Path, *argv: str, cwd: str = "/", env: dict[str, str] | None = None) -> None:
        self.marker = f"JOBLEDGER_CONTAINER_ID={folder.name}/a"
        self.state = ContainerFolder(folder / "state", folder / "a.log", self.marker)
        self.state.folder.mkdir(parents=True)
        given = {"PATH": os.environ["PATH"], "JOBLEDGER_CONTAINER_ID": f"{folder.name}/a", **(env or {})}
        self.state.prepare(ContainerLaunch("a", argv, given, cwd))

    def start(self) -> "subprocess.Popen[bytes]":
        """A shim for it; descriptor 3 is there, and nobody listens."""
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            command = ["/bin/sh", "-c", 'exec "$@" 3>&0', "sh", sys.executable, "-I", "-S", shim.__file__]
            return subprocess.Popen([*command, str(self.state.folder)], stdin=null, start_new_session=True)
        finally:
            os.close(null)

    def run(self) -> Ended:
        """How it ended."""
        assert self.start().wait(90) == 0
        return self.ended()

    def ended(self) -> Ended:
        ended = self.state.ended()
        assert ended is not None
        return ended


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_code_is_on_record(tmp_path: Path, code: int) -> None:
    ended = Container(tmp_path, "sh", "-c", f"exit {code}").run()
    assert (ended.code, ended.reason) == (code, "Error" if code else "Completed")


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE, signal.SIGINT, signal.SIGHUP]
)
def test_an_end_by_a_signal_is_128_and_its_number(tmp_path: Path, number: signal.Signals) -> None:
    assert Container(tmp_path, "sh", "-c", f"kill -{int(number)} $$").run().code == 128 + number


def test_output_of_both_streams_goes_to_the_log(tmp_path: Path) -> None:
    Container(tmp_path, "sh", "-c", "echo out; echo err >&2").run()
    assert (tmp_path / "a.log").read_bytes() == b"out\nerr\n"


def test_the_environment_is_the_one_given(tmp_path: Path) -> None:
    Container(tmp_path, "env", env={"A": "b=c d"}).run()
    lines = (tmp_path / "a.log").read_text().splitlines()
    assert "A=b=c d" in lines
    assert not [
        line for line in lines if line.partition("=")[0] not in ("A", "PATH", "JOBLEDGER_CONTAINER_ID")
    ]


def test_empty_arguments_are_kept(tmp_path: Path) -> None:
    Container(tmp_path, "sh", "-c", 'echo "$#[$1][$2]"', "x", "", "b").run()
    assert (tmp_path / "a.log").read_text() == "2[][b]\n"


def test_the_program_starts_in_its_folder(tmp_path: Path) -> None:
    Container(tmp_path, "pwd", cwd=str(tmp_path)).run()
    assert Path((tmp_path / "a.log").read_text().strip()).samefile(tmp_path)


def test_nothing_else_is_open_in_the_program(tmp_path: Path) -> None:
    Container(
        tmp_path, "sh", "-c", "for n in 3 4 5 6 7 8 9; do (: >&$n) 2>/dev/null && echo $n; done; true"
    ).run()
    assert (tmp_path / "a.log").read_text() == ""


def script(folder: Path, text: str, mode: int) -> str:
    path = folder / "program"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("argv", "cwd", "code", "says"),
    [
        (["no-such-program"], "/", 127, "not found on the PATH"),
        (["/no/such/program"], "/", 127, "not found"),
        (["./program"], ".", 126, "cannot be executed"),
        (["true", "x" * 200_000], "/", 126, "Argument list too long"),
        (["true"], "/bin/true", 128, "Not a directory"),
        (["true"], "/no/such/folder", 128, "/no/such/folder"),
    ],
)
def test_what_cannot_start_says_why(tmp_path: Path, argv: list[str], cwd: str, code: int, says: str) -> None:
    script(tmp_path, "", 0o644)
    ended = Container(tmp_path, *argv, cwd=str(tmp_path) if cwd == "." else cwd).run()
    assert (ended.code, ended.reason) == (code, "CannotStart")
    assert says in ended.message
    assert says in (tmp_path / "a.log").read_text()


def test_a_file_that_is_no_program_says_so(tmp_path: Path) -> None:
    ended = Container(tmp_path, script(tmp_path, "no header", 0o755)).run()
    assert (ended.code, ended.reason) == (126, "CannotStart")
    assert "Exec format error" in ended.message


def test_a_script_without_its_interpreter_says_so(tmp_path: Path) -> None:
    ended = Container(tmp_path, script(tmp_path, "#!/no/such/shell\n", 0o755)).run()
    assert (ended.code, ended.reason) == (126, "CannotStart")
    assert "interpreter" in ended.message


def test_of_many_shims_one_starts_the_program(tmp_path: Path) -> None:
    container = Container(tmp_path, "sh", "-c", "echo started")
    for process in [container.start() for _ in range(20)]:
        assert process.wait(90) == 0
    until(container.state.ended)
    assert (tmp_path / "a.log").read_text() == "started\n"


def test_a_forbidden_container_never_starts(tmp_path: Path) -> None:
    container = Container(tmp_path, "sh", "-c", "echo started")
    container.state.forbid()
    assert container.run().reason == NEVER
    assert not (tmp_path / "a.log").exists()


def test_a_container_forbidden_after_its_claim_never_becomes_the_program(tmp_path: Path) -> None:
    container = Container(tmp_path, "sh", "-c", "echo started")
    (container.state.folder / "started").write_text("void")
    assert container.run().code == 137
    assert not (tmp_path / "a.log").exists()


def test_what_the_program_leaves_in_its_group_is_killed(tmp_path: Path) -> None:
    container = Container(tmp_path, "sh", "-c", "sleep 1000 & echo $!")
    container.run()
    left = int((tmp_path / "a.log").read_text())
    until(lambda: not processes.Process.of(left).is_alive())


@linux
def test_what_the_program_leaves_in_another_session_is_killed(tmp_path: Path) -> None:
    container = Container(tmp_path, "sh", "-c", "setsid sleep 1000 & until pgrep -g $! sleep; do :; done")
    container.run()
    until(lambda: not shim.strays(container.marker.encode()))


@linux
def test_signals_for_the_shim_do_not_stop_it(tmp_path: Path) -> None:
    container = Container(tmp_path, "sh", "-c", "sleep 0.3; exit 4")
    running = container.start()
    until(container.state.process)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        running.send_signal(number)
    assert running.wait(90) == 0
    assert container.ended().code == 4
