"""Our programs as processes: `jobledger`, or another module that `python -m` starts.

A program is forked from a process that has imported jobledger (`tests.forking`), which saves up to a second
of processor time. It has a *real start*, by an interpreter of its own, where a test says `real=True`, because the
start is part of what is tested; where its environment differs in what is read at a start (PYTHONHASHSEED, LANG);
and everywhere with JOBLEDGER_REAL_STARTS=1.
"""

import atexit
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final, Literal, TypedDict, Unpack, overload

from tests.forking import Forked, ForkServer

SECONDS: Final = 120.0
"""How long a program may run that is waited for; far more than it does."""

_Stream = int | IO[bytes] | IO[str] | None


class Options(TypedDict, total=False):
    """How a program is started. What is left out is as for `subprocess.Popen`, the module is jobledger."""

    module: str
    env: Mapping[str, str] | None
    cwd: Path | str | None
    stdin: _Stream
    stdout: _Stream
    stderr: _Stream
    start_new_session: bool
    real: bool


@overload
def start(*arguments: str, text: Literal[True], **options: Unpack[Options]) -> subprocess.Popen[str]: ...


@overload
def start(
    *arguments: str, text: Literal[False] = False, **options: Unpack[Options]
) -> subprocess.Popen[bytes]: ...


def start(
    *arguments: str, text: bool = False, **options: Unpack[Options]
) -> subprocess.Popen[str] | subprocess.Popen[bytes]:
    """The program, running."""
    how: dict[str, Any] = {**options, "text": text}
    real = how.pop("real", False) or os.environ.get("JOBLEDGER_REAL_STARTS") == "1"
    command = [sys.executable, "-m", how.pop("module", "jobledger"), *arguments]
    if real or not _forks(options.get("env")):
        return subprocess.Popen[Any](command, **how)
    return Forked(_servers.one(), command, **how)


def run(
    *arguments: str, sent: str | None = None, within: float = SECONDS, **options: Unpack[Options]
) -> subprocess.CompletedProcess[str]:
    """What became of the program, with both outputs unless `options` say where they go.

    It reads `sent`. Raises subprocess.TimeoutExpired after `within` seconds.
    """
    piped: Options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    if sent is not None:
        piped["stdin"] = subprocess.PIPE
    with start(*arguments, text=True, **piped) as process:
        try:
            out, err = process.communicate(sent, within)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


# ---- which programs are forked -----------------------------------------------------------------------------------


def _forks(env: Mapping[str, str] | None) -> bool:
    """No variable matters that the fork server has read with another value."""
    return not _servers.one().differs(os.environ if env is None else env)


class _Servers:
    """The fork server of this process, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._server: ForkServer | None = None

    def one(self) -> ForkServer:
        with self._lock:
            if self._server is None:
                self._server = ForkServer()
                atexit.register(self._server.close)
            return self._server


_servers: Final = _Servers()
