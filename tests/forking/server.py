"""The fork server: imports all that programs of jobledger import, then forks for each request.

It has one thread, opens nothing, and writes nothing. The child takes over from the request what a process has from
its start: streams, folder, environment, arguments and path; then it runs the module as `python -m` does, and ends
without taking its modules apart, which would cost more than most commands.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from multiprocessing.connection import Connection
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import ModuleType
from typing import Final, NoReturn

from tests.forking.request import ADOPTED, FIXED, Ended, Fixed, Line, Request, Started

_PACKAGES: Final = ("jobledger", "projectors", "k8s_bridge", "statemachine")

_LATE: Final = (
    "alembic.command",
    "alembic.ddl.postgresql",
    "anyio._backends._asyncio",
    "anyio.streams.memory",
    "anyio.streams.tls",
    "asyncpg.pgproto.pgproto",
    "faust.transport.drivers.aiokafka",
    "pydantic.v1",
    "rich._emoji_codes",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "sqlalchemy.ext.asyncio",
    "typer._adapters",
    "typer.rich_utils",
    "uvicorn.lifespan.off",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)
"""What commands or their libraries import only when they need it."""

_FLUSH_FAILED: Final = 120
"""The exit code of an interpreter that could not write the last of its output."""


def main(descriptor: int) -> None:
    """Serve the socket `descriptor` until its other end is closed; then nothing that was forked is left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the test process, whose end is ours
    with socket.socket(fileno=descriptor) as control:
        path = sys.path[1:]
        with _variables_read() as names:
            _import_all()
        if len(list(Path("/proc/self/task").iterdir())) != 1:
            raise RuntimeError("a module has started a thread: a fork would not have it")
        names.update(name for name in os.environ if name.startswith(FIXED))
        fixed: Fixed = {name: os.environ.get(name) for name in sorted(names - ADOPTED)}
        gc.collect()
        gc.freeze()
        control.sendall(json.dumps(fixed).encode() + b"\n")
        _serve(control, path)


def _import_all() -> None:
    """All modules of ours but programs, and what they import late; extras that are not installed are left out."""
    for package in map(importlib.import_module, _PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "__main__" not in module.name and ".migrations" not in module.name:
                with suppress(ImportError):
                    importlib.import_module(module.name)
    for name in _LATE:
        with suppress(ImportError):
            importlib.import_module(name)


@contextmanager
def _variables_read() -> Iterator[set[str]]:
    """The names of the environment variables that are read in this block: what depends on them is decided.

    Those of copies of the whole environment are not among them.
    """
    names: set[str] = set()
    copied: set[str] = set()

    class Recording(type(os.environ)):  # type: ignore[misc]
        def __getitem__(self, key: str) -> str:
            if key in copied:
                copied.remove(key)
            else:
                names.add(key)
            return str(super().__getitem__(key))

        def __contains__(self, key: object) -> bool:
            names.add(str(key))
            return bool(super().__contains__(key))

        def __iter__(self) -> Iterator[str]:
            copied.update(super().__iter__())
            return super().__iter__()  # type: ignore[no-any-return]

    usual = type(os.environ)
    os.environ.__class__ = Recording
    try:
        yield names
    finally:
        os.environ.__class__ = usual


# ---- the server --------------------------------------------------------------------------------------------------


def _serve(control: socket.socket, path: Sequence[str]) -> None:
    running: dict[int, int] = {}
    with DefaultSelector() as selector:
        selector.register(control, EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                if key.fileobj is not control:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _, status = os.waitpid(running.pop(key.fd), 0)
                    with suppress(OSError), key.data as line:  # perhaps nobody waits for it
                        line.send(Ended(os.waitstatus_to_exitcode(status)))
                    continue
                message, descriptors, *_ = socket.recv_fds(control, 1, 4)
                if not message:
                    selector.unregister(control)
                    for pid in running.values():
                        os.kill(pid, signal.SIGKILL)
                    continue
                line, streams = Connection(descriptors[0]), descriptors[1:]
                if not (pid := os.fork()):
                    try:
                        _become(line, streams, path)
                    finally:  # never into the frames above: what they would close are the program's descriptors
                        sys.excepthook(*sys.exc_info())
                        os._exit(1)
                for stream in streams:
                    os.close(stream)
                end = os.pidfd_open(pid)
                running[end] = pid
                selector.register(end, EVENT_READ, line)


# ---- the child ---------------------------------------------------------------------------------------------------


def _become(line: Line, streams: Sequence[int], path: Sequence[str]) -> NoReturn:
    """Run the program that is asked for on `line`, and end with it."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until somebody can catch its exception
    signal.signal(signal.SIGINT, signal.default_int_handler)
    request: Request = line.recv()
    try:
        os.chdir(request.folder)
    except OSError as error:
        line.send(error)
        os._exit(1)
    if request.new_session:
        os.setsid()
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for stream in (sys.stdin, sys.stdout):
        assert isinstance(stream, TextIOWrapper)
        stream.reconfigure(line_buffering=stream.isatty())
    line.send(Started(os.getpid()))
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    places = filter(None, request.environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = dict.fromkeys([str(Path.cwd()), *map(os.path.abspath, places), *path])
    sys.orig_argv[:] = [sys.executable, "-m", request.module, *request.arguments]
    sys.argv[:] = ["-m", *request.arguments]
    sys.modules["__main__"] = ModuleType("__main__")
    code = _exit_code(request.module, mask)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    _exit(code)


def _exit_code(module: str, mask: Iterable[int]) -> int:
    """The module has run, with these signals blocked; what an interpreter makes of its end."""
    run: Callable[[str], object] = runpy._run_module_as_main  # type: ignore[attr-defined]
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        run(module)
    except SystemExit as asked:
        if asked.code is None or isinstance(asked.code, int):
            return (asked.code or 0) & 0xFF
        sys.stderr.write(f"{asked.code}\n")
        return 1
    except BaseException as error:  # noqa: BLE001 - none is above us
        ours = error.__traceback__
        error.__traceback__ = ours and ours.tb_next  # an interpreter is in no traceback
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _exit(code: int) -> NoReturn:
    """What the program has left behind complains now; then it ends, or is killed if `code` is a signal's number."""
    del sys.modules["__main__"]
    gc.collect()
    try:
        if not sys.stdout.closed:
            sys.stdout.flush()
    except OSError as error:
        sys.stderr.write(f"Exception ignored in: {sys.stdout!r}\n{type(error).__name__}: {error}\n")
        code = _FLUSH_FAILED
    sys.stderr.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
