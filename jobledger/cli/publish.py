"""`jobledger events publish`: public events of the log to files that grow, to a web hook, or to a lineage system."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.cli.publish_kafka import to_kafka
from jobledger.program.exit_codes import FAILED, OK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from jobledger.publishing.filters import Wanted
    from jobledger.settings.model import Settings
    from projectors.sinks.feeding import Chosen, Feeder
    from projectors.sinks.webhook import Failed, Receiver, WebHook
    from statemachine.ids import JobUid
    from statemachine.log.positions import Positions, SinkFailure

_CONCURRENCY: Final = 8
_LONGEST: Final = 1.0
"""Seconds between two looks at a log at which nothing happens."""


def publish(
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="file:DIR|kafka:[//HOST/TOPIC]|URL",
            help="Where to: a directory of files of JSON Lines, a topic, the address of a web hook, or "
            "openlineage+https://…",
        ),
    ],
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Stop at the end of the log, instead of going on as it grows.")
    ] = False,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            "--key",
            metavar="FILE",
            help="Web hook: file with a key to sign by, whsec_… or whsk_…; repeatable. Lineage: with an API key.",
        ),
    ] = None,
    from_: Annotated[
        str,
        typer.Option("--from", metavar="beginning|end|TIME", help="Web hook: where to begin."),
    ] = "beginning",
    name: Annotated[
        str,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Web hook: keep in the log's ledger, by this name, how far it is, and go on there the next time.",
        ),
    ] = "",
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="GLOB",
            help="Web hook: only these types, such as job.failed or replica.*; repeatable.",
        ),
    ] = None,
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", metavar="NAME", help="Web hook: only of jobs in this namespace."),
    ] = "",
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency", min=1, max=64, help="Web hook: jobs with a request under way at a time."
        ),
    ] = _CONCURRENCY,
    give_up_after: Annotated[
        str,
        typer.Option(
            "--give-up-after",
            metavar="DURATION",
            help="Web hook: go on without an event that could not be delivered for so long; by default never.",
        ),
    ] = "",
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Web hook: allow http:// to other machines than this one.")
    ] = False,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Append public events to files in a directory or to a topic, or post them to a web hook, as the log grows.

    Files: a file is full at 256 MiB: events-1.jsonl is the oldest, that of the highest number grows. Every event is
    there once, also after a crash, and a full disk is waited for.

    Topic: kafka: is the one of a ledger in Kafka, kafka://HOST:PORT/TOPIC one of your own with as many partitions,
    which gets all events. Readers of what is committed get every event once, also after a crash.

    Web hook: events are signed, arrive in order per job, and are sent again until they arrive. With --name a later
    start goes on where this one ends; else --from says where. Exit code 1 if the receiver refused events.

    openlineage+https://…: every job is a run of a lineage system such as Marquez, sent as to a web hook, unsigned.
    """
    import asyncio

    from jobledger.publishing.filters import Wanted, moment_of, types_of
    from projectors.sinks.webhook import Receiver
    from statemachine.errors import ConfigError
    from statemachine.log.positions import NAME

    settings = common.settings(store=store, verbose=verbose)
    kind, _, place = to.partition(":")
    if (kind == "file" and place) or kind == "kafka":
        narrowed = from_ != "beginning" or type_ or namespace or name or concurrency != _CONCURRENCY
        if key or narrowed or give_up_after or insecure:
            raise ConfigError(
                f"--to {kind}: takes no options of web hooks: files and topics hold all events, from the first on"
            )
    if kind == "file" and place:
        raise typer.Exit(asyncio.run(_to_files(settings, log, place, once=once)))
    if kind == "kafka":
        work = to_kafka(settings, log, to, lambda feeders: _fed(feeders, once=once))
        raise typer.Exit(asyncio.run(work))
    lineage, to = kind.startswith("openlineage+"), to.removeprefix("openlineage+")
    if to.partition(":")[0] not in {"http", "https"}:
        raise ConfigError(f'--to needs file:DIR, kafka:, https://… or openlineage+https://…, not "{to}"')
    if lineage and type_:
        raise ConfigError("--to openlineage+https://… takes no --type: a run needs its start and its end")
    if from_ == "end" and once:
        raise ConfigError("--from end sends nothing with --once")
    since = None if from_ in {"beginning", "end"} else moment_of("--from", from_)
    wanted = Wanted("", types_of(type_ or ()), namespace, since=since)
    if name and not NAME.fullmatch(name):
        raise ConfigError(f'--name "{name}" must be lower-case letters, digits, - and ., 63 of them at most')
    receiver = Receiver(name or "--to", to, tuple(key or ()), insecure, concurrency, _span(give_up_after))
    late, keeps = from_ == "end", bool(name)
    raise typer.Exit(
        asyncio.run(
            _to_hook(settings, log, wanted, receiver, once=once, late=late, keeps=keeps, lineage=lineage)
        )
    )


def _span(text: str) -> "timedelta | None":
    from jobledger.settings.values import duration
    from statemachine.errors import ConfigError

    try:
        return duration(text) if text else None
    except ValueError as error:
        raise ConfigError(f'--give-up-after "{text}" {error}') from None


async def _to_files(settings: "Settings", url: str | None, place: str, *, once: bool) -> int:
    from jobledger.publishing.source import source_of
    from projectors.sinks.file import FileSink

    async with source_of(settings, url) as source:
        sink = FileSink.open(Path(place), source.partitions, source.number_of)
        try:
            feeders = await source.feeders(sink)
            code = await _fed(feeders, once=once)
        finally:
            await sink.close()
    common.say(f"{common.plural(_delivered(feeders), 'event')} more in {place}")
    return code


async def _to_hook(
    settings: "Settings",
    url: str | None,
    wanted: "Wanted",
    receiver: "Receiver",
    *,
    once: bool,
    late: bool,
    keeps: bool,
    lineage: bool,
) -> int:
    from contextlib import AsyncExitStack

    from jobledger.publishing.source import source_of
    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.positions import positions_of
    from projectors.sinks.webhook import SinkDisabled
    from statemachine.errors import ConfigError

    failures: list[str] = []
    positions: Positions | None = None

    async def failed(failure: "SinkFailure") -> None:
        failures.append(failure.event)
        if positions is not None:
            await positions.fail(receiver.name, failure)
        attempts = common.plural(failure.attempts, "attempt")
        common.warn(f"jobledger: event {failure.event} is not delivered: {failure.error} ({attempts})")

    async with AsyncExitStack() as stack:
        sink, chosen = _opened(receiver, failed, wanted, lineage=lineage)
        stack.push_async_callback(sink.close)
        source = await stack.enter_async_context(source_of(settings, url))
        if keeps:
            where = log_of(url, settings) if url else settings.store
            positions = await stack.enter_async_context(positions_of(where))
            if off := await positions.disabled(receiver.name):
                raise ConfigError(
                    f"the sink {receiver.name} is off ({off}); `jobledger events sinks enable {receiver.name}` "
                    "switches it on"
                )
        feeders = await source.feeders(sink, positions, chosen, late=late)
        try:
            code = await _fed(feeders, once=once)
        except SinkDisabled as error:
            if positions is not None:
                await positions.switch(receiver.name, disabled=str(error))
            raise
    refused = f", {len(failures)} of them not delivered" if failures else ""
    common.say(f"{common.plural(_delivered(feeders), 'event')} sent{refused}")
    return FAILED if failures else code


def _opened(
    receiver: "Receiver", failed: "Failed", wanted: "Wanted", *, lineage: bool
) -> "tuple[WebHook, Chosen]":
    """The sink, and what of an entry it gets."""
    from projectors.sinks.webhook import WebHook

    if not lineage:
        return WebHook(receiver, failed), wanted.of
    from projectors.sinks.lineage import lineage_sink, runs_of

    return lineage_sink(receiver, failed), runs_of(wanted.of)


def _delivered(feeders: "Sequence[Feeder]") -> int:
    return sum(feeder.settled.total() for feeder in feeders)


async def _fed(feeders: "Sequence[Feeder]", *, once: bool) -> int:
    """The sink has what the log has. Jobs that are held are named once."""
    import asyncio

    from statemachine.log.polling import Polling

    warned: set[JobUid] = set()
    polling = Polling(_LONGEST)
    while True:
        before = sum(feeder.reached for feeder in feeders)
        for feeder in feeders:
            await feeder.advance()
        jobs = {job: seq for feeder in feeders for job, seq in feeder.held.items()}
        held({job: seq for job, seq in jobs.items() if job not in warned})
        warned.update(jobs)
        if once:
            return FAILED if warned else OK
        await asyncio.sleep(polling.after(news=sum(feeder.reached for feeder in feeders) != before))


def held(jobs: "Mapping[JobUid, int]") -> int:
    """Says of which jobs not everything could be published; gives the exit code that goes with it."""
    for job, seq in jobs.items():
        common.warn(
            f"jobledger: job {job} is not published from entry {seq} on: it cannot be read by this release"
        )
    return FAILED if jobs else OK
