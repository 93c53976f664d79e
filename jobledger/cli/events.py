"""`jobledger events`: what leaves of the ledger under the public contract (docs/events.md)."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.cli.publish import held, publish
from jobledger.cli.sinks import failed, sinks
from jobledger.cli.tail import tail
from jobledger.program.exit_codes import BAD_INPUT, FAILED, OK

if TYPE_CHECKING:
    from jobledger.publishing.beginnings import Begin
    from jobledger.publishing.comparing import Comparison
    from jobledger.publishing.filters import Wanted
    from jobledger.settings.model import Settings

events = typer.Typer(
    no_args_is_help=True,
    help="Publish what happens to jobs, as CloudEvents under a contract that stays: follow it, write it to a "
    "file, to files that grow or to a web hook, compare them with the log, print its schemas.",
)

events.command()(publish)
events.command()(tail)
events.add_typer(sinks, name="sinks")
events.add_typer(failed, name="failed")


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
    from_: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="beginning|TIME|CURSOR",
            help="Where it begins, if that was said when it was published.",
        ),
    ] = "beginning",
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Compare published events with those that the log gives: missing, different, more than once, or not from it.

    Exit code 1 if there are any. With --from, what stands before it need not be there. Lines may stand in another
    order; those of a job may not. Of a topic what is committed is compared.
    """
    import asyncio

    from jobledger.publishing.beginnings import fixed_begin
    from statemachine.errors import ConfigError

    kind, _, place = in_.partition(":")
    begin = fixed_begin("--from", from_)
    settings = common.settings(store=store, verbose=verbose)
    if kind == "file" and place:
        work = _verify_file(settings, log, place, begin)
    elif kind == "kafka":
        work = _verify_topic(settings, log, in_, begin)
    else:
        raise ConfigError(f'--in needs file:PATH, kafka: or kafka://HOST:PORT/TOPIC, not "{in_}"')
    raise typer.Exit(asyncio.run(work))


async def _verify_file(settings: "Settings", url: str | None, place: str, begin: "Begin") -> int:
    from jobledger.publishing.comparing import Comparison
    from jobledger.publishing.files import opened

    comparison = Comparison()
    with opened(place) as file:
        for number, line in enumerate(file, 1):
            comparison.add(number, line)
    return await _verified(settings, url, comparison, place, begin)


async def _verify_topic(settings: "Settings", url: str | None, place: str, begin: "Begin") -> int:
    from jobledger.publishing.comparing import Comparison
    from jobledger.publishing.topics import in_topic, lines_in
    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.topics import topic_of

    where = log_of(url, settings) if url else settings.store
    target = topic_of("--in", place, where, settings)
    comparison = Comparison(in_topic)
    async for record in lines_in(target):
        comparison.add(record.number, record.line + b"\n")
    return await _verified(settings, url, comparison, target.topic, begin)


async def _verified(
    settings: "Settings", url: str | None, comparison: "Comparison", place: str, begin: "Begin"
) -> int:
    from jobledger.publishing.source import source_of

    async with source_of(settings, url) as source:
        behind = await source.behind(begin)
        async for published in source.published():
            for event in behind.of(published, published.events) if published else ():
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
