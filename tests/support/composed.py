"""compose/compose.yaml as `docker compose` reads it: variables filled in, each service with what it runs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

COMPOSE: Final = Path(__file__).parents[2] / "compose"
FILE: Final = COMPOSE / "compose.yaml"

IMAGE: Final = re.compile(r"jobledger:\d+\.\d+\.\d+")
"""What the Dockerfile builds; the commands of such services are ours."""

_VARIABLE: Final = re.compile(r"\$(?:(?P<escaped>\$)|\{(?P<name>\w+)(?P<rest>[^}]*)\})")


class Unset(ValueError):
    """The file needs a variable that was not given."""


def composed(variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The file with `variables` filled in, else the defaults that it names.

    Raises:
        Unset: a variable has neither. What it is needed for is in the message.
    """
    return dict(_filled(yaml.safe_load(FILE.read_text(encoding="utf-8")), variables or {}))


def ours(file: Mapping[str, Any]) -> dict[str, Any]:
    """The services that run jobledger, not another program of its image."""
    return {
        name: service
        for name, service in file["services"].items()
        if IMAGE.fullmatch(service["image"]) and "entrypoint" not in service
    }


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {key: _filled(part, variables) for key, part in value.items()}
        case list():
            return [_filled(item, variables) for item in value]
        case str():
            return _VARIABLE.sub(lambda match: _value(match, variables), value)
        case _:
            return value


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    if match["escaped"]:
        return "$"
    name, rest = match["name"], match["rest"]
    if given := variables.get(name):
        return given
    if not rest.startswith(":-"):
        raise Unset(f"{name}: {rest.removeprefix(':?')}")
    return rest.removeprefix(":-")
