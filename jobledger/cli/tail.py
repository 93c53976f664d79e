"""`jobledger events tail`: public events of a log, or of a server, as they come."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.cli.publish import held
from jobledger.program.exit_codes import BAD_INPUT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobledger.publishing.beginnings import Begin
    from jobledger.publishing.filters import Wanted
    from jobledger.settings.model import Settings
    from projectors.contract.page import PublicEvent


class Form(StrEnum):
    """Forms of a stream of events."""

    TABLE = "table"
    JSONL = "jsonl"


_Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="GLOB", help="Only these types, such as job.failed or replica.*; repeatable."
    ),
]
_Job = Annotated[
    str,
    typer.Argument(
        metavar="[JOB]",
        help="Only of this job: name, namespace/name, or uid (its beginning is enough).",
        show_default=False,
    ),
]
_After = Annotated[
    str,
    typer.Option(
        "--after",
        metavar="beginning|end|TIME|CURSOR",
        help="Where to begin; `end` goes with --follow. A cursor is one of GET /v1/events.",
    ),
]
_Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="ADDRESS",
        help="Ask this server, and not the log: a unix socket, or http://127.0.0.1:PORT.",
    ),
]


def tail(
    job: _Job = "",
    *,
    after: _After = "beginning",
    type_: _Types = None,
    namespace: common.Namespace = None,
    selector: common.LabelSelector = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as the log grows.")] = False,
    output: Annotated[
        Form, typer.Option("--output", "-o", metavar="table|jsonl", help="Form of the output.")
    ] = Form.TABLE,
    server: _Server = None,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Print public events of the log in its order, and with --follow those that come.

    Works without a server. Labels are compared as they were then. Exit code 2 if the log has no job that JOB names;
    with --follow the command says so and waits for one.

    With --server the events come over HTTP: labels are compared as they are now, a JOB that is not there gives no
    events, and with --follow a server that goes away is waited for.
    """
    import asyncio

    from jobledger.publishing.beginnings import begin_of
    from jobledger.publishing.filters import Wanted, types_of
    from k8s_bridge.selectors import Selector
    from statemachine.errors import ConfigError

    if after == "end" and not follow:
        raise ConfigError("--after end shows nothing without --follow")
    settings = common.settings(store=store, server=server, verbose=verbose)
    if server:
        if log:
            raise ConfigError("--server asks a server, and --log is read without one: leave out one of them")
        filters: Mapping[str, str | Sequence[str]] = {
            "type": type_ or [],
            "namespace": namespace or "",
            "job": job,
            "labelSelector": selector,
        }
        _tail_of_server(settings.server, after, filters, output, follow=follow)
        return
    begin = begin_of("--after", after)
    wanted = Wanted(job, types_of(type_ or ()), namespace or "", Selector.of(selector), begin.since)
    raise typer.Exit(asyncio.run(_tail(settings, log, wanted, begin, output, follow=follow)))


async def _tail(
    settings: "Settings", url: str | None, wanted: "Wanted", begin: "Begin", form: Form, *, follow: bool
) -> int:
    from jobledger.publishing.filters import Sought
    from jobledger.publishing.source import source_of

    missing, sought = "", Sought(wanted)
    async with source_of(settings, url) as source:
        behind = await source.behind(begin._replace(since=None))  # `wanted` looks at every entry's time
        async for published in source.published(follow=follow):
            if published is not None:
                sought.take(published)
                for event in behind.of(published, wanted.of(published)):
                    _print(event, form)
                continue
            sys.stdout.flush()
            missing = sought.missing(source.publisher.held, follows=follow)
            if missing:
                common.warn(f"jobledger: {missing}")
        unread = held(source.publisher.held)
    return BAD_INPUT if missing else unread


def _tail_of_server(
    address: str, after: str, filters: "Mapping[str, str | Sequence[str]]", form: Form, *, follow: bool
) -> None:
    from jobledger.client import events as received_from
    from jobledger.publishing.filters import moment_of

    if after.startswith("-") and (moment := moment_of("--after", after)) is not None:
        after = moment.isoformat()
    for received in received_from(address, filters, after=after, follow=follow):
        if form is Form.JSONL:
            typer.echo(received.line)
        else:
            _print_row(received.event)
        sys.stdout.flush()


def _print(event: "PublicEvent", form: Form) -> None:
    from projectors.contract.envelope import structured

    if form is Form.JSONL:
        typer.echo(structured(event))
    else:
        _print_row(event.attributes)


def _print_row(said: "Mapping[str, Any]") -> None:
    from projectors.contract.catalogue import short_name

    name = short_name(str(said["type"]))
    common.say(f"{said['time']}  {said['severitytext']:5}  {name:25}  {said['namespace']}/{said['subject']}")
