"""What the verbs share: options, settings, output formats.

Nothing heavy is imported at the top: every command pays for this module, `jobledger --help` too.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.lives.tables import columns as columns  # noqa: PLC0414 - the verbs know it from here
from statemachine import errors as e

if TYPE_CHECKING:
    from jobledger.client.server import Client
    from jobledger.settings.loading import Held
    from jobledger.settings.model import Settings


class Output(StrEnum):
    """Forms of a listing."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Store = Annotated[
    Path | None,
    typer.Option("--store", metavar="PATH", help="The store; see `jobledger config` for the default."),
]
HistoryUrl = Annotated[
    str | None,
    typer.Option(
        "--history",
        metavar="URL",
        help="The history as SQL tables: postgresql://USER@HOST/DATABASE or sqlite:///PATH; "
        "default: beside a log in a file.",
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="ADDRESS",
        help="Unix socket or http://127.0.0.1:PORT of the server; default: the socket next to the store.",
    ),
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Namespace of the job.")
]
Kind = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="Which, where jobs of several kinds share the name.")
]
LabelSelector = Annotated[
    str,
    typer.Option(
        "--selector",
        "-l",
        metavar="SELECTOR",
        help="Only jobs with these labels, as kubectl has it: team=a,tier in (gold,silver),!retired.",
    ),
]
Verbose = Annotated[
    int, typer.Option("--verbose", "-v", count=True, show_default=False, help="Say more; -vv: everything.")
]
OutputOption = Annotated[
    Output, typer.Option("--output", "-o", metavar="table|json|yaml", help="Form of the output.")
]
Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="Manifests, YAML or JSON; `-` is standard input.")
]


def names_of_jobs(incomplete: str) -> list[str]:
    """For shell completion: the names of jobs that a running server knows."""
    try:
        with client(settings()) as asked:
            names = [job["metadata"]["name"] for job in asked.jobs()]
    except e.JobledgerError:
        return []
    return [name for name in names if name.startswith(incomplete)]


JobName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the job.", autocompletion=names_of_jobs)
]


def label_selector(said: str, names: Sequence[str] | None = None) -> str:
    """The selector in its usual form.

    Raises:
        ConfigError: it is none; or there are names, too, which kubectl refuses as well.
    """
    from k8s_bridge.selectors import Selector

    selector = str(Selector.of(said))
    if selector and names:
        raise e.ConfigError("names and --selector exclude each other")
    return selector


# ---- settings ----------------------------------------------------------------------------------------------


def held(
    *,
    store: Path | None = None,
    server: str | None = None,
    namespace: str | None = None,
    verbose: int = 0,
    quiet_level: str | None = None,
    flags: Mapping[str, tuple[str, Any]] | None = None,
    whole: bool = False,
) -> "Held":
    """The settings that hold under these flags, with logging set up.

    `quiet_level` is the verb's own default, `flags` what only this verb has: path → flag and value. For `whole` see
    `jobledger.settings.load`.
    """
    from jobledger.settings.loading import load
    from jobledger.telemetry.log_lines import configure

    level = None if not verbose else "info" if verbose == 1 else "debug"
    loaded = load(
        {
            "store": ("--store", store),
            "server": ("--server", server),
            "namespace": ("--namespace", namespace),
            "log.level": ("-" + "v" * verbose, level),
            **(flags or {}),
        },
        whole=whole,
    )
    log = loaded.settings.log
    if quiet_level and loaded.origins["log.level"] == "default":
        log = log.model_copy(update={"level": quiet_level})
    configure(log)
    return loaded


def settings(**flags: Any) -> "Settings":
    """The settings alone; see `held`."""
    return held(**flags).settings


def actor(verb: str = "") -> str:
    """Who asks, as the history names them."""
    from jobledger.settings.locations import user_name

    return f"{user_name()} with jobledger {verb}".strip() if verb else user_name()


def client(
    settings: "Settings", verb: str = "", *, waits: bool = False, seconds: float | None = None
) -> "Client":
    """A client of the server that these settings mean.

    `waits`: for a server that is silent, as long as `seconds` say (None: for ever) once a line has said so.

    Raises:
        ConfigError: they mean none.
    """
    from jobledger.client.server import Client, Patience
    from jobledger.settings.locations import socket_path

    address = settings.server or str(socket_path(settings.store))
    if address.startswith("https://") or ("://" in address and not address.startswith("http://")):
        raise e.ConfigError(f"{address} is no server: give http://127.0.0.1:PORT or the path of a socket")
    patience = Patience(lambda said: warn(f"jobledger: {said}"), seconds) if waits else None
    return Client(address, actor(verb), patience)


def asked_or_read(
    chosen: "Settings",
    log: str | None,
    ask: "Callable[[Client], None]",
    read: Callable[[], None],
    *,
    watch: bool = False,
) -> None:
    """`ask` has asked the server; where none answers, `read` has answered from the store, and a line says so.

    With `log` nobody is asked, and that is read. A server that was named, and a `watch`, cannot be done without.

    Raises:
        ConfigError: `log` is there, and cannot be watched.
        NoServer: no server answers, and there is no store, or it will not do.
    """
    from jobledger.program.errors import NoServer

    if log:
        if watch:
            raise e.ConfigError("--watch asks a server, and --log is read without one: leave out one of them")
        warn(f"jobledger: no server is asked; this is the state in the log {log}")
        read()
        return
    try:
        with client(chosen) as asked:
            ask(asked)
            return
    except NoServer as error:
        if watch or chosen.server or not chosen.store.exists():
            raise
        warn(f"jobledger: {error.fact}; this is the state in the store {chosen.store}")
    read()


def store_flag(loaded: "Held") -> str:
    """What a command line needs to mean the same store: ` --store PATH`, or nothing for the default."""
    import shlex

    if loaded.origins["store"] == "default":
        return ""
    return f" --store {shlex.quote(str(loaded.settings.store))}"


# ---- output ------------------------------------------------------------------------------------------------


def say(line: str = "") -> None:
    """A line on standard output, without secrets."""
    from statemachine.redact import redacted_text

    typer.echo(redacted_text(line))


def warn(line: str) -> None:
    """A line on standard error, without secrets."""
    from statemachine.redact import redacted_text

    typer.echo(redacted_text(line), err=True)


def dump(value: Any, form: Output, *, verbatim: bool = False) -> None:
    """`value` as JSON or YAML, without secrets; if `verbatim`, with them."""
    from statemachine.redact import redacted

    shown = value if verbatim else redacted(value)
    if form is Output.JSON:
        typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    from jobledger.manifests.text import to_yaml

    typer.echo(to_yaml([shown]).rstrip())


def age(since: str | datetime | None, now: datetime | None = None) -> str:
    """How long ago, as kubectl has it: `42s`, `7m12s`, `3h5m`, `9d`."""
    if not since:
        return "-"
    at = datetime.fromisoformat(since) if isinstance(since, str) else since
    return span(((now or datetime.now(UTC)) - at).total_seconds())


def span(seconds: float) -> str:
    """A span of time in two units at most."""
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 60:
        return f"{whole}s"
    if minutes < 60:
        return f"{minutes}m{whole % 60}s" if whole % 60 else f"{minutes}m"
    if hours < 48:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{days}d"


def span_option(flag: str, text: str) -> float:
    """The seconds that the value of `flag` means. Raises BadParameter."""
    from jobledger.settings.values import duration

    try:
        return duration(text).total_seconds()
    except ValueError as error:
        raise typer.BadParameter(f'"{text}": {error}', param_hint=flag) from None


def needs_kubernetes() -> None:
    """Raises ConfigError if the packages of the extra `kubernetes` are not installed."""
    from importlib.util import find_spec

    if find_spec("aiohttp") is None:
        raise e.ConfigError(
            "the Kubernetes client is not installed; install `jobledger[kubernetes]` to run this command"
        )


def plural(count: int, thing: str) -> str:
    """`1 replica`, `3 replicas`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
