"""`jobledger get`: jobs in a line each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.cli.server import options

if TYPE_CHECKING:
    from jobledger.client.jobs import Jobs, Listing
    from jobledger.settings.model import Settings

_TITLES = ("NAME", "KIND", "PHASE", "RUNNING", "RESTARTS", "AGE")


def get(
    names: options.Names = None,
    *,
    namespace: common.Namespace = None,
    everywhere: options.Everywhere = False,
    gone: Annotated[bool, typer.Option("--all", help="Also jobs that are deleted.")] = False,
    phase: options.Phase = "",
    selector: common.LabelSelector = "",
    watch: options.Watch = False,
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """List jobs, or show some by name.

    Where no server answers, and with --log, they are shown as the store or the log has them.
    """
    wanted = JobChoice.of(names, phase, selector, gone=gone)
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    where = None if everywhere else settings.namespace

    common.asked_or_read(
        settings,
        log,
        lambda asked: show(asked, wanted, where, output, watch=watch),
        lambda: _from_log(settings, log, wanted, where, output),
        watch=watch,
    )


def _from_log(
    settings: "Settings", log: str | None, wanted: "JobChoice", namespace: str | None, output: common.Output
) -> None:
    from jobledger.lives.lookup import known_jobs
    from jobledger.lives.offline import StoredJobs

    stored = StoredJobs(histories.reading(settings, known_jobs, log))
    for job in stored.unreadable:
        common.warn(f"jobledger: the history of job {job.uid} cannot be read: {job.doubt}")
    _list(stored, wanted, namespace, output)


@dataclass(frozen=True, slots=True)
class JobChoice:
    """Which jobs are wanted: those of these `names` if there are any, else those that the rest picks."""

    names: tuple[str, ...] = ()
    phase: str = ""
    selector: str = ""
    gone: bool = False

    @classmethod
    def of(cls, names: Sequence[str] | None, phase: str, selector: str, *, gone: bool = False) -> Self:
        """What these arguments of a command line choose.

        Raises:
            UnknownPhase: no job is ever in `phase`.
            ConfigError: `selector` is none, or there are `names`, too.
        """
        from jobledger.jobs.views import phase_meant

        return cls(tuple(names or ()), phase_meant(phase), common.label_selector(selector, names), gone)


def show(
    asked: "Jobs", wanted: JobChoice, namespace: str | None, output: common.Output, *, watch: bool
) -> None:
    """Those of a namespace (None: of all) are listed; with `watch`, a line for every change of them follows."""
    _list(asked, wanted, namespace, output, watch=watch)
    if watch:
        _follow(asked, wanted, namespace)


def _list(
    asked: "Listing", wanted: JobChoice, namespace: str | None, output: common.Output, *, watch: bool = False
) -> None:
    everywhere, names, selector = namespace is None, wanted.names, wanted.selector
    jobs = _chosen(asked, wanted, namespace)
    if output is not common.Output.TABLE:
        alone = len(names) == 1 and len(jobs) == 1
        common.dump(jobs[0] if alone else {"apiVersion": "v1", "kind": "List", "items": jobs}, output)
    elif jobs:
        common.say(table(jobs, everywhere=everywhere))
    elif not watch:
        which = f"no jobs with labels {selector}" if selector else "no jobs"
        common.warn(which if everywhere else f"{which} in namespace {namespace}")


def _chosen(asked: "Listing", wanted: JobChoice, namespace: str | None) -> list[dict[str, Any]]:
    names, phase = wanted.names, wanted.phase
    if not names:
        return asked.jobs(namespace=namespace, phase=phase, selector=wanted.selector, gone=wanted.gone)
    if namespace is None:
        return [job for job in asked.jobs(gone=wanted.gone, phase=phase) if job["metadata"]["name"] in names]
    return [asked.job(namespace, name) for name in names]


def _follow(asked: "Jobs", wanted: JobChoice, namespace: str | None) -> None:
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
