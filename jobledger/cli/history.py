"""`jobledger history`: every entry of a job, from the first on."""

import typer

from jobledger.cli import common, histories


def history(
    job: histories.Job,
    *,
    seq: histories.Entries = "",
    full: histories.Full = False,
    namespace: common.Namespace = None,
    uid: histories.Uid = "",
    kind: common.Kind = "",
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """List everything that the log holds of a job: when, what was noticed, what was decided, the phase after.

    Works without a server, and for jobs that are long deleted. Times are UTC. Values of environment variables
    that look like secrets are shown as <redacted>.
    """
    from jobledger.telling.answers import Form, history_answer, span
    from jobledger.telling.histories import find

    settings = common.settings(store=store, namespace=namespace, verbose=verbose)
    span(seq)  # what is wrong with the question is said before the store is read
    told = histories.reading(
        settings, lambda read: find(read, job, namespace=settings.namespace, uid=uid, kind=kind), log
    )
    form = Form(text=output is common.Output.TABLE, width=histories.terminal_width())
    answer = history_answer(told, form, seq=seq, full=full)
    raise typer.Exit(histories.show(answer, output, histories.ADVICE))
