"""`jobledger serve`: the controller as a long-running program of this machine."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common
from jobledger.cli.suggestions import repeating
from jobledger.program.exit_codes import OK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from socket import socket

    from jobledger.program.signals import EndSignals
    from jobledger.service.app import App
    from jobledger.settings.model import Settings
    from jobledger.wiring.ledger import Kafka


def serve(
    *,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="127.0.0.1:PORT",
            help="Also answer HTTP on this address of this machine: the web console and the API. Every user of the "
            "machine can use it.",
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--log",
            metavar="URL",
            help="Keep the event log in Kafka: kafka://HOST:PORT,…; default: in the store.",
        ),
    ] = None,
    history: common.HistoryUrl = None,
    store: common.Store = None,
    verbose: common.Verbose = 0,
) -> None:
    """Run jobs for as long as this program runs, and answer on a unix socket next to the store.

    Ctrl-C and SIGTERM end the server, not the jobs: their processes go on, and the next `serve` (or `run`) on
    the same store adopts them.
    """
    import asyncio

    from jobledger.web.server import listen_address

    flags = {"history": ("--history", history)}
    settings = common.settings(store=store, verbose=verbose, quiet_level="info", flags=flags)
    address = listen_address(listen) if listen else None
    raise typer.Exit(asyncio.run(_serve(settings, address, _kafka(log, settings))))


def _kafka(url: str | None, settings: "Settings") -> "Kafka | None":
    """Where the log is, if not in the store. Raises ConfigError."""
    if not url:
        return None
    from jobledger.wiring.ledger import Kafka

    return Kafka.of(url, settings.kafka)


async def _serve(settings: "Settings", address: tuple[str, int] | None, log: "Kafka | None") -> int:
    from jobledger.cli.machine.embedded import controller_of
    from jobledger.program.signals import listening
    from jobledger.service.app import App
    from jobledger.settings.locations import socket_path
    from jobledger.web.server import tcp_socket, unix_socket
    from jobledger.wiring import running

    with listening() as asked, ExitStack() as opened:
        tcp = [opened.enter_context(tcp_socket(*address))] if address else []
        async with controller_of(settings, log) as controller:
            path = socket_path(settings.store)
            opened.callback(path.unlink, missing_ok=True)
            sockets = [opened.enter_context(unix_socket(path)), *tcp]
            app = App(controller)
            async with running(controller):
                _welcome(app, settings, path, tcp)
                await _answer(app, settings, log, sockets, asked)
            common.say(_goodbye(app))
    return OK


async def _answer(
    app: "App", settings: "Settings", log: "Kafka | None", sockets: "Sequence[socket]", asked: "EndSignals"
) -> None:
    """Requests are answered until the process is asked to end."""
    import asyncio

    from jobledger.api import create
    from jobledger.console.frame import ConsoleOptions
    from jobledger.publishing.naming import named_by
    from jobledger.publishing.serving import topic_of_events
    from jobledger.web.server import serve as answer
    from jobledger.web.streams import Closing

    stop, closing = asyncio.Event(), Closing()
    named = named_by(settings, log or settings.store)
    async with topic_of_events(settings, log or settings.store) as topic, asyncio.TaskGroup() as tasks:
        options = ConsoleOptions.of(settings, one_machine=True)
        api = create(app, closing, options=options, named=named, topic=topic)
        tasks.create_task(answer(api, sockets, closing, stop), name="http")
        await asked.at_least(1)
        stop.set()


def _welcome(app: "App", settings: "Settings", path: "Path", tcp: "Sequence[socket]") -> None:
    common.say(f"serving the store {settings.store}")
    common.say(f"  socket   {path}")
    for listening in tcp:
        host, port = listening.getsockname()[:2]
        common.say(f"  address  http://{f'[{host}]' if ':' in host else host}:{port}")
    adopted = _unfinished(app)
    if adopted:
        common.say(f"adopted from before: {', '.join(adopted)}")
    common.say("Ctrl-C ends the server, not the jobs: the next one adopts them.")


def _goodbye(app: "App") -> str:
    left = _unfinished(app)
    if not left:
        return "ended; no job was unfinished"
    runs = "goes on" if len(left) == 1 else "go on"
    return repeating(
        f"ended; {', '.join(left)} {runs}, and the next `jobledger serve` or `run` on this store adopts them"
    )


def _unfinished(app: "App") -> list[str]:
    return [state.name for state in app.states() if not state.is_final and not state.deleted]
