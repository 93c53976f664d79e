"""`jobledger get`: jobs in a line each."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories

if TYPE_CHECKING:
    from jobledger.client.jobs import Jobs, Listing
    from jobledger.settings.model import Settings

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
    log: histories.Log = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """List jobs, or show some by name.

    Where no server answers, and with --log, they are shown as the store or the log has them.
    """
    from jobledger.jobs.views import phase_meant

    wanted = Wanted(tuple(names or ()), phase_meant(phase), common.label_selector(selector, names), gone)
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    where = None if everywhere else settings.namespace

    def ask(asked: "Jobs") -> None:
        show(asked, wanted, where, output, watch=watch)
        if watch:
            go_on(asked, wanted, where)

    common.asked_or_read(
        settings, log, ask, lambda: _from_log(settings, log, wanted, where, output), watch=watch
    )


def _from_log(
    settings: "Settings", log: str | None, wanted: "Wanted", namespace: str | None, output: common.Output
) -> None:
    from jobledger.lives.lookup import known_jobs
    from jobledger.lives.offline import StoredJobs

    stored = StoredJobs(histories.reading(settings, known_jobs, log))
    for job in stored.unreadable:
        common.warn(f"jobledger: the history of job {job.uid} cannot be read: {job.doubt}")
    show(stored, wanted, namespace, output)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs are wanted: those of these `names` if there are any, else those that the rest picks."""

    names: tuple[str, ...] = ()
    phase: str = ""
    selector: str = ""
    gone: bool = False


def show(
    asked: "Listing", wanted: Wanted, namespace: str | None, output: common.Output, *, watch: bool = False
) -> None:
    """Those of a namespace (None: of all) are listed; that there are none is said unless somebody waits for them."""
    everywhere, names, selector = namespace is None, wanted.names, wanted.selector
    jobs = _found(asked, wanted, namespace)
    if output is not common.Output.TABLE:
        alone = len(names) == 1 and len(jobs) == 1
        common.dump(jobs[0] if alone else {"apiVersion": "v1", "kind": "List", "items": jobs}, output)
    elif jobs:
        common.say(table(jobs, everywhere=everywhere))
    elif not watch:
        which = f"no jobs with labels {selector}" if selector else "no jobs"
        common.warn(which if everywhere else f"{which} in namespace {namespace}")


def _found(asked: "Listing", wanted: Wanted, namespace: str | None) -> list[dict[str, Any]]:
    names, phase = wanted.names, wanted.phase
    if not names:
        return asked.jobs(namespace=namespace, phase=phase, selector=wanted.selector, gone=wanted.gone)
    if namespace is None:
        return [job for job in asked.jobs(gone=wanted.gone, phase=phase) if job["metadata"]["name"] in names]
    return [asked.job(namespace, name) for name in names]


def go_on(asked: "Jobs", wanted: Wanted, namespace: str | None) -> None:
    """A line for every change of the jobs that are wanted, for ever."""
    synced, names = False, wanted.names
    for type_, job in asked.watch(namespace=namespace, selector=wanted.selector):
        synced = synced or type_ == "SYNCED"
        if synced and job and (not names or job["metadata"]["name"] in names):
            common.say("   ".join(_row(job, everywhere=namespace is None)))


def table(jobs: list[dict[str, Any]], *, everywhere: bool = False) -> str:
    """Jobs in a line each, under titles."""
    titles = ("NAMESPACE", *_TITLES) if everywhere else _TITLES
    return common.columns(titles, [_row(job, everywhere=everywhere) for job in jobs])


def _row(job: dict[str, Any], *, everywhere: bool) -> tuple[str, ...]:
    from jobledger.jobs.views import phase_of, running_of

    meta, status = job["metadata"], job.get("status") or {}
    running, scale = running_of(job)
    row = (
        meta["name"],
        job["kind"],
        phase_of(job),
        f"{running}/{scale}",
        str(status.get("backoffCount", "-" if status else 0)),  # some kinds do not count them there
        common.age(meta.get("creationTimestamp")),
    )
    return (meta["namespace"], *row) if everywhere else row
