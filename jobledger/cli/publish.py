"""`jobledger events publish`: public events of the log to files that grow, a topic, a web hook, a lineage system."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.cli.publish_hook import HookDelivery, HookOptions, to_hook
from jobledger.cli.publish_kafka import to_kafka
from jobledger.program.exit_codes import FAILED, OK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobledger.publishing.beginnings import Begin
    from jobledger.settings.model import Settings
    from projectors.sinks.feeding import Feeder
    from statemachine.ids import JobUid

_DEFAULTS: Final = HookOptions()
_LONGEST: Final = 1.0
"""Seconds between two looks at a log at which nothing happens."""

_To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="file:DIR|kafka:[//HOST/TOPIC]|URL",
        help="Where to: a directory of files of JSON Lines, a topic, the address of a web hook, or "
        "openlineage+https://…",
    ),
]
_Once = Annotated[
    bool, typer.Option("--once", help="Stop at the end of the log, instead of going on as it grows.")
]
_Keys = Annotated[
    list[Path] | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="Web hook: file with a key to sign by, whsec_… or whsk_…; repeatable. Lineage: with an API key.",
    ),
]
_From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="beginning|end|TIME|CURSOR",
        help="Where a receiver begins that has nothing yet; a cursor is one of GET /v1/events.",
    ),
]
_Name = Annotated[
    str,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Web hook: keep in the log's ledger, by this name, how far it is, and go on there the next time.",
    ),
]
_Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="GLOB",
        help="Web hook: only these types, such as job.failed or replica.*; repeatable.",
    ),
]
_Namespace = Annotated[
    str, typer.Option("--namespace", "-n", metavar="NAME", help="Web hook: only of jobs in this namespace.")
]
_Concurrency = Annotated[
    int,
    typer.Option("--concurrency", min=1, max=64, help="Web hook: jobs with a request under way at a time."),
]
_GiveUpAfter = Annotated[
    str,
    typer.Option(
        "--give-up-after",
        metavar="DURATION",
        help="Web hook: go on without an event that could not be delivered for so long; by default never.",
    ),
]
_Insecure = Annotated[
    bool, typer.Option("--insecure", help="Web hook: allow http:// to other machines than this one.")
]
_Handshake = Annotated[
    bool, typer.Option("--handshake", help="Web hook: ask it for leave before the first delivery.")
]
_Origin = Annotated[
    str,
    typer.Option(
        "--origin",
        metavar="NAME",
        help="Web hook: as whom --handshake asks; default: jobledger.",
        show_default=False,
    ),
]


def publish(
    to: _To,
    *,
    once: _Once = False,
    key: _Keys = None,
    from_: _From = _DEFAULTS.begin,
    name: _Name = _DEFAULTS.name,
    type_: _Types = None,
    namespace: _Namespace = _DEFAULTS.namespace,
    concurrency: _Concurrency = _DEFAULTS.concurrency,
    give_up_after: _GiveUpAfter = _DEFAULTS.give_up_after,
    insecure: _Insecure = _DEFAULTS.insecure,
    handshake: _Handshake = _DEFAULTS.handshake,
    origin: _Origin = _DEFAULTS.origin,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Append public events to files in a directory or to a topic, or post them to a web hook, as the log grows.

    What has got events goes on behind them, so --from counts for an empty directory or topic, a name that is not
    known yet, and a web hook without a name.

    Files: a file is full at 256 MiB: events-1.jsonl is the oldest, that of the highest number grows. Every event is
    there once, also after a crash, and a full disk is waited for.

    Topic: kafka: is the one of a ledger in Kafka, kafka://HOST:PORT/TOPIC one of your own with as many partitions,
    which gets all events, or those from --from on. Readers of what is committed get every event once, also after a
    crash.

    Web hook: events are signed, arrive in order per job, and are sent again until they arrive. With --name a later
    start goes on where this one ends; else --from says where. Exit code 1 if the receiver refused events.

    openlineage+https://…: every job is a run of a lineage system such as Marquez, sent as to a web hook, unsigned.
    """
    import asyncio

    settings = common.settings(store=store, verbose=verbose)
    options = HookOptions(
        tuple(key or ()),
        from_,
        name,
        tuple(type_ or ()),
        namespace,
        concurrency,
        give_up_after,
        insecure,
        handshake,
        origin,
    )
    kind, _, place = to.partition(":")
    if kind == "file" and place:
        work = _to_files(settings, log, place, _begin(kind, options), once=once)
    elif kind == "kafka":
        work = to_kafka(settings, log, to, _begin(kind, options), lambda feeders: _fed(feeders, once=once))
    else:
        delivery = HookDelivery.of(to, options, once=once)
        work = to_hook(settings, log, delivery, lambda feeders: _fed(feeders, once=once))
    raise typer.Exit(asyncio.run(work))


def _begin(kind: str, options: HookOptions) -> "Begin":
    """Where files or a topic begin. Raises ConfigError: that moves; or for options of web hooks."""
    from jobledger.publishing.beginnings import fixed_begin
    from statemachine.errors import ConfigError

    if options._replace(begin=_DEFAULTS.begin) != _DEFAULTS:
        raise ConfigError(
            f"--to {kind}: takes no options of web hooks: files and topics hold every event from where they begin"
        )
    return fixed_begin("--from", options.begin)


async def _to_files(settings: "Settings", url: str | None, place: str, begin: "Begin", *, once: bool) -> int:
    from jobledger.publishing.source import source_of
    from projectors.sinks.file import FileSink

    async with source_of(settings, url) as source:
        sink = FileSink.open(Path(place), source.partitions, source.number_of)
        try:
            feeders = await source.feeders(sink, begin=begin)
            code = await _fed(feeders, once=once)
        finally:
            await sink.close()
    delivered = sum(feeder.settled.total() for feeder in feeders)
    common.say(f"{common.plural(delivered, 'event')} more in {place}")
    return code


async def _fed(feeders: "Sequence[Feeder]", *, once: bool) -> int:
    """The sink has what the log has. Jobs that are held are named once."""
    import asyncio

    from jobledger.program.garbage import collect_rarely
    from statemachine.log.polling import Polling

    collect_rarely()
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
