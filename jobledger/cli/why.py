"""`jobledger why`: what happened to a job, and what began it."""

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobledger.cli import common, histories

if TYPE_CHECKING:
    from statemachine.log.entry import Entry

NARROW, WIDE = 80, 120
_PLAIN: Final = NARROW
"""Width where nobody looks: in a file or a pipe the same text must come out on every terminal."""


def why(
    job: histories.Job,
    *,
    namespace: common.Namespace = None,
    uid: histories.Uid = "",
    kind: common.Kind = "",
    at: Annotated[
        str,
        typer.Option(
            "--at", metavar="SEQ|TIME", help="As it was told then: number of an entry, ISO time, or -5m."
        ),
    ] = "",
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    verbose: common.Verbose = 0,
) -> None:
    """Explain why a job is as it is: every restart, failure, pause, scale, wait and deletion, with its cause.

    Taken from the log alone, so it also works without a server, and for jobs that are long deleted.
    """
    from jobledger.cli.moments import Moment

    settings = common.settings(store=store, namespace=namespace, verbose=verbose)
    moment = Moment.parse(at)
    told = histories.reading(
        settings.store,
        lambda log: histories.find(log, job, namespace=settings.namespace, uid=uid, kind=kind),
    )
    code = histories.doubtful(told)
    entries = moment.until(told.entries, str(told.job))
    if entries:
        show(entries, output)
        _say_deleted(entries)
    raise typer.Exit(code)


def _say_deleted(entries: "Sequence[Entry]") -> None:
    """A job deleted after its end is explained as before; that it is gone is said beside the answer."""
    from projectors.explain import life
    from statemachine.observations import JobGone

    rest = entries[len(life(entries)) :]
    if rest:
        cause = rest[0].cause
        by = f" by {cause.actor}" if isinstance(cause, JobGone) and cause.actor else ""
        typer.echo(f"(deleted since, at {rest[0].seen_at:%Y-%m-%d %H:%M:%S} UTC{by})", err=True)


def show(entries: "Sequence[Entry]", output: common.Output) -> None:
    """The explanation, for people or for programs."""
    from jobledger.redact import redacted
    from projectors.explain import as_text, explain

    explanation = explain(entries)
    if output is common.Output.TABLE:
        typer.echo(as_text(explanation, width=_width()), nl=False)
    else:
        common.dump(redacted(explanation.model_dump(mode="json")), output)


def _width() -> int:
    if not sys.stdout.isatty():
        return _PLAIN
    return min(WIDE, max(NARROW // 2, shutil.get_terminal_size().columns))
