"""Service names on one machine: every port of a job's Services is a port of 127.0.0.1. Pure.

A pod that is a process has no name and no address of its own, so references to Services in a manifest are rewritten
before the process gets them: `<service>:<port>`, pairs of variables such as MASTER_ADDR and MASTER_PORT, and the name
alone wherever it is a word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8s_bridge.kubelet.values import ADDRESS

Ports = Mapping[int, int]
"""Port of a Service → the port of this machine that stands for it."""

Entry = dict[str, Any]
"""An entry of a container's `env`."""

_HOSTS = ("_ADDR", "_HOST")


class ServiceNames:
    """The Services of a job, and the texts that replace their names.

    `addresses`: the addresses of Services, other than 127.0.0.1, that SSH has to distinguish.
    """

    def __init__(
        self, services: Mapping[str, Ports], namespace: str, addresses: Mapping[str, str] | None = None
    ) -> None:
        self._services, self._addresses = services, addresses or {}
        domain = rf"(?:\.{re.escape(namespace)}(?:\.svc(?:\.cluster\.local)?)?)?"
        longest_first = sorted(services, key=len, reverse=True)
        self._names = "|".join(map(re.escape, longest_first))
        self._whole = re.compile(f"({self._names}){domain}") if services else None
        self._domain = domain

    def env(self, entries: Sequence[Entry]) -> tuple[list[Entry], Callable[[str], str]]:
        """The entries, with literal values rewritten, and the function that rewrites commands and arguments.

        That function also knows the variables that hold a Service's name, as in `$(MASTER_ADDR):29500`.
        """
        aliases = self._aliases(entries)
        ports = {
            f"{prefix}_PORT": self._services[service]
            for variable, service in aliases.items()
            for prefix in (variable.removesuffix(suffix) for suffix in _HOSTS if variable.endswith(suffix))
        }
        rewrite = self._rewriter(aliases)
        done = []
        for entry in entries:
            name, value = entry.get("name"), entry.get("value")
            if name in aliases:
                value = ADDRESS
            elif name in ports and isinstance(value, str) and value.isdigit():
                value = str(ports[name].get(int(value), value))
            elif isinstance(value, str):
                value = rewrite(value)
            done.append({**entry, "value": value} if "value" in entry else entry)
        return done, rewrite

    def master_ports(self, words: Sequence[str]) -> list[str]:
        """The words of a command; `--master_port` beside a Service's `--master_addr` is a port of this machine.

        In all spellings of the programs that have them, as words of their own or inside a script.
        """
        text = "\0".join(words)
        address = rf"--master[-_]addr[=\s\0](?P<name>{self._names}){self._domain}(?![\w.-])"
        named = re.search(address, text) if self._services else None
        if named is None:
            return list(words)
        ports = self._services[named["name"]]
        port = re.compile(r"(--master[-_]port[=\s\0])(\d+)(?!\w)")
        return port.sub(lambda match: f"{match[1]}{ports.get(int(match[2]), match[2])}", text).split("\0")

    def _aliases(self, entries: Sequence[Entry]) -> dict[str, str]:
        """Variables whose whole value is a Service's name → the name."""
        names: dict[str, str] = {}
        for entry in entries:
            match = self._whole and self._whole.fullmatch(str(entry.get("value") or ""))
            if match:
                names[str(entry.get("name"))] = match[1]
        return names

    def _rewriter(self, aliases: Mapping[str, str]) -> Callable[[str], str]:
        if not self._services:
            return lambda text: text
        variables = "|".join(rf"(?<!\$)\$\({re.escape(name)}\)" for name in aliases)
        word = rf"(?<![\w.-])(?<![^/]/)(?<!^/)(?P<name>{self._names}){self._domain}"
        host = f"(?:{word}|(?P<alias>{variables}))" if variables else word
        pattern = re.compile(rf"{host}(?::(?P<port>\d+))?(?![\w-]|\.\w)")
        return lambda text: pattern.sub(lambda match: self._replaced(match, aliases), text)

    def _replaced(self, match: re.Match[str], aliases: Mapping[str, str]) -> str:
        groups = match.groupdict()
        alias, port = groups.get("alias"), groups["port"]
        if alias and not port:
            return match[0]  # expands to the address
        service = aliases[alias[2:-1]] if alias else groups["name"]
        bare = self._addresses.get(service, ADDRESS)
        if not port:
            return bare
        here = self._services[service].get(int(port))
        return f"{ADDRESS}:{here}" if here is not None else f"{bare}:{port}"
