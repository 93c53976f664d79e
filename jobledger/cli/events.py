"""`jobledger events`: what leaves of the ledger under the public contract (docs/events.md)."""

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.cli.publish import held, publish
from jobledger.cli.sinks import failed, sinks
from jobledger.program.exit_codes import BAD_INPUT, FAILED, OK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobledger.publishing.comparing import Comparison
    from jobledger.publishing.filters import Wanted
    from jobledger.settings.model import Settings
    from projectors.contract.page import PublicEvent

events = typer.Typer(
    no_args_is_help=True,
    help="Publish what happens to jobs, as CloudEvents under a contract that stays: follow it, write it to a "
    "file, to files that grow or to a web hook, compare them with the log, print its schemas.",
)

events.command()(publish)
events.add_typer(sinks, name="sinks")
events.add_typer(failed, name="failed")


class Form(StrEnum):
    """Forms of a stream of events."""

    TABLE = "table"
    JSONL = "jsonl"


class FileFormat(StrEnum):
    """Formats of files of events."""

    JSONL = "jsonl"
    PARQUET = "parquet"


_To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FILE|DIR|-",
        help="Where to: a file, events.jsonl or events.parquet in a directory, standard output.",
    ),
]
_Since = Annotated[
    str,
    typer.Option("--since", metavar="TIME", help="Only what was recorded then or later: ISO time, or -5m."),
]
_Until = Annotated[
    str, typer.Option("--until", metavar="TIME", help="Only what was recorded before: ISO time, or -5m.")
]
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
        help="Where to begin; `end` goes with --follow, a cursor with --server.",
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


@events.command()
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
    wanted = _wanted(job, after, type_ or (), namespace or "", selector)
    raise typer.Exit(asyncio.run(_tail(settings, log, wanted, output, follow=follow, late=after == "end")))


def _wanted(job: str, after: str, types: "Sequence[str]", namespace: str, selector: str) -> "Wanted":
    """What is asked for of the log. Raises ConfigError."""
    from jobledger.publishing.filters import Wanted, moment_of, types_of
    from k8s_bridge.selectors import Selector

    since = None if after in {"beginning", "end"} else moment_of("--after", after)
    return Wanted(job, types_of(types), namespace, Selector.of(selector), since)


async def _tail(
    settings: "Settings", url: str | None, wanted: "Wanted", form: Form, *, follow: bool, late: bool
) -> int:
    from jobledger.publishing.filters import Sought
    from jobledger.publishing.source import source_of

    missing, sought = "", Sought(wanted)
    async with source_of(settings, url) as source:
        async for published in source.published(follow=follow):
            if published is not None:
                sought.take(published)
                for event in () if late else wanted.of(published):
                    _print(event, form)
                continue
            late = False
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


@events.command()
def export(
    to: _To,
    *,
    format_: Annotated[
        FileFormat,
        typer.Option(
            "--format",
            metavar="jsonl|parquet",
            help="Lines of JSON, or a table for analysts; see docs/events.md.",
        ),
    ] = FileFormat.JSONL,
    since: _Since = "",
    until: _Until = "",
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Write all public events of the log, one in a line (CloudEvents 1.0, JSON). The same log gives the same bytes.

    A file is replaced when it is complete. Parquet needs the extra `parquet`.
    """
    import asyncio

    from jobledger.publishing.filters import Wanted, moment_of

    wanted = Wanted(since=moment_of("--since", since), until=moment_of("--until", until))
    settings = common.settings(store=store, verbose=verbose)
    raise typer.Exit(asyncio.run(_export(settings, log, wanted, to, format_)))


async def _export(
    settings: "Settings", url: str | None, wanted: "Wanted", place: str, format_: FileFormat
) -> int:
    from jobledger.publishing import files, parquet
    from jobledger.publishing.source import source_of

    count = 0
    async with source_of(settings, url) as source:
        is_table = format_ is FileFormat.PARQUET
        with parquet.written(place, source.ledger) if is_table else files.written(place) as write:
            async for published in source.published():
                for event in wanted.of(published) if published else ():
                    write(event)
                    count += 1
        if place != "-":
            common.say(f"{common.plural(count, 'event')} in {place}")
        return held(source.publisher.held)


@events.command()
def verify(
    in_: Annotated[
        str,
        typer.Option(
            "--in",
            metavar="file:FILE|DIR|kafka:[//HOST/TOPIC]",
            help="What to compare: a file, the files of a directory, or a topic; kafka: is the ledger's own.",
        ),
    ],
    *,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Compare published events with those that the log gives: missing, different, more than once, or not from it.

    Exit code 1 if there are any. Lines may stand in another order; those of a job may not. Of a topic what is
    committed is compared.
    """
    import asyncio

    from statemachine.errors import ConfigError

    kind, _, place = in_.partition(":")
    settings = common.settings(store=store, verbose=verbose)
    if kind == "file" and place:
        work = _verify_file(settings, log, place)
    elif kind == "kafka":
        work = _verify_topic(settings, log, in_)
    else:
        raise ConfigError(f'--in needs file:PATH, kafka: or kafka://HOST:PORT/TOPIC, not "{in_}"')
    raise typer.Exit(asyncio.run(work))


async def _verify_file(settings: "Settings", url: str | None, place: str) -> int:
    from jobledger.publishing.comparing import Comparison
    from jobledger.publishing.files import opened

    comparison = Comparison()
    with opened(place) as file:
        for number, line in enumerate(file, 1):
            comparison.add(number, line)
    return await _verified(settings, url, comparison, place)


async def _verify_topic(settings: "Settings", url: str | None, place: str) -> int:
    from jobledger.publishing.comparing import Comparison
    from jobledger.publishing.topics import in_topic, lines_in
    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.topics import topic_of

    where = log_of(url, settings) if url else settings.store
    target = topic_of("--in", place, where, settings)
    comparison = Comparison(in_topic)
    async for record in lines_in(target):
        comparison.add(record.number, record.line + b"\n")
    return await _verified(settings, url, comparison, target.topic)


async def _verified(settings: "Settings", url: str | None, comparison: "Comparison", place: str) -> int:
    from jobledger.publishing.source import source_of

    async with source_of(settings, url) as source:
        async for published in source.published():
            for event in published.events if published else ():
                comparison.take(event)
        unread = held(source.publisher.held)
    wrong = comparison.differences()
    for difference in wrong:
        common.warn(f"jobledger: {difference}")
    head = common.plural(len(wrong), "difference") if wrong else "ok"
    common.say(
        f"{head}: {common.plural(comparison.expected, 'event')} of the log, {comparison.lines} in {place}"
    )
    return FAILED if wrong else unread


@events.command()
def schema(
    type_: Annotated[
        str,
        typer.Argument(
            metavar="[TYPE]", help="Print the JSON schema of the data of this type.", show_default=False
        ),
    ] = "",
    *,
    closed: Annotated[
        bool, typer.Option("--closed", help="As registries want it: no property beside those that are named.")
    ] = False,
) -> None:
    """List the types of public events, or print the JSON schema of one."""
    from jobledger.publishing.filters import types_of
    from projectors.contract.catalogue import CATALOGUE, TYPES, short_name
    from projectors.contract.schemas import schema as schema_of

    if not type_:
        rows = [
            (public_type.name, public_type.severity.name, (public_type.model.__doc__ or "").strip())
            for public_type in CATALOGUE
        ]
        common.say(common.columns(("TYPE", "SEVERITY", "DATA"), rows))
        return
    types_of([type_])
    public_type = TYPES.get(short_name(type_))
    if public_type is None:
        from statemachine.errors import ConfigError

        raise ConfigError(f'"{type_}" means several types; name one of them')
    typer.echo(json.dumps(schema_of(public_type, closed=closed), indent=2, ensure_ascii=False))


@events.command()
def asyncapi(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of YAML.")] = False,
) -> None:
    """Print the contract of public events as an AsyncAPI 3.0.0 document: channels, messages, schemas, examples."""
    from projectors.contract.asyncapi import document

    if as_json:
        typer.echo(json.dumps(document(), indent=2, ensure_ascii=False))
        return
    import yaml

    typer.echo(yaml.safe_dump(document(), sort_keys=False, width=110, allow_unicode=True), nl=False)


@events.command()
def validate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Events, one in a line; `-` is standard input.")
    ],
) -> None:
    """Check events against the contract: envelope, type, data. Exit code 2 if anything is wrong."""
    from jobledger.publishing.files import opened
    from projectors.contract.envelope import problem

    count = wrong = 0
    name = "<stdin>" if file == "-" else file
    with opened(file) as lines:
        for number, line in enumerate(lines, 1):
            count += 1
            if said := problem(line):
                wrong += 1
                common.warn(f"{name}:{number}: {said}")
    common.say(f"{common.plural(count, 'event')}, {wrong or 'none'} of them wrong")
    raise typer.Exit(BAD_INPUT if wrong else OK)
