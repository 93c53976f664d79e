"""Ports of this machine for the ports of Services, chosen once and kept in an annotation of the Service."""

import json
import socket
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from k8s_bridge.kubelet.values import ADDRESS
from k8s_bridge.port import Manifest
from statemachine.errors import Refused

PORTS = "local.jobledger.dev/ports"
"""Annotation on Services: port of the Service → port of this machine, as JSON."""

_FROM, _TO = 21_000, 32_000
"""Below the ports that Linux and macOS give to outgoing connections, which could take a chosen port before its
server does."""


class PortPool:
    """Assigns free ports, each to one Service only.

    `seed` determines the first port, so that two clusters of one machine begin at different ones: no process listens
    on a chosen port yet.
    """

    def __init__(self, seed: str) -> None:
        self._owners: dict[int, str] = {}
        self._next = _FROM + zlib.crc32(seed.encode()) % (_TO - _FROM)

    def assign(self, service: Manifest) -> None:
        """Chooses a port for each port of a new Service, and writes them to its annotation."""
        wanted = [port["port"] for port in (service.get("spec") or {}).get("ports") or () if _is_port(port)]
        meta = service["metadata"]
        chosen = {str(port): self._free() for port in wanted}
        meta["annotations"] = {**(meta.get("annotations") or {}), PORTS: json.dumps(chosen)}

    def take(self, uid: str, ports: Iterable[int]) -> None:
        """Notes that the Service with this uid has these ports."""
        self._owners.update(dict.fromkeys(ports, uid))

    def give_back(self, uid: str) -> None:
        """Frees the ports of a Service that is gone."""
        self._owners = {port: owner for port, owner in self._owners.items() if owner != uid}

    def _free(self) -> int:
        """A port that no Service has and no process listens on. Raises Refused if there is none."""
        for _ in range(_FROM, _TO):
            port, self._next = self._next, self._next + 1 if self._next + 1 < _TO else _FROM
            if port not in self._owners and _bindable(port):
                self._owners[port] = ""
                return port
        raise Refused(403, "Forbidden", f"no port from {_FROM} to {_TO} of this machine is free")


def ports_of(service: Manifest) -> dict[int, int]:
    """Port of the Service → port of this machine; empty if the annotation is unreadable."""
    text = (service["metadata"].get("annotations") or {}).get(PORTS)
    try:
        return {int(port): int(here) for port, here in json.loads(text or "{}").items()}
    except (ValueError, AttributeError, TypeError):
        return {}


def services(children: Iterable[Manifest]) -> Iterator[tuple[str, dict[int, int]]]:
    """Name and ports of every Service among `children`."""
    for child in children:
        if child["kind"] == "Service":
            yield child["metadata"]["name"], ports_of(child)


def _is_port(raw: Mapping[str, Any]) -> bool:
    return isinstance(raw.get("port"), int)


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ADDRESS, port))
        except OSError:
            return False
    return True
