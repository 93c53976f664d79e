"""The file of sinks: which receivers get public events, and which events.

A file is checked as a whole before anything is opened; a mistake is one sentence that names its place. Addresses may
hold secrets: no sentence repeats one.
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from jobledger.program.errors import nearest
from jobledger.settings.values import Span
from k8s_bridge.selectors import Selector
from projectors.contract.catalogue import CATALOGUE, short_name
from statemachine.errors import ConfigError
from statemachine.log.positions import LEDGER, NAME

ORIGIN: Final = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$")
"""As whom a sink may ask a web hook for leave. Source: CloudEvents, HTTP 1.1 Web Hooks, 4.1: a DNS expression."""

DEFAULT_ORIGIN: Final = "jobledger"

_MOST: Final = 2**20
"""Bytes of a file of sinks."""


def _name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError("must be lower-case letters, digits, - and ., 63 of them at most")
    if value == LEDGER:
        raise ValueError(f"cannot be {LEDGER}, which is taken")
    return value


def _selector(value: str) -> str:
    try:
        Selector.of(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None
    return value


def _type(value: str) -> str:
    pattern = short_name(value)
    if not any(fnmatchcase(public_type.name, pattern) for public_type in CATALOGUE):
        raise ValueError(f'"{value}" is no type of public event; `jobledger events schema` lists all')
    return pattern


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class _AnySink(_Section):
    """What all sinks have: a name for life, and of which jobs they get something; by default of all."""

    name: Annotated[str, AfterValidator(_name)]
    namespaces: tuple[str, ...] = ()
    label_selector: Annotated[str, AfterValidator(_selector)] = Field("", alias="labelSelector")


class _Sink(_AnySink):
    """A sink of public events: which of them it gets; by default all."""

    types: tuple[Annotated[str, AfterValidator(_type)], ...] = ()


class KeyFile(_Section):
    """A file with a key to sign by."""

    secret_file: Path = Field(alias="secretFile")


class WebHookSink(_Sink):
    """Signed POST requests; see docs/events.md, "Web hooks"."""

    type: Literal["webhook"]
    url: SecretStr
    keys: tuple[KeyFile, ...]
    insecure: bool = False
    concurrency: Annotated[int, Field(ge=1, le=64)] = 8
    give_up_after: Span | None = Field(None, alias="giveUpAfter")
    handshake: bool = False
    origin: Annotated[str, Field(pattern=ORIGIN.pattern)] = DEFAULT_ORIGIN


class FilesSink(_Sink):
    """Files of JSON Lines in a directory of this process alone."""

    type: Literal["file"]
    path: Path


class StdoutSink(_Sink):
    """JSON Lines on standard output."""

    type: Literal["stdout"]


class TopicSink(_Sink):
    """The topic of the setting `events.kafka`, by default the ledger's own, or another by `url`, kafka://HOST:PORT/TOPIC.

    Its mode is by default that of the setting.
    """

    type: Literal["kafka"]
    mode: Literal["binary", "structured"] | None = None
    url: str = ""


class LineageOverHttp(_Section):
    """The API of a lineage system, which gets RunEvents at `/api/v1/lineage` below `url`."""

    type: Literal["http"]
    url: SecretStr
    api_key_file: Path | None = Field(None, alias="apiKeyFile")
    insecure: bool = False
    concurrency: Annotated[int, Field(ge=1, le=64)] = 8
    give_up_after: Span | None = Field(None, alias="giveUpAfter")


class LineageOverKafka(_Section):
    """A topic in the Kafka that the log is in, which others make and read."""

    type: Literal["kafka"]
    topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


class LineageSink(_AnySink):
    """RunEvents of OpenLineage; see docs/lineage.md."""

    type: Literal["openlineage"]
    transport: Annotated[LineageOverHttp | LineageOverKafka, Field(discriminator="type")]


ConfiguredSink = Annotated[
    WebHookSink | FilesSink | StdoutSink | TopicSink | LineageSink, Field(discriminator="type")
]

_MODELS: Final[Mapping[object, type[BaseModel]]] = {
    "webhook": WebHookSink,
    "file": FilesSink,
    "stdout": StdoutSink,
    "kafka": TopicSink,
    "openlineage": LineageSink,
}
_TRANSPORTS: Final[Mapping[object, type[BaseModel]]] = {"http": LineageOverHttp, "kafka": LineageOverKafka}
"""By the words with which errors say which model refused something."""


OWN_TOPIC: Final = "kafka"
"""Name of the sink that a ledger in Kafka has by default, for its own topic."""


def own_topic() -> ConfiguredSink:
    """That sink."""
    return TopicSink(name=OWN_TOPIC, type="kafka")


class _File(_Section):
    sinks: tuple[ConfiguredSink, ...]


def sinks_in(path: Path | None) -> Sequence[ConfiguredSink]:
    """The sinks of the file at `path`; none without one. Raises ConfigError."""
    if path is None:
        return ()
    try:
        with path.open("rb") as file:
            text = file.read(_MOST + 1)
        if len(text) > _MOST:
            raise ConfigError(f"{path} is no file of sinks: it has more than {_MOST} bytes")
        raw = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except OSError as error:
        raise ConfigError(f"the file of sinks {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise ConfigError(f"{path}{where}: this is no YAML") from None
    try:
        sinks = _File.model_validate(raw).sinks
    except ValidationError as error:
        raise ConfigError(
            f"{path}{_sentence(error.errors(include_input=False, include_url=False)[0], raw)}"
        ) from None
    names = [sink.name for sink in sinks]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{path}: two sinks have the name {name}; positions are kept by name")
    return sinks


def _sentence(error: Any, raw: object) -> str:
    """Where in the file something is wrong, and what."""
    place = ".".join(str(part) for part in error["loc"] if part not in _MODELS and part not in _TRANSPORTS)
    name = _name_at(error["loc"], raw)
    of = f" (sink {name})" if name else ""
    words = re.sub(r"^Value error, ", "", error["msg"])
    if error["type"] == "extra_forbidden":
        field = str(error["loc"][-1])
        near = nearest(field, _fields(error["loc"]))
        words = "no such field" + (f'; did you mean "{near}"?' if near else "")
    return f", {place}{of}: {words}" if place else f": {words}"


def _fields(place: Sequence[object]) -> list[str]:
    models = _TRANSPORTS if "transport" in place[:-1] else _MODELS
    model = next((models[part] for part in place[:-1] if part in models), _File)
    return [field.alias or name for name, field in model.model_fields.items()]


def _name_at(place: Sequence[object], raw: object) -> str:
    try:
        name = raw["sinks"][place[1]]["name"]  # type: ignore[index]
    except (LookupError, TypeError):
        return ""
    return name if isinstance(name, str) and NAME.fullmatch(name) else ""
