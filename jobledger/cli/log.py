"""`jobledger log`: the event log as a whole."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common

if TYPE_CHECKING:
    from jobledger.settings.model import Settings
    from statemachine.log.copying import Copied


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
    found = asyncio.run(_copied(action, settings, source, target))
    more = f", {found.before} of them before" if found.before else ""
    letters = f", and {common.plural(found.letters, 'dead letter')}" if found.letters else ""
    same = "the same in both" if action is Action.COPY else "backed up"
    common.say(f"{same}: {found.jobs} jobs, {found.entries} entries{more}{letters}")


async def _copied(action: Action, settings: "Settings", source: str, target: str) -> "Copied":
    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.copying import backed_up, copied

    work = copied if action is Action.COPY else backed_up
    return await work(log_of(source, settings), log_of(target, settings))
