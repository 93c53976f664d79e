"""Every setting, in one frozen tree: from flags, else from `JOBLEDGER_*`, else the default.

Nobody else reads the environment. `load` is called once in a process, and parts are handed down. What changes
a job's behaviour stands in its spec, not here.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    create_model,
)

from jobledger.errors import nearest
from statemachine.docstrings import field_docs
from statemachine.errors import ConfigError, InvariantBroken
from statemachine.ids import CLUSTER_DOMAIN, is_dns_label

if TYPE_CHECKING:
    from k8s_bridge.env_values import EnvValues
    from statemachine.kind import Kind, OptInSettings
    from statemachine.log.kafka.address import Security

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

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""A part of a name in DNS."""

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def duration(text: str) -> timedelta:
    """`90`, `90s`, `1m30s`, `1.5h` as a span; a bare number is in seconds. Raises ValueError."""
    text = text.strip()
    try:
        seconds = float(text)
    except ValueError:
        parts = _PART.findall(text)
        if not parts or "".join(map("".join, parts)) != text:
            raise ValueError("must be a duration such as 90s, 10m or 1h30m") from None
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if not 0 <= seconds < 1e9:
        raise ValueError("must be a duration between 0 and thirty years")
    return timedelta(seconds=seconds)


def _span(value: Any) -> Any:
    return duration(value) if isinstance(value, str) else value


Span = Annotated[timedelta, BeforeValidator(_span)]


def _some(value: timedelta) -> timedelta:
    if not value:
        raise ValueError("must be longer than 0 s")
    return value


def _namespace(value: str) -> str:
    if value and not is_dns_label(value):
        raise ValueError("must be a DNS-1123 label: lower-case letters, digits and '-', 63 of them at most")
    return value


NamespaceName = Annotated[str, AfterValidator(_namespace)]
"""What can be the name of a namespace (spec G20); empty for none."""


def default_store() -> Path:
    """`jobledger/ledger.db` in the XDG state directory."""
    said = os.environ.get("XDG_STATE_HOME", "")
    state = Path(said) if said.startswith("/") else Path.home() / ".local" / "state"
    return state / "jobledger" / "ledger.db"


def in_pod() -> bool:
    """This process runs in a pod of a Kubernetes cluster."""
    return "KUBERNETES_SERVICE_HOST" in os.environ


class LogSettings(BaseModel):
    """What jobledger says about itself, on standard error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    level: Literal["debug", "info", "warning", "error"] = "warning"
    """Least severe line that is shown: debug, info, warning or error. Default warning, because commands show
    their results themselves; `serve` shows info, and `-v` sets info, `-vv` debug."""

    format: Literal["console", "json"] = "console"
    """`console` for people, `json` (an object a line) for log collectors. Default console."""


class RestartSettings(BaseModel):
    """How long replicas wait before they are made again. A job keeps what held on the day it was first seen."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    backoff: Span = timedelta(seconds=10)
    """How long a replica waits that is made again for the second time in a row; twice as long for each time after
    that. The first comes at once. Default 10s; 0 switches it off."""

    backoff_max: Span = timedelta(minutes=5)
    """Nobody waits longer. Default 5m."""

    backoff_reset: Span = timedelta(minutes=10)
    """A pod that ran for so long begins a new row. Default 10m."""

    def of_jobs(self) -> dict[str, str]:
        """What differs from the defaults, which are a part of the rules."""
        names = {"backoff": "backoff", "backoff_max": "backoffMax", "backoff_reset": "backoffReset"}
        usual = RestartSettings()
        return {
            f"restart.{key}": f"{value.total_seconds():g}"
            for name, key in names.items()
            if (value := getattr(self, name)) != getattr(usual, name)
        }


class ClusterSettings(BaseModel):
    """What is true of the cluster that jobs run on. A job keeps what held on the day it was first seen."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    domain: Annotated[str, Field(pattern=rf"^{_LABEL}(\.{_LABEL})*$")] = "cluster.local"
    """The domain of Services in the cluster's DNS (a kubelet's `clusterDomain`), under which pods look each other's
    names up. Default cluster.local, as Kubernetes has it."""

    def of_jobs(self) -> dict[str, str]:
        """Also the default: that there is a domain says that Services have names."""
        return {CLUSTER_DOMAIN: self.domain}


class KueueSettings(BaseModel):
    """What is read of Kueue, on a cluster that has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = False
    """Whether Workloads (kueue.x-k8s.io/v1beta2, Kueue 0.15 or newer) are read: for what a job in a queue waits, why
    its quota was taken away. Default off, because it needs the right to list and watch them."""


class ControllerSettings(BaseModel):
    """How `jobledger controller` runs on a Kubernetes cluster."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    kubeconfig: str = ""
    """Path of the kubeconfig that says which cluster. Default: the service account, in a pod; else what
    `kubectl` would use."""

    context: str = ""
    """The kubeconfig's context to use. Default: its current one."""

    log: str = ""
    """URL of the event log: `sqlite:///absolute/path`, `sqlite:path`, or `kafka://HOST:PORT,HOST:PORT`, with
    `/PREFIX` behind it for topics that do not begin with `jobledger.`. Default: the file of `store`."""

    namespaces: str = ""
    """Namespaces to look after, with commas between them. Default: all, which needs a ClusterRole."""

    roles: str = ""
    """What this process does: some of `bridge,engine,projectors,front`. Default: all of it."""

    listen: str = ""
    """HOST:PORT to answer HTTP on. Default `[::]:8080` in a pod, which is all addresses, `127.0.0.1:8080` elsewhere:
    callers are asked for their tokens, but nobody has to reach the controller on a laptop."""

    leader_elect: bool | None = None
    """Work only while holding the lease `jobledger-bridge`, so that of several controllers one works at a
    time. Default: on in a pod, off elsewhere, where nobody waits to take over."""

    lease_namespace: str = ""
    """Namespace of the lease. Default: that of the pod, or of the kubeconfig's context."""

    silence: Annotated[Span, AfterValidator(_some)] = timedelta(seconds=100)
    """How long an open watch may be without a word before it is opened again. Default 100 s: API servers send a
    bookmark about every minute if there is nothing else."""


class KafkaSettings(BaseModel):
    """What holds where the event log is in Kafka: `--log kafka://HOST:PORT,HOST:PORT`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How clients talk to the brokers: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. Default PLAINTEXT, as brokers
    have it; where others share the network it should be SSL or SASL_SSL."""

    mechanism: Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = ""
    """How a user proves who they are, for the protocols with SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 with a
    password, OAUTHBEARER with a token. Default: none."""

    username: str = ""
    """The user, for the protocols with SASL. Default: none."""

    password_file: Path | None = None
    """Path of a file that holds the user's password. Default: none. A file, because variables are seen in places
    where files are not."""

    token_file: Path | None = None
    """Path of a file that holds the bearer token for OAUTHBEARER. Default: none. Read at each connection, so it may
    be replaced before the token expires, as a kubelet does with those of service accounts."""

    ca_file: Path | None = None
    """Path of the certificates (PEM) that those of the brokers are checked against. Default: the system's."""

    certificate_file: Path | None = None
    """Path of our certificate (PEM), for brokers that want one. Default: none."""

    key_file: Path | None = None
    """Path of the key of `certificate_file`. Default: it is in the same file."""

    feed: Literal["faust", "aiokafka"] = "faust"
    """What reads observations for the engine: `faust` (faust-streaming), or `aiokafka`, a loop of our own that
    carries more. Default faust. What is decided is the same."""

    instance: str = ""
    """Name of this process among those that decide. One that comes back under its name has its partitions again at
    once, instead of after `session`. Default: the name of the pod; elsewhere none, as no two may have the same."""

    session: Annotated[float, Field(ge=1, le=300)] = 10.0
    """Seconds without a sign of life after which others take over what a process decides. Default 10."""

    partitions: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Partitions of the topics that `jobledger topics apply` makes. They can never be changed, and no more processes
    than that can decide at once. Default: as many as there are, in a new ledger 12."""

    replication: Annotated[int, Field(ge=1, le=100)] | None = None
    """Brokers that hold a copy of each record, in topics that `jobledger topics apply` makes. Default: 3, or as many
    brokers as there are, if they are fewer."""

    def security(self) -> "Security":
        """The part that clients need to get through to the brokers."""
        from statemachine.log.kafka.address import Security

        return Security(
            protocol=self.protocol,
            mechanism=self.mechanism,
            username=self.username,
            password_file=self.password_file,
            token_file=self.token_file,
            ca_file=self.ca_file,
            certificate_file=self.certificate_file,
            key_file=self.key_file,
        )


class PrivacySettings(BaseModel):
    """What of a job does not get into the log. What is shown of it never holds secrets."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    env_values: bool = True
    """Literal values of environment variables are in the log, as jobs were written. Default on, because a history
    without them says less. Off: only their keyed hashes, and whoever makes pods reads the values from the job object.
    For jobs that are first seen from then on."""

    key_file: Path | None = None
    """Path of a file that holds the key for hashes of values, the same for all bridges and projectors, 16 characters
    or more; lines behind the first are older keys, which are still understood. Default: a file beside a log that is
    one, made when it is needed; a log in Kafka needs it named."""

    def values_beside(self, store: Path | None) -> "EnvValues":
        """What these settings make of values; `store` is the log, if it is a file. Raises ConfigError."""
        from k8s_bridge.env_values import EnvValues

        made = None if store is None else store.with_name(store.name + ".env-key")
        return EnvValues.of(self.key_file, conceals=not self.env_values, fallback=made)


class ConsoleSettings(BaseModel):
    """How the web console is set up, in `jobledger serve` and on a cluster."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    namespace: NamespaceName = ""
    """The one namespace whose jobs the console shows and makes. Default: all that its user may list."""

    base_path: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._~-]+)*$")] = ""
    """The path under which a proxy serves the console, which it takes away before it asks: `/apps/team/jobs`.
    Default: none."""

    gpus: str = "nvidia.com/gpu.shared,nvidia.com/gpu"
    """The extended resources that the form offers, with commas between them. Default
    `nvidia.com/gpu.shared,nvidia.com/gpu`."""

    t9k_scheduler: bool = True
    """Offer the T9k scheduler's queue and priority in the form. Default on."""

    metrics: Annotated[str, Field(pattern=r"^(https?://[^\s/?#@]+(/[^\s?#]*)?)?$")] = ""
    """Base URL of a server with Prometheus' HTTP API, which knows what pods use: `http://prometheus.monitoring:9090`.
    Default: none; resource monitoring then shows requests and limits alone."""

    listeners: Annotated[int, Field(ge=1)] = 500
    """Streams to open pages that the console holds in all, one a browser; more are answered with 429. Default 500."""

    listeners_per_user: Annotated[int, Field(ge=1)] = 20
    """The same of one user, or of one browser where users have no names. Default 20."""


class Settings(BaseModel):
    """All settings of jobledger; nested ones are written with two underscores: `JOBLEDGER_LOG__LEVEL`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    store: Path = Path()
    """Path of the SQLite file that holds the log, the objects and the history. Default
    `$XDG_STATE_HOME/jobledger/ledger.db`, because it is state: nothing can make it again."""

    server: str = ""
    """Where client commands look for the server: the path of a unix socket, or `http://127.0.0.1:PORT`.
    Default: the socket next to the store, which `jobledger serve` opens."""

    namespace: NamespaceName = "default"
    """Namespace of manifests and names that do not say one. Default `default`, as in Kubernetes."""

    evidence: bool = True
    """Pods are kept until their end is in the log (finalizer `jobledger.dev/evidence`). Default on: without
    it a pod that vanishes while nobody watches says "evidence lost"."""

    python: str = ""
    """Path of the Python that pods get for `python`, `python3` and `torchrun`. Default: the one on the PATH,
    as in a shell; a job's annotation `jobledger.dev/python` wins over it."""

    settle: Span = timedelta(seconds=10)
    """How long `run` waits, after the last job has ended, for replicas that end by themselves. Default 10 s:
    workers usually follow their master within a second, and their end belongs into the history."""

    full: Span = timedelta(seconds=10)
    """How long `run` waits for room when the disk of its store is full, before it ends the jobs' processes and
    itself. Default 10 s: a moment is forgiven, and nothing can be followed until there is room."""

    history: SecretStr = SecretStr("")
    """URL of the database with the history of all jobs as SQL tables: `postgresql://USER@HOST:5432/DATABASE`, or
    `sqlite:///absolute/path`. Default: in the file of a log that is one, none for a log in Kafka. A password in it is
    not shown, but better is `history_password_file`, or what libpq knows: PGPASSWORD, PGPASSFILE."""

    history_password_file: Path | None = None
    """Path of a file that holds the password for `history`. Default: none. Read at each connection."""

    snapshot_key_file: Path | None = None
    """Path of a file with the key (32 bytes or more) that snapshots of states are sealed with: engines and projectors
    use no others. Default: beside a log that is a file, where it is made; none for a log in Kafka, whose snapshots
    are then believed, whoever wrote them."""

    restart: RestartSettings = RestartSettings()
    """How long replicas wait before they are made again."""

    cluster: ClusterSettings = ClusterSettings()
    """What is true of the cluster that jobs run on."""

    kueue: KueueSettings = KueueSettings()
    """Kueue's queues."""

    controller: ControllerSettings = ControllerSettings()
    """How `jobledger controller` runs on a Kubernetes cluster."""

    privacy: PrivacySettings = PrivacySettings()
    """What of a job does not get into the log."""

    console: ConsoleSettings = ConsoleSettings()
    """The web console."""

    kafka: KafkaSettings = KafkaSettings()
    """What holds where the event log is in Kafka."""

    log: LogSettings = LogSettings()
    """What jobledger says about itself, on standard error."""

    def of(self, kind: "Kind") -> "OptInSettings":
        """What is configured for a kind that is opt-in; nothing, unless this is made `with_kinds`."""
        if kind.opt_in is None:
            raise InvariantBroken(f"{kind.names.kind} is not opt-in")
        said: OptInSettings | None = getattr(self, kind.names.plural, None)
        return said or kind.opt_in()


@cache
def with_kinds() -> type[Settings]:
    """All settings: beside those above, under its plural, what each opt-in kind declares (`Kind.opt_in`)."""
    from statemachine.kinds import OPT_IN

    fields: Any = {kind.names.plural: (declared, declared()) for kind, declared in OPT_IN}
    return create_model("Settings", __base__=Settings, **fields)


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
    found = []
    for name, field in (model or with_kinds()).model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found += paths(inner, f"{at}{name}.")
        else:
            found.append(at + name)
    return found


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
        for each in outer:
            place = place.setdefault(each, {})
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
    path = ".".join(str(each) for each in first["loc"])
    name = given[path][0] if path in given else variable(path)
    text = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    text = text.replace("String should match", "must match")
    text = text if text.startswith("must") else f"must be {text}"
    return f"{name} is {str(first['input'])!r}, but {text}"
