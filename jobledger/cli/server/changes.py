"""`jobledger pause`, `resume`, `scale` and `delete`: what people want of a job that is there."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.cli import common
from jobledger.cli.suggestions import repeating

if TYPE_CHECKING:
    from jobledger.client.jobs import Jobs
    from jobledger.client.server import Client


def pause(
    name: common.JobName,
    *,
    namespace: common.Namespace = None,
    kind: common.Kind = "",
    store: common.Store = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """Pause a job: its replicas end, the job stays and can be resumed."""
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    with common.client(settings, "pause") as asked:
        ask_to_pause(asked, settings.namespace, name, kind)


def resume(
    name: common.JobName,
    *,
    namespace: common.Namespace = None,
    kind: common.Kind = "",
    store: common.Store = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """Let a paused job go on: all its replicas are started again."""
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    with common.client(settings, "resume") as asked:
        ask_to_resume(asked, settings.namespace, name, kind)


def ask_to_pause(asked: "Jobs", namespace: str, name: str, kind: str, program: str = "jobledger") -> None:
    """The job is wished to be paused, and the user knows what comes next."""
    job = asked.wish("pause", namespace, name, kind=kind)
    common.say(f"{name} is being paused; `{program} resume {name}` lets it go on")
    _note(job)


def ask_to_resume(asked: "Jobs", namespace: str, name: str, kind: str) -> None:
    """The job is wished to go on, and the user knows it."""
    job = asked.wish("resume", namespace, name, kind=kind)
    common.say(f"{name} is being resumed")
    _note(job)


def _note(job: dict[str, Any]) -> None:
    """The wish is not all that counts for a job in a queue."""
    from jobledger.jobs.changes import queue_note

    if note := queue_note(job):
        common.warn(note)


def scale(
    name: common.JobName,
    *,
    replicas: Annotated[int, typer.Option("--replicas", min=0, metavar="N", help="How many replicas.")],
    namespace: common.Namespace = None,
    kind: common.Kind = "",
    store: common.Store = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """Ask for another number of replicas of an elastic job, within its bounds."""
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    with common.client(settings, "scale") as asked:
        asked.wish("scale", settings.namespace, name, {"replicas": replicas}, kind=kind)
    common.say(f"{name} is being scaled to {common.plural(replicas, 'replica')}")


def delete(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Names of jobs.", autocompletion=common.names_of_jobs),
    ],
    *,
    namespace: common.Namespace = None,
    kind: common.Kind = "",
    grace: Annotated[
        float | None,
        typer.Option("--grace-period", min=0, metavar="SECONDS", help="Between SIGTERM and SIGKILL."),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait until nothing of the job runs any more.")] = True,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="SPAN", help="How long to wait, such as 90s or 10m.")
    ] = "10m",
    store: common.Store = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """Delete jobs: their processes end (SIGTERM, then SIGKILL), their history stays in the ledger."""
    limit = common.span_option("--timeout", timeout)
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    deadline = time.monotonic() + limit
    with common.client(settings, "delete") as asked:
        jobs = [
            asked.job(settings.namespace, name, kind=kind) for name in names
        ]  # all are known, or none goes
        for job in jobs:
            meta = job["metadata"]
            asked.delete(meta["namespace"], meta["name"], grace, kind=job["kind"], uid=meta["uid"])
        for job in jobs:
            name = job["metadata"]["name"]
            if wait and not _is_over(asked, settings.namespace, name, job["metadata"]["uid"], deadline):
                common.warn(f"jobledger: {name} is being deleted, and not gone after {timeout}")
                raise typer.Exit(1)
            how = "deleted" if wait else "is being deleted"
            common.say(repeating(f"{name} {how}; `jobledger history {name}` keeps its life"))


def _is_over(asked: "Client", namespace: str, name: str, uid: str, deadline: float) -> bool:
    """Nothing of the job is left; False if that did not come true in time."""
    from jobledger.cli.server.wait import changes

    for type_, job in changes(asked, namespace, name, deadline):
        if type_ == "DELETED" and job["metadata"]["uid"] == uid:
            return True
        if type_ == "SYNCED" and uid not in job:
            return True
    return False
