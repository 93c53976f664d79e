"""A PostgreSQL of our own: on a free port of the loopback, killed, frozen and brought back, gone with its owner."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final
from uuid import uuid4

from tests.harness.programs import CommandFailed, output, run
from tests.harness.server import Server
from tests.harness.waiting import wait_for

USER: Final = "ledger"
PASSWORD: Final = "open-sesame"

_SERVANT: Final = "nobody"
"""Who runs the server where we are root: it refuses to be run by root."""

_GUARD: Final = (
    "import os, shutil, signal, sys\n"
    "sys.stdin.buffer.read()\n"
    "try:\n"
    "    os.kill(int(open(sys.argv[1] + '/data/postmaster.pid').readline()), signal.SIGQUIT)\n"
    "except OSError: pass\n"
    "shutil.rmtree(sys.argv[1], ignore_errors=True)\n"
)
"""Ends the server and removes its data once our end of its standard input is closed, however we end."""


@cache
def binaries() -> tuple[Path | None, str]:
    """The folder with PostgreSQL's programs, or None and why not."""
    places = [Path(program).resolve().parent for program in [shutil.which("initdb")] if program]
    if shutil.which("pg_config"):
        places.append(Path(run(["pg_config", "--bindir"]).stdout.strip()))
    places += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: folder.parent.name, reverse=True
    )
    for place in places:
        needed = [(place / name).exists() for name in ("postgres", "initdb")]
        if all(needed) and shutil.which("psql"):
            return place, ""
    return None, "there is no PostgreSQL server on this machine: apt-get install postgresql"


class Postgres(Server):
    """A server; `with` starts and purges it. It syncs nothing: what a killed process wrote is there all the same.

    All of it lives in `home`, a folder of its own: pytest's are closed to all users but ours, again and again.
    """

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="jobledger-postgres-"))
        self.port = 0
        self._server: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def url(self, database: str, user: str = USER, password: str = PASSWORD) -> str:
        """Where a database is, with the password in it."""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """It runs and answers; one that ran before has its data again. Raises CommandFailed."""
        if not self.port:
            self._guard = self._watch_over()
            self._make()
        with (self.home / "log").open("ab") as said:
            self._server = subprocess.Popen(
                self._as_servant([self._program("postgres"), "-D", str(self._data)]),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        wait_for("PostgreSQL answers", self._answers, 60)

    def kill(self) -> None:
        """It has ended at once, as when power fails; `start` brings it back with what was committed."""
        if self._server is not None:
            self._all(signal.SIGKILL)
            self._server.wait()
            self._server = None
            wait_for("all of it is gone", lambda: not self._listens(), 30)

    def freeze(self) -> None:
        """It does nothing any more, and its connections stay open."""
        self._all(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on."""
        self._all(signal.SIGCONT)

    def restore(self) -> None:
        """It runs and answers, whether it was killed, frozen, or left alone."""
        self.resume()
        if self._server is None:
            self.start()

    def fresh(self) -> str:
        """The name of a database that nobody else has, empty."""
        name = f"test_{uuid4().hex[:12]}"
        self.sql(f'CREATE DATABASE "{name}"')
        return name

    def drop(self, name: str) -> None:
        """The database is gone, also where a client still uses it."""
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def sql(self, statement: str, database: str = "postgres", password: str = PASSWORD) -> str:
        """What psql prints. Raises CommandFailed."""
        url = self.url(database, password=password)
        return output([self._program("psql"), "-qAt", url, "-c", statement]).strip()

    def stop(self) -> None:
        """Nothing runs any more, and nothing is left of it."""
        self.resume()
        self.kill()
        if self._guard is not None:
            self._guard.communicate()
            self._guard = None

    @property
    def _data(self) -> Path:
        return self.home / "data"

    # ---- how -------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        secret = self.home / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        if os.getuid() == 0:
            shutil.chown(self.home, _SERVANT)
            shutil.chown(secret, _SERVANT)
        said = ["-U", USER, "-A", "scram-sha-256", "--pwfile", str(secret), "--no-sync", "-E", "UTF8"]
        command = [self._program("initdb"), "-D", str(self._data), *said, "--locale", "C.UTF-8"]
        output(self._as_servant(command), within=100)
        secret.unlink()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(
                f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"
                "fsync = off\nmax_connections = 60\nshared_buffers = '64MB'\nlog_min_messages = warning\n"
            )

    def _answers(self) -> bool:
        if self._server is not None and self._server.poll() is not None:
            raise AssertionError((self.home / "log").read_text(encoding="utf-8"))
        try:
            return self.sql("SELECT 1") == "1"
        except CommandFailed:
            return False

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _all(self, sign: signal.Signals) -> None:
        """Each of its processes makes a session of its own."""
        if self._server is None:
            return
        children = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children")
        for pid in [self._server.pid, *map(int, children.read_text(encoding="ascii").split())]:
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                continue

    def _as_servant(self, command: list[str]) -> list[str]:
        if os.getuid() != 0:
            return command
        return ["setpriv", f"--reuid={_SERVANT}", "--regid=nogroup", "--clear-groups", *command]

    def _program(self, name: str) -> str:
        place, missing = binaries()
        assert place is not None, missing
        return name if name == "psql" else str(place / name)

    def _watch_over(self) -> subprocess.Popen[bytes]:
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(
            [sys.executable, "-c", _GUARD, str(self.home)],
            stdin=subprocess.PIPE,
            stdout=nowhere,
            stderr=nowhere,
            start_new_session=True,
        )
