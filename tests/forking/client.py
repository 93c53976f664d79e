"""The side of a test process: its fork server, and forked programs in the guise of `subprocess.Popen`."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Pipe
from pathlib import Path
from threading import Lock
from typing import Any, Final

from tests.forking.request import ADOPTED, FIXED, Ended, Fixed, Line, Request, Started

ROOT: Final = Path(__file__).parents[3]


class ForkServer:
    """A process that has imported jobledger, until `close` or the end of this process, however it comes."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forking", str(theirs.fileno())],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        with self._control.makefile("rb") as control:
            line = control.readline()
        if not line:
            raise ChildProcessError("the fork server ended before it served; its standard error says why")
        self._fixed: Fixed = json.loads(line)
        self._lock = Lock()

    @property
    def pid(self) -> int:
        """Of the server."""
        return self._process.pid

    def differs(self, environment: Mapping[str, str]) -> set[str]:
        """The variables that the server has read already, with another value than they have here.

        A program for which they matter has to be started for itself.
        """
        more = {name for name in environment if name.startswith(FIXED)} - ADOPTED
        return {name for name in {*self._fixed, *more} if environment.get(name) != self._fixed.get(name)}

    def fork(self, request: Request, streams: Sequence[int]) -> tuple[int, Line]:
        """The pid of the program, and where its end will be reported. Raises OSError as a start would."""
        line, theirs = Pipe()
        with theirs, self._lock:
            socket.send_fds(self._control, [b"."], [theirs.fileno(), *streams])
        line.send(request)
        match line.recv():
            case Started(pid):
                return pid, line
            case OSError() as error:
                raise error
            case other:
                raise ChildProcessError(f"the program ended before it began: {other}")

    def close(self) -> None:
        """It has ended, and so has everything that it has forked."""
        self._control.close()
        self._process.wait()


class Forked(subprocess.Popen[Any]):
    """A process of a fork server. It is not our child, so the server says when and how it has ended.

    Overrides what `subprocess.Popen` on POSIX has for the start, and for the end, of a child. Its command has to be
    `[sys.executable, "-m", module, …]`.
    """

    def __init__(self, server: ForkServer, command: Sequence[str], **options: Any) -> None:
        self._server = server
        self._line: Line
        self._taking = Lock()
        super().__init__(command, **options)

    def _execute_child(  # noqa: PLR0917 - its caller decides
        self,
        args: Sequence[str],
        executable: object,
        preexec_fn: object,
        close_fds: object,
        pass_fds: object,
        cwd: Path | str | None,
        env: Mapping[str, str] | None,
        startupinfo: object,
        creationflags: object,
        shell: object,
        p2cread: int,
        p2cwrite: int,
        c2pread: int,
        c2pwrite: int,
        errread: int,
        errwrite: int,
        restore_signals: object,
        gid: object,
        gids: object,
        uid: object,
        umask: object,
        start_new_session: bool,
        *_: object,
    ) -> None:
        python, dash_m, module, *arguments = args
        assert (python, dash_m) == (sys.executable, "-m")
        environment = dict(os.environ if env is None else env)
        request = Request(module, arguments, environment, str(cwd or Path.cwd()), start_new_session)
        streams = [given if given != -1 else ours for ours, given in enumerate((p2cread, c2pwrite, errwrite))]
        try:
            self.pid, self._line = self._server.fork(request, streams)
            self._child_created = True
        finally:
            ends = (p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)
            self._close_pipe_fds(*ends)  # type: ignore[attr-defined]

    def _internal_poll(self, _deadstate: object = None) -> int | None:
        return self._wait(0) if self.returncode is not None or self._line.poll() else None

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            if not self._line.poll(timeout):
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
            with self._taking:
                if self.returncode is None:  # no other thread was faster
                    ended: Ended = self._line.recv()
                    self.returncode = ended.code
        return self.returncode
