"""`jobledger get`: jobs in a line each."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.cli import common

if TYPE_CHECKING:
    from jobledger.client import Jobs

_TITLES = ("NAME", "KIND", "PHASE", "RUNNING", "RESTARTS", "AGE")


def get(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...]", help="Names of jobs; none: all.", autocompletion=common.names_of_jobs
        ),
    ] = None,
    *,
    namespace: common.Namespace = None,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Jobs of all namespaces.")
    ] = False,
    gone: Annotated[bool, typer.Option("--all", help="Also jobs that are deleted.")] = False,
    phase: Annotated[str, typer.Option("--phase", metavar="PHASE", help="Only jobs in this phase.")] = "",
    selector: common.LabelSelector = "",
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on: a line for every change, until Ctrl-C.")
    ] = False,
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """List jobs, or show some by name."""
    chosen = common.label_selector(selector, names)
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    where = None if everywhere else settings.namespace
    with common.client(settings) as asked:
        show(asked, names or [], where, phase=phase, selector=chosen, gone=gone, output=output, watch=watch)


def show(
    asked: "Jobs",
    names: list[str],
    namespace: str | None,
    *,
    phase: str,
    selector: str,
    gone: bool,
    output: common.Output,
    watch: bool,
) -> None:
    """Jobs of a namespace (None: of all), or those of these names, are listed; with `watch` for ever."""
    everywhere = namespace is None
    jobs = _found(asked, names, namespace, phase=phase, selector=selector, gone=gone)
    if output is not common.Output.TABLE:
        alone = len(names) == 1 and len(jobs) == 1
        common.dump(jobs[0] if alone else {"apiVersion": "v1", "kind": "List", "items": jobs}, output)
    elif jobs:
        common.say(table(jobs, everywhere=everywhere))
    elif not watch:
        which = f"no jobs with labels {selector}" if selector else "no jobs"
        common.warn(which if everywhere else f"{which} in namespace {namespace}")
    if watch:
        _go_on(asked, names, namespace, selector, everywhere=everywhere)


def _found(
    asked: "Jobs", names: list[str], namespace: str | None, *, phase: str, selector: str, gone: bool
) -> list[dict[str, Any]]:
    if not names:
        return asked.jobs(namespace=namespace, phase=phase, selector=selector, gone=gone)
    if namespace is None:
        return [job for job in asked.jobs(gone=gone, phase=phase) if job["metadata"]["name"] in names]
    return [asked.job(namespace, name) for name in names]


def _go_on(
    asked: "Jobs", names: list[str], namespace: str | None, selector: str, *, everywhere: bool
) -> None:
    synced = False
    for type_, job in asked.watch(namespace=namespace, selector=selector):
        synced = synced or type_ == "SYNCED"
        if synced and job and (not names or job["metadata"]["name"] in names):
            common.say("   ".join(_row(job, everywhere=everywhere)))


def table(jobs: list[dict[str, Any]], *, everywhere: bool = False) -> str:
    """Jobs in a line each, under titles."""
    titles = ("NAMESPACE", *_TITLES) if everywhere else _TITLES
    return common.columns(titles, [_row(job, everywhere=everywhere) for job in jobs])


def _row(job: dict[str, Any], *, everywhere: bool) -> tuple[str, ...]:
    from jobledger.views import phase_of, running_of

    meta, status = job["metadata"], job.get("status") or {}
    running, scale = running_of(job)
    row = (
        meta["name"],
        job["kind"],
        phase_of(job),
        f"{running}/{scale}",
        str(status.get("backoffCount", "-" if status else 0)),  # Kubeflow's kinds do not count them there
        common.age(meta.get("creationTimestamp")),
    )
    return (meta["namespace"], *row) if everywhere else row
