"""What the verbs that read the store share: opening it read-only, and answering from it.

They need no server, and disturb none: SQLite serves readers beside the one writer.
"""

import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from jobledger.cli import common
from jobledger.cli.suggestions import repeating
from jobledger.program.exit_codes import FAILED, OK

if TYPE_CHECKING:
    from jobledger.lives.answer import LifeAnswer
    from jobledger.settings.model import Settings
    from statemachine.log.port import ReadableLog

T = TypeVar("T")

NARROWEST: Final = 20
WIDEST: Final = 1000
"""Columns that the text of an answer may have (`jobledger.api.lives`)."""

Job = Annotated[
    str, typer.Argument(metavar="JOB", help="Name, namespace/name, or uid (its beginning is enough).")
]
Uid = Annotated[
    str,
    typer.Option(
        "--uid", metavar="UID", help="Which of several jobs that had the name; its beginning is enough."
    ),
]
Entries = Annotated[
    str, typer.Option("--seq", metavar="N|N-M", help="Only entry N, or N to M; either may be left out.")
]
Full = Annotated[bool, typer.Option("--full", help="All fields of every entry.")]
Log = Annotated[
    str | None,
    typer.Option(
        "--log", metavar="URL", help="The event log, where it is not in the store: kafka://HOST:PORT,…"
    ),
]
At = Annotated[
    str,
    typer.Option(
        "--at", metavar="SEQ|TIME", help="As it was known then: number of an entry, ISO time, or -5m."
    ),
]


def reading(settings: "Settings", work: "Callable[[ReadableLog], Awaitable[T]]", url: str | None = None) -> T:
    """What `work` gives on the log at `url`, by default that in the store, which is opened for reading only.

    Raises:
        ConfigError: the URL is none.
        LogUnavailable: no broker answers.
        StoreUnusable: there is no store or no topic, or it is not one.
    """
    import asyncio

    async def whole() -> T:
        async with opened(settings, url) as log:
            return await work(log)

    return asyncio.run(whole())


@asynccontextmanager
async def opened(settings: "Settings", url: str | None) -> "AsyncIterator[ReadableLog]":
    """The log at `url`, by default that in the store, for reading. Raises as `reading` does."""
    from statemachine.log.sqlite import SqliteLog

    where = settings.store
    if url:
        from jobledger.wiring.cluster import log_of
        from jobledger.wiring.ledger import reading_kafka

        event_log = log_of(url, settings)
        if not isinstance(event_log, Path):
            async with reading_kafka(event_log) as merged:
                yield merged
            return
        where = event_log
    log = await SqliteLog.open(where, read_only=True)
    try:
        yield log
    finally:
        await log.close()


def terminal_width() -> int | None:
    """Columns of the terminal, between those that a table may have; None where the output goes somewhere else."""
    return min(WIDEST, max(NARROWEST, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else None


def show(answer: "LifeAnswer", output: common.Output, advice: str = "") -> int:
    """The answer, with what is to be said beside it; gives the exit code that goes with it."""
    for note in answer.notes:
        common.warn(note)
    code = doubtful(answer.doubt, advice)
    if answer.text is not None:
        common.say(answer.text)
    elif answer.data is not None:
        common.dump(answer.data, output)
    return code


def doubtful(doubt: str, advice: str = "") -> int:
    """Says what is wrong with a history, if anything is; gives the exit code that goes with it."""
    if not doubt:
        return OK
    common.warn(f"jobledger: {doubt}")
    common.warn(repeating(f"jobledger: what is shown ends before that{advice}"))
    return FAILED


ADVICE = "; `jobledger replay --verify` checks the store"
"""What a user who has the store can do about a doubt."""
