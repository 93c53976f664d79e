"""`jobledger log` copies a log; `jobledger topics` makes or checks the topics of one in Kafka."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common
from jobledger.program.exit_codes import FAILED, OK

if TYPE_CHECKING:
    from jobledger.settings.model import Settings
    from statemachine.log.copying import Copied
    from statemachine.log.kafka.address import Address
    from statemachine.log.kafka.topic_requests import LiveTopic


class Action(StrEnum):
    """What is to be done with logs."""

    COPY = "copy"
    BACKUP = "backup"


def log(
    action: Annotated[
        Action, typer.Argument(metavar="copy|backup", help="Copy a log that stands still, or one at work.")
    ],
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The log: sqlite:///PATH or kafka://HOST:PORT,…")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The copy; a Kafka has to have its topics already.")
    ],
    *,
    verbose: common.Verbose = 0,
) -> None:
    """Copy every history from one log to another, byte for byte: from a file to Kafka or back, or between two Kafkas.

    This is how the number of partitions is changed: each job is wholly in the partition that it has in the target.
    Dead letters are copied, too.

    Nothing may write either log meanwhile: stop the controller first. Observations that nobody has decided yet are
    not copied, so a log with some is refused. Afterwards both are compared entry by entry. A copy that was
    broken off goes on where it was; a target that holds another history is refused.

    `backup` asks nobody to stop: it copies what was decided when it came to it, and leaves out what was not, which a
    cluster shows again. Given the same target again, it adds what has come since.
    """
    import asyncio

    settings = common.settings(verbose=verbose)
    copied = asyncio.run(_copied(action, settings, source, target))
    more = f", {copied.before} of them before" if copied.before else ""
    letters = f", and {common.plural(copied.letters, 'dead letter')}" if copied.letters else ""
    same = "the same in both" if action is Action.COPY else "backed up"
    common.say(f"{same}: {copied.jobs} jobs, {copied.entries} entries{more}{letters}")


async def _copied(action: Action, settings: "Settings", source: str, target: str) -> "Copied":
    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.copying import backed_up, copied

    work = copied if action is Action.COPY else backed_up
    return await work(log_of(source, settings), log_of(target, settings))


class TopicsAction(StrEnum):
    """What is to be done with the topics."""

    APPLY = "apply"
    CHECK = "check"


def topics(
    action: Annotated[
        TopicsAction,
        typer.Argument(
            metavar="apply|check", help="Make what is missing and set right what is wrong, or only look."
        ),
    ],
    *,
    log: Annotated[
        str | None,
        typer.Option(
            "--log",
            metavar="URL",
            help="Where they are: kafka://HOST:PORT,HOST:PORT, then /PREFIX if it is not /jobledger.",
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            metavar="N",
            help="Of topics that are made; default: as many as the others have, in a new ledger 12.",
            show_default=False,
        ),
    ] = None,
    replication: Annotated[
        int | None,
        typer.Option(
            "--replication",
            metavar="N",
            help="Brokers that hold a copy of each record; default: 3, or all where there are fewer.",
            show_default=False,
        ),
    ] = None,
    verbose: common.Verbose = 0,
) -> None:
    """Make the topics of a ledger in Kafka, with settings that lose nothing, or check those that they have.

    So are the topics that sinks of lineage in the file of the setting events.sinks write to. Applying again changes
    nothing. Where something is left that would lose data, a line for each is printed to
    standard error, and the exit code is 1. A controller does not start on such topics.
    """
    import asyncio

    flags = {
        "controller.log": ("--log", log),
        "kafka.partitions": ("--partitions", partitions),
        "kafka.replication": ("--replication", replication),
    }
    settings = common.held(verbose=verbose, flags=flags).settings
    raise typer.Exit(asyncio.run(_topics(action, settings, _address(settings))))


def _address(settings: "Settings") -> "Address":
    from importlib.util import find_spec

    from statemachine.errors import ConfigError
    from statemachine.log.kafka.address import Address

    address = Address.of(settings.controller.log, settings.kafka.security())
    if find_spec("aiokafka") is None:
        raise ConfigError("the Kafka client is not installed; install `jobledger[kafka]` to run this command")
    return address


async def _topics(action: TopicsAction, settings: "Settings", address: "Address") -> int:
    from jobledger.settings.sinks import sinks_in
    from jobledger.wiring.configured_sinks import lineage_topics
    from statemachine.log.kafka import topics

    lineage = lineage_topics(sinks_in(settings.events.sinks), address)
    if action is TopicsAction.APPLY:
        wanted = settings.kafka
        for line in await topics.apply(address, wanted.partitions, wanted.replication, lineage):
            common.say(line)
    survey = await topics.survey(address, lineage)
    if survey.there:
        rows = [_row(name, survey.there[name]) for name in sorted(survey.there)]
        common.say(common.columns(("TOPIC", "PARTITIONS", "COPIES", "CLEAN-UP", "KEPT", "IN SYNC"), rows))
    for line in survey.wrong:
        common.warn(f"jobledger: {line}")
    return FAILED if survey.wrong else OK


def _row(name: str, topic: "LiveTopic") -> tuple[str, ...]:
    held = topic.settings
    kept = held.get("retention.ms", "-1")
    return (
        name,
        str(topic.partitions),
        str(topic.copies),
        held.get("cleanup.policy", ""),
        "for ever"
        if kept == "-1" or held.get("cleanup.policy") == "compact"
        else common.span(int(kept) / 1000),
        held.get("min.insync.replicas", ""),
    )
