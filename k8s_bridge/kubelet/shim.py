"""Starts one container, waits for it, and records its end. Run as `python -I -S shim.py FOLDER`.

It is a program of its own, so that a container outlives the jobledger that started it and its end is not lost. It
imports almost nothing, as its start is part of every pod's start. `containers` is the other side; they share files in
FOLDER, each made once and whole by linking it to its name, so that the first writer wins:

    run       the program, written before the shim starts, each part ended by NUL: working directory, log
              file, marker, number of arguments, the arguments, the environment
    claim     the process with the right to start the container: this shim, or `void` (none ever)
    started   the container's process, written by itself before it becomes the program; or `void`
    exit      its end: code, time, reason, message, separated by tabs; blanks may follow

No SIGKILL, at any moment, leads to a second start: a claim is never taken back. File descriptor 3 is closed when the
program runs (or never will): the starter waits for that.
"""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, in a third of the time

# ruff: noqa: PTH108, PTH109, PTH110, PTH123, PTH208, SIM105 - pathlib and contextlib take longer to import than all of this
import errno
import os
import sys
import time

CANNOT_START = b"CannotStart"
START_ERROR = b"StartError"
FOR_GOOD = frozenset(
    (
        errno.E2BIG,
        errno.EACCES,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOEXEC,
        errno.ENOTDIR,
        errno.EPERM,
    )
)
"""Errors that the next attempt would meet again: the same start fails the same way."""

_NOTIFY = 3
_RESERVED = 512
_STOPPING = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM)
_IGNORED = (*_STOPPING, _signal.SIGPIPE, _signal.SIGXFSZ)
"""Signals that the shim, or Python, ignores; a program must have their defaults."""


def main() -> int:
    """Runs the shim of the container whose folder is the first argument."""
    os.chdir(sys.argv[1])
    os.set_inheritable(_NOTIFY, False)
    for number in _STOPPING:
        _signal.signal(number, _signal.SIG_IGN)
    try:
        folder, log, marker, argv, env = _read("run")
        if not once("claim", identity(os.getpid())):
            return 0
        reserved = os.open("exit.reserved", os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(reserved, b" " * _RESERVED)  # so that the end can be recorded on a full disk
    except OSError as error:
        os.write(_NOTIFY, f"the pod's folder cannot be used: {error.strerror}".encode())
        return 1
    child = os.fork()
    if child == 0:
        _become(folder, log, argv, env)
    os.close(_NOTIFY)
    finished, status = _wait(child, marker)
    code = os.waitstatus_to_exitcode(status)
    _record(reserved, code if code >= 0 else 128 - code, finished)
    return 0


def identity(pid: int) -> bytes:
    """The identity of process `pid`, unlike that of a later one of the same number: number, start, boot."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            start = file.read().rpartition(b")")[2].split()[19]
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            boot = file.read().strip()
    except OSError:
        return b"%d - -" % pid
    return b"%d %s %s" % (pid, start, boot)


def once(name: str, content: bytes) -> bool:
    """Makes the file `name`, whole. True if it is ours, False if it existed before."""
    mine = f"{name}.{os.getpid()}"
    with open(mine, "wb") as file:
        file.write(content)
    try:
        os.link(mine, name)
    except FileExistsError:
        return False
    finally:
        os.unlink(mine)
    return True


def _read(name: str) -> tuple[str, str, bytes, list[bytes], dict[bytes, bytes]]:
    with open(name, "rb") as file:
        folder, log, marker, count, *parts = file.read().split(b"\0")[:-1]
    argv, env = parts[: int(count)], parts[int(count) :]
    pairs = (variable.partition(b"=") for variable in env)
    return os.fsdecode(folder), os.fsdecode(log), marker, argv, {key: value for key, _, value in pairs}


def _become(folder: str, log: str, argv: list[bytes], env: dict[bytes, bytes]) -> None:
    """The container's process: records itself, then becomes the program. Does not return."""
    home = os.getcwd()
    try:
        os.setsid()
        for number in _IGNORED:
            _signal.signal(number, _signal.SIG_DFL)
        if not once("started", identity(os.getpid()) + b" %f" % time.time()):
            os._exit(137)
        _redirect(log)
        refusal = _execute(folder, argv, env)
    except OSError as error:
        refusal = (128, START_ERROR, f"the pod's folder cannot be used: {error.strerror}")
    os.chdir(home)
    _refuse(*refusal)


def _redirect(log: str) -> None:
    null = os.open("/dev/null", os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)


def _execute(folder: str, argv: list[bytes], env: dict[bytes, bytes]) -> tuple[int, bytes, str]:
    """Becomes the program. Returns only on failure: a shell's exit code, the reason, and a message."""
    name = os.fsdecode(argv[0])
    try:
        os.chdir(folder)
    except OSError as error:
        return 128, _kind(error), f'working directory "{folder}": {error.strerror}'
    code, kind, why = 127, CANNOT_START, f'"{name}" was not found on the PATH'
    for path in _candidates(argv[0], env):
        try:
            os.execve(path, argv, env)  # noqa: S606 - the user's program, as asked
        except (FileNotFoundError, NotADirectoryError):
            if os.path.exists(path):
                return 126, CANNOT_START, f'"{name}" needs an interpreter that is not there'
            if b"/" in argv[0]:
                return 127, CANNOT_START, f'"{name}" was not found'
        except OSError as error:
            code, kind, why = 126, _kind(error), f'"{name}" cannot be executed: {error.strerror}'
        except ValueError as error:
            return 126, CANNOT_START, f'"{name}" cannot be executed: {error}'
    return code, kind, why


def _kind(error: OSError) -> bytes:
    return CANNOT_START if error.errno in FOR_GOOD else START_ERROR


def _candidates(program: bytes, env: dict[bytes, bytes]) -> list[bytes]:
    if b"/" in program:
        return [program]
    return [(folder or b".") + b"/" + program for folder in env.get(b"PATH", b"/usr/bin:/bin").split(b":")]


def _refuse(code: int, kind: bytes, message: str) -> None:
    """Records that the program did not start, as the container's end. Does not return."""
    try:
        text = message.replace("\t", " ").replace("\n", " ").encode("utf-8", "replace")
        once("exit", b"%d\t%f\t%s\t%s" % (code, time.time(), kind, text))
        os.write(2, text + b"\n")
    finally:
        os._exit(code)


def _wait(child: int, marker: bytes) -> tuple[float, int]:
    """Waits for the child, and ends all other processes of the container. Returns when and how it ended."""
    if hasattr(os, "waitid"):  # macOS has it since Python 3.13
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # unreaped, its number cannot be another's
        finished = time.time()
        _kill_rest(child, marker)
        return finished, os.waitpid(child, 0)[1]
    status = os.waitpid(child, 0)[1]
    finished = time.time()
    _kill_rest(child, marker)
    return finished, status


def _kill_rest(child: int, marker: bytes) -> None:
    """Kills all processes of the container but the first, which has ended and is not yet reaped.

    First its process group; then, with /proc, processes that left the group but have kept the environment.
    """
    try:
        os.killpg(child, _signal.SIGKILL)
    except OSError:
        pass
    for _ in range(3):
        living = [pid for pid in strays(marker) if pid != child]
        for pid in living:
            try:
                os.kill(pid, _signal.SIGKILL)
            except OSError:
                pass
        if not living:
            return


def strays(marker: bytes) -> list[int]:
    """The living processes with `marker` (`NAME=value`) in their environment; empty without /proc."""
    pids = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if marker in file.read().split(b"\0"):
                        pids.append(int(name))
            except OSError:
                continue
    return pids


def _record(reserved: int, code: int, finished: float) -> None:
    """Records the end, unless the process has done so itself, in space that was reserved before."""
    started = os.path.exists("started")
    reason = b"Completed" if code == 0 else b"Error"
    message = b""
    if not started:
        code, reason, message = 128, START_ERROR, b"the pod's folder cannot be written"
    os.pwrite(reserved, b"%d\t%f\t%s\t%s\n" % (code, finished, reason, message), 0)
    try:
        os.link("exit.reserved", "exit")
    except FileExistsError:
        pass
    os.unlink("exit.reserved")


if __name__ == "__main__":
    os._exit(main())  # no destructors, no flushing: everything is written
