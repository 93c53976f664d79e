"""A Dockerfile, read strictly: instructions in stages, what is continued joined; no directives, no here-documents."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

KNOWN: Final = frozenset(
    {
        "ADD",
        "ARG",
        "CMD",
        "COPY",
        "ENTRYPOINT",
        "ENV",
        "EXPOSE",
        "FROM",
        "HEALTHCHECK",
        "LABEL",
        "RUN",
        "SHELL",
    }
    | {"STOPSIGNAL", "USER", "VOLUME", "WORKDIR"}
)

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}|\$(\w+)")


class Malformed(ValueError):
    """This is no Dockerfile that the parser knows."""


@dataclass
class Stage:
    """What follows a FROM: (instruction, rest of the line) in order."""

    image: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        """What stands behind every instruction of that name."""
        return [rest for name, rest in self.instructions if name == instruction]

    def words(self, instruction: str) -> list[list[str]]:
        """The same in words; a list in JSON is its elements."""
        texts = self.all(instruction)
        return [json.loads(text) if text.startswith("[") else shlex.split(text) for text in texts]


def stages(text: str) -> list[Stage]:
    """The stages of a Dockerfile, images with the defaults of the ARGs before the first. Raises Malformed."""
    stages: list[Stage] = []
    defaults: dict[str, str] = {}
    for name, rest in _instructions(text):
        if name == "FROM":
            image, _, alias = rest.partition(" AS ")
            stages.append(Stage(_filled(image.strip(), defaults), alias.strip()))
        elif stages:
            stages[-1].instructions.append((name, rest))
        elif name == "ARG":
            argument, _, default = rest.partition("=")
            defaults[argument] = default
        else:
            raise Malformed(f"{name} stands before the first FROM")
    if not stages:
        raise Malformed("there is no FROM")
    return stages


def _instructions(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    instructions = []
    for line in joined:
        name, _, rest = line.partition(" ")
        if name not in KNOWN or not rest.strip():
            raise Malformed(f"no instruction: {line}")
        instructions.append((name, rest.strip()))
    return instructions


def _filled(text: str, values: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in values:
            raise Malformed(f"{name} has no default")
        return values[name]

    return _VARIABLE.sub(value, text)
