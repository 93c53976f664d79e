"""The sections of the settings: each goes to the component that needs it."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from jobledger.settings.values import LABEL, NamespaceName, Span, not_zero, with_usable_port
from statemachine.ids import CLUSTER_DOMAIN

if TYPE_CHECKING:
    from k8s_bridge.env_values import EnvValues
    from statemachine.log.kafka.address import Security


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

    domain: Annotated[str, Field(pattern=rf"^{LABEL}(\.{LABEL})*$")] = "cluster.local"
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

    silence: Annotated[Span, AfterValidator(not_zero)] = timedelta(seconds=100)
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
    without them says less. Off: only their keyed hashes, and the projector that makes pods reads the values from the
    job object. For jobs that are observed for the first time from then on."""

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

    metrics: Annotated[
        str, Field(pattern=r"^(https?://[^\s/?#@]+(/[^\s?#]*)?)?$"), AfterValidator(with_usable_port)
    ] = ""
    """Base URL of a server with Prometheus' HTTP API, which knows what pods use: `http://prometheus.monitoring:9090`.
    Default: none; resource monitoring then shows requests and limits alone."""

    listeners: Annotated[int, Field(ge=1)] = 500
    """Streams to open pages that the console holds in all, one a browser; more are answered with 429. Default 500."""

    listeners_per_user: Annotated[int, Field(ge=1)] = 20
    """The same of one user, or of one browser where users have no names. Default 20."""
