"""`jobledger logs`: what replicas wrote; from a running server, else from the files beside the store."""

import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common
from jobledger.cli.server import options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jobledger.client.jobs import Jobs
    from jobledger.settings.model import Settings
    from statemachine.state import JobState


def logs(
    name: common.JobName,
    *,
    replica: options.Replica = "",
    everybody: options.Everybody = False,
    container: options.Container = "",
    follow: options.Follow = False,
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Of the attempt before the last restart.")
    ] = False,
    namespace: common.Namespace = None,
    kind: common.Kind = "",
    store: common.Store = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """Print what a replica wrote. Without a server the last job of that name is looked up in the store."""
    import asyncio

    from jobledger.program.errors import NoServer

    wanted = LogChoice(name, kind, replica, container, everybody=everybody, previous=previous)
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    try:
        with common.client(settings, waits=follow) as asked:
            show(asked, settings.namespace, wanted, follow=follow)
            return
    except NoServer as error:
        if follow or settings.server or not settings.store.exists():
            raise
        common.warn(f"jobledger: {error.fact}; these are the files beside the store {settings.store}")
    asyncio.run(_from_files(settings, wanted))


@dataclass(frozen=True, slots=True)
class LogChoice:
    """What is to be printed: of job `name` the output of one replica (empty: of the primary), or of all."""

    name: str
    kind: str = ""
    replica: str = ""
    container: str = ""
    everybody: bool = field(default=False, kw_only=True)
    previous: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Raises BadParameter if it is one replica and all."""
        if self.everybody and self.replica:
            raise typer.BadParameter("--all and --replica exclude each other")

    @property
    def query(self) -> "dict[str, str | bool]":
        """What a server is asked beside job and replica."""
        return {"kind": self.kind, "container": self.container, "previous": self.previous}


# ---- from a server -----------------------------------------------------------------------------------------


def show(asked: "Jobs", namespace: str, wanted: LogChoice, *, follow: bool) -> None:
    """What a replica, or all of them, wrote is printed."""
    name, query = wanted.name, wanted.query
    if not wanted.everybody:
        with asked.logs(namespace, name, replica=wanted.replica, follow=follow, **query) as pieces:
            _write(pieces)
        return
    from jobledger.jobs.views import replicas_of

    job = asked.job(namespace, name, kind=wanted.kind)
    names = replicas_of(job)
    if follow:
        _together(asked, namespace, name, names, query)
        return
    for replica_name in names:
        with asked.logs(namespace, name, replica=replica_name, **query) as pieces:
            _write_named(replica_name, pieces)


def _together(
    asked: "Jobs", namespace: str, name: str, names: list[str], query: "dict[str, str | bool]"
) -> None:
    """All at once, line by line, until the last has ended. Raises what went wrong first."""
    from queue import SimpleQueue
    from threading import Thread

    ended: SimpleQueue[Exception | None] = SimpleQueue()

    def one(replica: str) -> None:
        try:
            with asked.logs(namespace, name, replica=replica, follow=True, **query) as pieces:
                _write_named(replica, pieces)
        except Exception as error:  # noqa: BLE001 - it is raised where somebody waits
            ended.put(error)
        else:
            ended.put(None)

    for replica_name in names:
        Thread(target=one, args=(replica_name,), daemon=True).start()  # Ctrl-C does not wait for daemons
    for _ in names:
        error = ended.get()
        if error is not None:
            raise error


def _write(pieces: "Iterable[bytes]") -> None:
    for piece in pieces:
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


def _write_named(replica: str, pieces: "Iterable[bytes]") -> None:
    """Whole lines, each behind the replica's name."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        sys.stdout.buffer.write(b"".join(_named(replica, line) for line in lines))
        sys.stdout.buffer.flush()
    if rest:
        sys.stdout.buffer.write(_named(replica, rest))
        sys.stdout.buffer.flush()


def _named(replica: str, line: bytes) -> bytes:
    return f"[{replica}] ".encode() + line + b"\n"


# ---- from the files beside the store -----------------------------------------------------------------------


async def _from_files(settings: "Settings", wanted: LogChoice) -> None:
    from jobledger.jobs.attempts import chosen
    from jobledger.lives.store import reading
    from jobledger.program.errors import NotPossible

    async with reading(settings.store) as ledger:
        state = ledger.newest(settings.namespace, wanted.name, wanted.kind)
        known = await ledger.attempts(state.uid)
        names = _replicas(state) if wanted.everybody else [wanted.replica]
        for replica_name in names:
            with suppress(*([NotPossible] if wanted.everybody else [])):
                container = wanted.container
                attempt = chosen(state, known, replica_name, container=container, previous=wanted.previous)
                path = ledger.log_file(attempt, container)
                pieces = _pieces(path)
                if wanted.everybody:
                    _write_named(replica_name, pieces)
                else:
                    _write(pieces)


def _replicas(state: "JobState") -> list[str]:
    return list(state.plan.replicas()) if state.plan else []


def _pieces(path: "Path") -> "Iterable[bytes]":
    try:
        with path.open("rb") as file:
            while piece := file.read(1 << 16):
                yield piece
    except FileNotFoundError:
        return  # it was never started
