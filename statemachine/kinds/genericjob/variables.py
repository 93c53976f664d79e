"""Variables in commands, arguments and values, such as `$(rank)` and `$(service.worker[0].host)`.

Source: genericjob.md, section 4. What is none of them is Kubernetes' to expand, as is everything behind `$$`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_VARIABLE: Final = re.compile(r"\$\$|\$\((?P<name>[^()]*)\)")
_REPLICAS: Final = re.compile(r"replicas\[(?P<type>[^\]]*)\]")
_PORT: Final = re.compile(r"service\.port\[(?P<port>[^\]]*)\]")
_HOST: Final = re.compile(r"service\.(?P<type>[^\[\]]+)\[(?P<rank>[0-9]{1,9})\]\.host")

Expand = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Variables:
    """What a replica's variables stand for; `ports` by name, None where the job has no Services."""

    job: str
    type: str
    rank: int
    scales: Mapping[str, int]
    ports: Mapping[str, int] | None

    def value(self, name: str) -> str | None:
        """What `$(name)` stands for; None if it cannot be resolved, or is none of ours."""
        if name == "type":
            return self.type
        if name == "rank":
            return str(self.rank)
        if matched := _REPLICAS.fullmatch(name):
            return _text(self.scales.get(matched["type"]))
        if self.ports is None:
            return None
        if matched := _PORT.fullmatch(name):
            return _text(self.ports.get(matched["port"]))
        matched = _HOST.fullmatch(name)
        if matched and int(matched["rank"]) < self.scales.get(matched["type"], 0):
            return f"{self.job}-{matched['type']}-{int(matched['rank'])}"
        return None

    def expanded(self, text: str) -> str:
        """`text` with every variable that can be resolved in place."""
        return _VARIABLE.sub(self._replaced, text)

    def _replaced(self, matched: re.Match[str]) -> str:
        name = matched["name"]
        value = None if name is None else self.value(name)
        return matched[0] if value is None else value

    def unresolved(self, text: str) -> Iterator[str]:
        """The names of ours in `text` that stand for nothing in this job."""
        for matched in _VARIABLE.finditer(text):
            name = matched["name"]
            if name and name.startswith(("service.", "replicas[")) and self.value(name) is None:
                yield name


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def in_container(container: Mapping[str, Any], expand: Expand) -> dict[str, Any]:
    """The container with its command, arguments and literal values of variables expanded."""
    result = dict(container)
    for name in ("command", "args"):
        if container.get(name):
            result[name] = [expand(word) for word in container[name]]
    if container.get("env"):
        result["env"] = [_variable(entry, expand) for entry in container["env"]]
    return result


def _variable(entry: Mapping[str, Any], expand: Expand) -> dict[str, Any]:
    value = entry.get("value")
    return {**entry, "value": expand(value)} if value else dict(entry)
