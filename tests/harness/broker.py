"""A Kafka of our own: started on free ports, its nodes killed, frozen and brought back, gone with its owner."""

import os
import subprocess
from pathlib import Path
from typing import Final

from statemachine.log.kafka.address import Security
from tests.harness.programs import KAFKA, CommandFailed, output
from tests.harness.server import Server

_ATTEMPTS: Final = 3
"""Another test run may take the same ports at the same time."""


class Kafka(Server):
    """One node or several, each broker and controller in one; `with` starts and purges it.

    All of it lives in `home`. Should this process die first, it is stopped and purged all the same. Nodes count
    from 1. Topics are not made by writing to them. `heap` is what Java calls -Xmx, of each node. A `secure` one has
    TLS, users with passwords, and ACLs that grant nothing.
    """

    def __init__(self, home: Path, *, nodes: int = 1, heap: str = "256m", secure: bool = False) -> None:
        self.home = home
        self.nodes = nodes
        self._heap = heap
        self._options = ["--nodes", str(nodes)] + ["--secure"] * secure
        self._servers = ""
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        """`host:port` of every node, with commas between them; the same after `stop(purge=False)` and `start`."""
        assert self._servers, "this Kafka was never started"
        return self._servers

    def start(self) -> None:
        """All nodes run and answer, those that ran before untouched. Raises CommandFailed."""
        if self._guard is None:
            self._guard = self._watch_over()
        if (self.home / "port").exists():
            self._kafka("start")
        else:
            self._servers = self._start_somewhere()

    def stop(self, *, purge: bool = True) -> None:
        """Nothing runs any more; nothing is left of it with `purge`, else `start` continues where it was."""
        self._kafka("stop", *(["--purge"] if purge else []))
        if purge and self._guard is not None:
            self._guard.communicate()
            self._guard = None

    def kill(self, node: int = 1) -> None:
        """A node ended by SIGKILL; `start` brings it back with what is on its disk."""
        self._kafka("kill", str(node))

    def freeze(self, node: int = 1) -> None:
        """A node does nothing any more, and its connections stay open."""
        self._kafka("freeze", str(node))

    def resume(self, node: int = 1) -> None:
        """A node that was frozen goes on."""
        self._kafka("resume", str(node))

    def lead(self) -> bool:
        """Every partition is led by the first of its nodes; False: not all, as some have not caught up yet."""
        try:
            self._kafka("lead")
        except CommandFailed:
            return False
        return True

    def security(self, user: str, password: str = "", mechanism: str = "PLAIN") -> Security:
        """How a user gets through to a secure one: `admin` (by SCRAM, too), a role of a controller, or `visitor`."""
        file = self.home / f"{user}.password"
        file.write_text(password or f"secret-{user}", encoding="utf-8")
        return Security("SASL_SSL", mechanism, user, file, ca_file=self.home / "ca.crt")

    def log(self, node: int = 1) -> str:
        """What a node has said since it was started last."""
        return (self.home / f"node-{node}" / "log").read_text(encoding="utf-8")

    def _start_somewhere(self) -> str:
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._kafka("start", "--port", "0", *self._options)
            except CommandFailed as failed:
                self._kafka("stop", "--purge")
                if "address already in use" not in failed.said:
                    raise
        return self._kafka("start", "--port", "0", *self._options)

    def _kafka(self, verb: str, *options: str) -> str:
        env = {**os.environ, "KAFKA_HEAP": self._heap}
        return output([str(KAFKA), verb, *options, "--dir", str(self.home)], env=env, within=100).strip()

    def _watch_over(self) -> subprocess.Popen[bytes]:
        """A process that purges everything once our end of its standard input is closed, however we end."""
        command = [str(KAFKA), "guard", "--purge", "--dir", str(self.home)]
        nowhere = subprocess.DEVNULL  # a reader of our output must not wait for it
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
