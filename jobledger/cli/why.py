"""`jobledger why`: what happened to a job, and what began it."""

from typing import Final

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories

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
    from jobledger.lives.rendering import Form, why_answer

    settings = common.settings(store=store, namespace=namespace, verbose=verbose)
    Moment.parse(at)  # what is wrong with the question is said before the store is read
    told = histories.reading(
        settings, lambda read: find(read, job, namespace=settings.namespace, uid=uid, kind=kind), log
    )
    answer = why_answer(told, Form(text=output is common.Output.TABLE, width=width()), at=at)
    raise typer.Exit(histories.show(answer, output, histories.ADVICE))


def width() -> int | None:
    """Columns that an explanation may take on this terminal; None where nobody looks."""
    columns = histories.terminal_width()
    return None if columns is None else min(WIDE, max(NARROW, columns))
