"""`jobledger events sinks` and `events failed`: how receivers of public events are doing, and what they lack."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.program.exit_codes import FAILED, OK

if TYPE_CHECKING:
    from jobledger.publishing.operating import Operation
    from jobledger.settings.model import Settings
    from statemachine.log.positions import SinkFailure

T = TypeVar("T")

sinks = typer.Typer(
    no_args_is_help=True,
    help="List the receivers of public events, try one, switch one off or on, or let one go on elsewhere.\n\n"
    "A controller that runs does so within seconds, one that does not at its next start.",
)
failed = typer.Typer(
    no_args_is_help=True,
    help="List events that a receiver did not get, show one, send them again, or forget them.",
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the sink.")]
_Ids = Annotated[
    list[str] | None, typer.Argument(metavar="[ID...]", help="Ids of the events, as `list` shows them.")
]
_All = Annotated[bool, typer.Option("--all", help="All that the sink did not get.")]
_Of = Annotated[str, typer.Option("--sink", metavar="NAME", help="Of this sink.")]


@sinks.command("list")
def list_sinks(
    *,
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """List all sinks: type, entries of the log that each has yet to get, events not delivered, on or off and why."""
    reports = _run(common.settings(store=store, verbose=verbose), log, lambda operation: operation.reports())
    if output is not common.Output.TABLE:
        common.dump([report._asdict() for report in reports], output)
    elif not reports:
        common.say("no sinks: the setting events.sinks names a file of them")
    else:
        rows = [
            (
                report.name,
                report.type,
                "-" if report.behind is None else str(report.behind),
                str(report.failed),
                f"off: {report.disabled}" if report.disabled else "on",
            )
            for report in reports
        ]
        common.say(common.columns(("NAME", "TYPE", "BEHIND", "FAILED", "STATE"), rows))


@sinks.command("test")
def try_sink(
    name: _Name,
    *,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Send the newest event that a web hook gets once more; exit code 1 if its receiver does not take it.

    Receivers know the event's id, so it does no harm twice.
    """
    settings = common.settings(store=store, verbose=verbose)
    if error := _run(settings, log, lambda operation: operation.test(name)):
        common.warn(f"jobledger: the sink {name} did not take the event: {error}")
        raise typer.Exit(FAILED)
    common.say(f"the sink {name} took the newest event")


@sinks.command()
def enable(
    name: _Name,
    *,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Switch a sink on: it goes on where it was."""
    _run(common.settings(store=store, verbose=verbose), log, _switched(name, ""), writes=True)
    common.say(f"the sink {name} is on")


@sinks.command()
def disable(
    name: _Name,
    *,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Switch a sink off, across restarts: it gets nothing, and keeps its place."""
    _run(
        common.settings(store=store, verbose=verbose),
        log,
        _switched(name, f"by {common.actor()}"),
        writes=True,
    )
    common.say(f"the sink {name} is off")


@sinks.command()
def reset(
    name: _Name,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="beginning|end|CURSOR",
            help="Where it goes on; a cursor is one of `GET /v1/events`.",
        ),
    ],
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Let a sink go on elsewhere: everything again from the beginning, only what is new, or behind a cursor."""

    async def work(operation: "Operation") -> None:
        await operation.reset(await operation.known(name), to)

    _run(common.settings(store=store, verbose=verbose), log, work, writes=True)
    common.say(f"the sink {name} goes on at {to}")


def _switched(name: str, why: str) -> "Callable[[Operation], Awaitable[None]]":
    async def work(operation: "Operation") -> None:
        await operation.positions.switch(await operation.known(name), disabled=why)

    return work


# ---- events that were not delivered ------------------------------------------------------------------------------


@failed.command("list")
def list_failed(
    *,
    sink: _Of = "",
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """List events that sinks did not get: the first and the last attempt, how many there were, and the error."""

    async def work(operation: "Operation") -> "list[tuple[str, SinkFailure]]":
        names = [await operation.known(sink)] if sink else await operation.positions.sinks()
        return [
            (name, failure)
            for name in names
            for failure in (await operation.positions.failures(name)).values()
        ]

    failures = _run(common.settings(store=store, verbose=verbose), log, work)
    if output is not common.Output.TABLE:
        common.dump([{"sink": name} | failure._asdict() for name, failure in failures], output)
    elif not failures:
        common.say("no failures: every event was delivered, or waits for its turn")
    else:
        rows = [
            (name, failure.event, str(failure.attempts), failure.first, failure.last, failure.error)
            for name, failure in failures
        ]
        common.say(common.columns(("SINK", "EVENT", "ATTEMPTS", "FIRST", "LAST", "ERROR"), rows))


@failed.command()
def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Id of the event, as `list` shows it.")],
    *,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Print an event that was not delivered, made again from the log."""
    from projectors.contract.envelope import structured
    from statemachine.errors import ConfigError

    event = _run(common.settings(store=store, verbose=verbose), log, lambda operation: operation.event(id_))
    if event is None:
        raise ConfigError(f"the log gives no event {id_}; `jobledger events failed list` shows ids")
    typer.echo(structured(event).decode())


@failed.command()
def retry(
    ids: _Ids = None,
    *,
    sink: _Of,
    every: _All = False,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Send events to a web hook of the settings' file once more; exit code 1 if it does not take one of them."""

    async def work(operation: "Operation") -> int:
        code = OK
        for failure in await _chosen(operation, sink, ids, every=every):
            if error := await operation.retry(sink, failure):
                common.warn(f"jobledger: {failure.event} is not delivered: {error}")
                code = FAILED
            else:
                common.say(f"delivered {failure.event}")
        return code

    raise typer.Exit(_run(common.settings(store=store, verbose=verbose), log, work, writes=True))


@failed.command()
def drop(
    ids: _Ids = None,
    *,
    sink: _Of,
    every: _All = False,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Forget that a sink did not get these events: they stay in the log, and are not sent again."""

    async def work(operation: "Operation") -> None:
        for failure in await _chosen(operation, sink, ids, every=every):
            await operation.positions.settle_failure(sink, failure.event)
            common.say(f"dropped {failure.event}")

    _run(common.settings(store=store, verbose=verbose), log, work, writes=True)


async def _chosen(
    operation: "Operation", sink: str, ids: list[str] | None, *, every: bool
) -> "list[SinkFailure]":
    from statemachine.errors import ConfigError

    if every == bool(ids):
        raise typer.BadParameter("give IDs, or --all", param_hint="ID")
    failures = await operation.positions.failures(await operation.known(sink))
    if unknown := [id_ for id_ in ids or () if id_ not in failures]:
        raise ConfigError(
            f"the sink {sink} has no failure {unknown[0]}; `jobledger events failed list` shows them"
        )
    return [failure for failure in failures.values() if every or failure.event in (ids or ())]


def _run(
    settings: "Settings",
    url: str | None,
    work: "Callable[[Operation], Awaitable[T]]",
    *,
    writes: bool = False,
) -> T:
    import asyncio

    from jobledger.publishing.operating import Operation

    async def run() -> T:
        async with Operation.of(settings, url, writes=writes) as operation:
            return await work(operation)

    return asyncio.run(run())
