"""`jobledger log`: the event log as a whole."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common

if TYPE_CHECKING:
    from jobledger.settings import Settings
    from statemachine.log.copying import Copied


class Action(StrEnum):
    """What is to be done with logs."""

    COPY = "copy"


def log(
    action: Annotated[Action, typer.Argument(metavar="copy", help="Copy a log, and compare the two.")],
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The log: sqlite:///PATH or kafka://HOST:PORT,…")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The copy; a Kafka has to have its topics already.")
    ],
    *,
    verbose: common.Verbose = 0,
) -> None:
    """Copy every history from one log to another, from a file to Kafka or back, byte for byte.

    Nothing may write either log meanwhile: stop the controller first. Afterwards both are read and compared entry by
    entry. A copy that was broken off goes on where it was; a target that holds another history is refused.
    """
    import asyncio

    del action  # there is one
    settings = common.settings(verbose=verbose)
    found = asyncio.run(_copied(settings, source, target))
    more = f", {found.before} of them before" if found.before else ""
    common.say(f"the same in both: {found.jobs} jobs, {found.entries} entries{more}")


async def _copied(settings: "Settings", source: str, target: str) -> "Copied":
    from jobledger.cli.histories import opened
    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.ledger import writing
    from statemachine.log.copying import copy

    async with opened(settings, source) as read, writing(log_of(target, settings)) as written:
        return await copy(read, written)
