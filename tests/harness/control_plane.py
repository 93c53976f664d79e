"""A control plane of our own: started on free ports, its parts killed and brought back, gone with its owner."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from tests.harness.cluster import Cluster
from tests.harness.ports import free_row
from tests.harness.programs import KUBE, CommandFailed, built, output
from tests.harness.server import Server

PARTS: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")

_LONG: Final = 300
"""Seconds that a server may take to start, on a machine where thousands of pods begin and end meanwhile."""

_ATTEMPTS: Final = 3
"""Another test run may take the same ports at the same time."""


class ControlPlane(Server, Cluster):
    """etcd, API server, controller manager, scheduler, and KWOK in the place of nodes; `with` starts and purges it.

    All of it lives in `home`. Should this process die first, it is stopped and purged all the same.
    The kubeconfig has the contexts `local` (admin) and `visitor` (nothing is granted to it).
    `audit` keeps `audit_log`; `readable`: what `etcd` answers is JSON all through.
    """

    def __init__(self, home: Path, *, nodes: int = 4, audit: bool = False, readable: bool = False) -> None:
        super().__init__(home / "kubeconfig", home, [str(built(KUBE)[0]), "kubectl"])
        self._options = ["--nodes", str(nodes)]
        self._options += ["--audit"] * audit + ["--json"] * readable
        self._guard: subprocess.Popen[bytes] | None = None
        self._audit_begin = 0

    def start(self) -> None:
        """All parts run, those that ran before untouched. Raises CommandFailed."""
        if self._guard is None:
            self._guard = self._watch_over()
        if (self.home / "port").exists():
            self._start_again()
        else:
            self._start_somewhere()

    def down(self) -> list[str]:
        """The parts that have ended. A scheduler does so by itself when it has missed the answer to a binding."""
        return [part for part in PARTS if not self._is_running(part)]

    def bring_back(self) -> None:
        """The parts that had ended (see `down`) run again."""
        if self.down():
            self.start()

    def restart(self, part: str) -> None:
        """One part was killed and runs again."""
        self.kill(part)
        self.start()

    def kill(self, part: str) -> None:
        """One of PARTS ended by SIGKILL; `start` brings it back with what etcd holds."""
        self._kube("kill", part)

    def stop(self, *, purge: bool = True) -> None:
        """Nothing runs any more; nothing is left of it with `purge`, else `start` continues where it was."""
        self.close()
        self._kube("stop", *(["--purge"] if purge else []))
        if purge and self._guard is not None:
            self._guard.communicate()
            self._guard = None

    def audit_log(self) -> list[dict[str, Any]]:
        """The audit events since `forget_audit`: `user.username`, `verb`, `objectRef`, `responseStatus.code`.

        Oldest first.
        """
        with self._audit_file.open("rb") as file:
            file.seek(self._audit_begin)
            return [json.loads(line) for line in file if line.endswith(b"\n")]

    def forget_audit(self) -> None:
        """The audit log begins here: what other tests did is not in it."""
        self._audit_begin = self._audit_file.stat().st_size

    @property
    def _audit_file(self) -> Path:
        return self.home / "audit.log"

    @property
    def etcd(self) -> tuple[str, int]:
        """Host and port at which etcd answers HTTP, as long as it runs."""
        return "127.0.0.1", int((self.home / "port").read_text(encoding="utf-8")) + 1

    def _is_running(self, part: str) -> bool:
        try:
            pid = (self.home / f"{part}.pid").read_text(encoding="utf-8").strip()
            return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            return False

    def _start_somewhere(self) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._kube("start", "--port", str(free_row()), *self._options)
            except CommandFailed as failed:
                self._kube("stop", "--purge")
                if attempt == _ATTEMPTS or "address already in use" not in failed.said:
                    raise
            else:
                return

    def _start_again(self) -> None:
        """The port of a part that was killed may be taken for a moment longer."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._kube("start", *self._options)
            except CommandFailed as failed:
                if attempt == _ATTEMPTS or "address already in use" not in failed.said:
                    raise
                time.sleep(1)

    def _kube(self, verb: str, *options: str) -> None:
        output([str(KUBE), verb, *options, "--dir", str(self.home)], within=_LONG)

    def _watch_over(self) -> subprocess.Popen[bytes]:
        """A process that purges everything once our end of its standard input is closed, however we end."""
        command = [str(KUBE), "guard", "--purge", "--dir", str(self.home)]
        nowhere = subprocess.DEVNULL  # a reader of our output must not wait for it
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
