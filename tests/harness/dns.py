"""A cluster's DNS: CoreDNS over its API server, asked as a pod's resolver would ask it."""

import secrets
import socket
import struct
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.harness.cluster import Cluster
from tests.harness.ports import free_port
from tests.harness.programs import COREDNS, built
from tests.harness.server import GUARDED, Server
from tests.harness.waiting import wait_for

DOMAIN: Final = "cluster.local"

_ZONE: Final = """\
.:{port} {{
    bind 127.0.0.1
    errors
    kubernetes {domain} {{
        kubeconfig {kubeconfig}
        ttl 0
    }}
}}
"""

_REFUSED_NAMES: Final = (3, 5)
"""NXDOMAIN; REFUSED: no plugin is there for the name's zone."""


class ClusterDns(Server):
    """CoreDNS for the Services of `cluster`, under `domain`, on a port of 127.0.0.1; `with` starts and stops it."""

    def __init__(self, cluster: Cluster, home: Path, domain: str = DOMAIN) -> None:
        program, missing = built(COREDNS)
        assert program is not None, missing
        self._program, self._cluster, self._home, self.domain = program, cluster, home, domain
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """It knows the Services that there are."""
        zone = _ZONE.format(port=self._port, domain=self.domain, kubeconfig=self._cluster.kubeconfig)
        (self._home / "Corefile").write_text(zone, encoding="utf-8")
        with self._log.open("ab") as said:
            self._process = subprocess.Popen(
                ["bash", "-c", GUARDED, "coredns", str(self._program), "-conf", str(self._home / "Corefile")],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
            )
        wait_for("CoreDNS answers", self._knows_the_api_server)

    def stop(self) -> None:
        """Nothing runs any more."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def addresses(self, name: str) -> list[str]:
        """The IPv4 addresses of a whole name; none: there is no such name, or it has none."""
        query = secrets.randbits(16)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.settimeout(10)
            sender.connect(("127.0.0.1", self._port))
            sender.send(_question(query, name))
            return sorted(_addresses(sender.recv(65_535), query))

    def resolved(self, pod: Mapping[str, Any], name: str) -> list[str]:
        """What a process in `pod` gets for a name of fewer dots than `ndots`: the first place of its list has it.

        Source: Kubernetes, dnsPolicy ClusterFirst: the list begins with namespace, `svc` and domain, and what
        dnsConfig says of it comes behind; resolv.conf(5).
        """
        namespace = pod["metadata"]["namespace"]
        usual = (f"{namespace}.svc.{self.domain}", f"svc.{self.domain}", self.domain)
        listed = (*usual, *pod["spec"].get("dnsConfig", {}).get("searches", ()))
        answers = (self.addresses(f"{name}.{domain}") for domain in listed)
        return next((addresses for addresses in answers if addresses), [])

    @property
    def _log(self) -> Path:
        return self._home / "coredns.log"

    def _knows_the_api_server(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text(encoding="utf-8", errors="replace")
        try:
            return bool(self.addresses(f"kubernetes.default.svc.{self.domain}"))
        except OSError:
            return False


def _question(query: int, name: str) -> bytes:
    """A query for the A records of `name`. Source: RFC 1035, section 4."""
    labels = b"".join(struct.pack("B", len(label)) + label.encode() for label in name.split("."))
    return struct.pack(">6H", query, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, 1, 1)


def _addresses(answer: bytes, query: int) -> Iterator[str]:
    said, flags, questions, records = struct.unpack_from(">4H", answer)
    assert said == query
    code = flags & 15
    assert code == 0 or code in _REFUSED_NAMES, f"CoreDNS answers with code {code}"
    place = 12
    for _ in range(questions):
        place = _behind_name(answer, place) + 4
    for _ in range(records):
        place = _behind_name(answer, place)
        type_, _, _, length = struct.unpack_from(">HHIH", answer, place)
        place += 10
        if type_ == 1:
            yield socket.inet_ntoa(answer[place : place + length])
        place += length


def _behind_name(answer: bytes, place: int) -> int:
    """A name ends with an empty label, or with a pointer to the rest."""
    while length := answer[place]:
        if length >= 0xC0:
            return place + 2
        place += 1 + length
    return place + 1
