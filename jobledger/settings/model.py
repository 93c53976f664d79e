"""The tree of all settings."""

from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, SecretStr, create_model

from jobledger.settings.events import AccountingSettings, EventsSettings, LedgerSettings
from jobledger.settings.sections import (
    ClusterSettings,
    ConsoleSettings,
    ControllerSettings,
    KafkaSettings,
    KueueSettings,
    LogSettings,
    PrivacySettings,
    RestartSettings,
)
from jobledger.settings.values import NamespaceName, Span
from statemachine.errors import InvariantBroken

if TYPE_CHECKING:
    from statemachine.kind import Kind, OptInSettings


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
    are then believed, no matter who wrote them."""

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

    ledger: LedgerSettings = LedgerSettings()
    """What the ledger is called."""

    events: EventsSettings = EventsSettings()
    """Public events."""

    accounting: AccountingSettings = AccountingSettings()
    """What is counted of a job."""

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
