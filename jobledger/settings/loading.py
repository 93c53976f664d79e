"""The settings that hold, and where each came from."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from jobledger.program.errors import nearest
from jobledger.settings.model import Settings, with_kinds
from jobledger.settings.values import default_store
from statemachine.docstrings import field_docs
from statemachine.errors import ConfigError

PREFIX: Final = "JOBLEDGER_"

NOT_SETTINGS: Final = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("REQUIRE_ALL", "REAL_STARTS", "TEST_WORKERS", "BASE"),
        *("SCREENSHOTS", "KUBECONFIG", "TOOLS", "CONTAINER_ID"),
        *(
            "FRESH_SEEDS",
            "SEED",
            "SIM_SEEDS",
            "SIM_KAFKA_SEEDS",
            "SIM_FIRST",
            "SIM_SEED",
            "KILLS",
            "FULL_SIZE",
        ),
        *(
            "FIRE_LOG",
            "FIRE_ROLES",
            "FIRE_JOBS",
            "FIRE_KILLS",
            "FIRE_APISERVER_KILLS",
            "FIRE_NODE_KILLS",
            "FIRE_BROKER_KILLS",
            "FIRE_SEED",
        ),
        *(
            "CHAOS_JOBS",
            "CHAOS_KILLS",
            "CHAOS_STOPS",
            "CHAOS_APISERVER_KILLS",
            "CHAOS_NODE_KILLS",
            "CHAOS_BROKER_KILLS",
            "CHAOS_SEED",
        ),
    )
)
"""Variables of the test suite, of tools beside jobledger, and the mark of pods that run as processes."""

NOT_SETTINGS_PREFIX: Final = f"{PREFIX}MOUNT_"
"""Set in pods that run as processes; a `jobledger` started by such a pod inherits them."""


@dataclass(frozen=True, slots=True)
class Held:
    """The settings that hold, and where each came from: path of the field → `default`, a variable, a flag."""

    settings: Settings
    origins: Mapping[str, str]


def load(flags: Mapping[str, tuple[str, Any]] | None = None, *, whole: bool = False) -> Held:
    """The settings, from `flags` (path of the field → name of the flag and its value), the environment, defaults.

    Those of opt-in kinds are among them if somebody set one, or if the `whole` is wanted: a listing of jobs would
    take a quarter longer if it imported the kinds.

    Raises:
        ConfigError: a variable is unknown, or a value is not what the setting needs.
    """
    given = {path: (flag, value) for path, (flag, value) in (flags or {}).items() if value is not None}
    said = {*map(variable, given), *_variables(os.environ)}
    model = with_kinds() if whole or said - set(map(variable, paths(Settings))) else Settings
    _refuse_unknown(said, model)
    try:
        settings = model.model_validate(_nested(_environment(model) | _values(given)))
    except ValidationError as error:
        raise ConfigError(_sentence(error, given)) from None
    if settings.store == Path():
        settings = settings.model_copy(update={"store": default_store()})
    settings = settings.model_copy(update={"store": settings.store.expanduser().absolute()})
    return Held(settings, {path: _origin(path, given) for path in paths(model)})


def paths(model: type[BaseModel] | None = None, at: str = "") -> list[str]:
    """Every setting by its path in the tree, such as `store` or `log.level`."""
    fields = []
    for name, field in (model or with_kinds()).model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            fields += paths(inner, f"{at}{name}.")
        else:
            fields.append(at + name)
    return fields


def variable(path: str) -> str:
    """The environment variable of the setting at `path`."""
    return PREFIX + path.replace(".", "__").upper()


def value_at(settings: Settings, path: str) -> Any:
    """The value of the setting at `path`."""
    value: Any = settings
    for name in path.split("."):
        value = getattr(value, name)
    return value


def explained(path: str, model: type[BaseModel] | None = None) -> str:
    """What the setting at `path` is for: unit, default and why."""
    name, _, rest = path.partition(".")
    owner = model or with_kinds()
    inner = owner.model_fields[name].annotation
    if rest and isinstance(inner, type):
        return explained(rest, inner)
    return field_docs(owner).get(name, "")


def _values(given: Mapping[str, tuple[str, Any]]) -> dict[str, Any]:
    return {path: value for path, (_, value) in given.items()}


def _environment(model: type[Settings]) -> dict[str, Any]:
    """The settings that variables say, by path; one that is empty says nothing."""
    said = ((path, os.environ.get(variable(path))) for path in paths(model))
    return {path: value for path, value in said if value}


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in values.items():
        *outer, name = path.split(".")
        place = tree
        for step in outer:
            place = place.setdefault(step, {})
        place[name] = value
    return tree


def _origin(path: str, given: Mapping[str, tuple[str, Any]]) -> str:
    if path in given:
        return given[path][0]
    return variable(path) if os.environ.get(variable(path)) else "default"


def _variables(names: Iterable[str]) -> set[str]:
    """Those of these variables that should be settings."""
    ours = {name for name in names if name.startswith(PREFIX) and not name.startswith(NOT_SETTINGS_PREFIX)}
    return ours - NOT_SETTINGS


def _refuse_unknown(names: Iterable[str], model: type[Settings]) -> None:
    known = [variable(path) for path in paths(model)]
    for name in sorted(set(names).difference(known)):
        near = nearest(name, known)
        hint = f"did you mean {near}?" if near else "`jobledger config` lists all settings"
        raise ConfigError(f"the environment variable {name} is no setting of jobledger; {hint}")


def _sentence(error: ValidationError, given: Mapping[str, tuple[str, Any]]) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(step) for step in first["loc"])
    name = given[path][0] if path in given else variable(path)
    text = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    text = text.replace("String should match", "must match")
    text = text if text.startswith("must") else f"must be {text}"
    return f"{name} is {str(first['input'])!r}, but {text}"
