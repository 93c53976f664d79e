"""`jobledger history`, every entry of a job, or with --rebuild the history in SQL made again; `jobledger why`."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.program.exit_codes import OK

if TYPE_CHECKING:
    from jobledger.settings.model import Settings


def history(
    job: Annotated[
        str,
        typer.Argument(
            metavar="[JOB]",
            help="Name, namespace/name, or uid (its beginning is enough).",
            show_default=False,
        ),
    ] = "",
    *,
    seq: histories.Entries = "",
    full: histories.Full = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Make the history in SQL again, from the first entry of the log on."),
    ] = False,
    namespace: common.Namespace = None,
    uid: histories.Uid = "",
    kind: common.Kind = "",
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    history_url: common.HistoryUrl = None,
    verbose: common.Verbose = 0,
) -> None:
    """List everything that the log holds of a job: when, what was observed, what was decided, the phase after.

    Works without a server, and for jobs that are long deleted. Times are UTC. Passwords, tokens
    and keys are shown as <redacted>.

    With --rebuild, and no job, the SQL tables of the history (--history) are emptied and made again from the log. A
    controller may work meanwhile: it helps.
    """
    from jobledger.lives.history import find
    from jobledger.lives.rendering import AnswerForm, history_answer, span
    from statemachine.errors import ConfigError

    flags = {"history": ("--history", history_url)}
    settings = common.settings(store=store, namespace=namespace, verbose=verbose, flags=flags)
    if rebuild:
        if job:
            raise ConfigError("--rebuild makes the history of all jobs again: do not name one")
        raise typer.Exit(_rebuilt(settings, log))
    if not job:
        raise ConfigError("name the job whose history you want, or --rebuild")
    span(seq)  # what is wrong with the question is said before the store is read
    life = histories.reading(
        settings, lambda read: find(read, job, namespace=settings.namespace, uid=uid, kind=kind), log
    )
    form = AnswerForm(text=output is common.Output.TABLE, width=histories.terminal_width())
    answer = history_answer(life, form, seq=seq, full=full)
    raise typer.Exit(histories.show(answer, output, histories.ADVICE))


def _rebuilt(settings: "Settings", url: str | None) -> int:
    import asyncio

    from jobledger.wiring.cluster import log_of
    from jobledger.wiring.history import history_of
    from jobledger.wiring.ledger import Kafka
    from jobledger.wiring.rebuilding import rebuild
    from statemachine.errors import ConfigError

    log = log_of(url, settings) if url else settings.store
    where = history_of(settings) or log
    if isinstance(where, Kafka):
        raise ConfigError("a log in Kafka has no history beside it: name its database with --history")
    rebuilt = asyncio.run(rebuild(log, where, common.warn))
    entries = "entry" if rebuilt.entries == 1 else "entries"
    common.say(
        f"the history has been made again: {common.plural(rebuilt.jobs, 'job')}, {rebuilt.entries} {entries}"
    )
    return OK


NARROW: Final = 40
WIDE: Final = 120


def why(
    job: histories.Job,
    *,
    namespace: common.Namespace = None,
    uid: histories.Uid = "",
    kind: common.Kind = "",
    at: histories.At = "",
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Explain why a job is as it is: every restart, failure, pause, scale, wait and deletion, with its cause.

    Taken from the log alone, so it also works without a server, and for jobs that are long deleted.
    """
    from jobledger.lives.history import find
    from jobledger.lives.point_in_time import Moment
    from jobledger.lives.rendering import AnswerForm, why_answer

    settings = common.settings(store=store, namespace=namespace, verbose=verbose)
    Moment.parse(at)  # what is wrong with the question is said before the store is read
    life = histories.reading(
        settings, lambda read: find(read, job, namespace=settings.namespace, uid=uid, kind=kind), log
    )
    answer = why_answer(
        life, AnswerForm(text=output is common.Output.TABLE, width=explanation_width()), at=at
    )
    raise typer.Exit(histories.show(answer, output, histories.ADVICE))


def explanation_width() -> int | None:
    """Columns that an explanation may take on this terminal; None where nobody looks."""
    columns = histories.terminal_width()
    return None if columns is None else min(WIDE, max(NARROW, columns))
