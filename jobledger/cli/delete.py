"""`jobledger delete`: the job and its pods go, its history stays."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common
from jobledger.cli.suggestions import repeating

if TYPE_CHECKING:
    from jobledger.client.server import Client


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
    from jobledger.cli.waiting import changes

    for type_, job in changes(asked, namespace, name, deadline):
        if type_ == "DELETED" and job["metadata"]["uid"] == uid:
            return True
        if type_ == "SYNCED" and uid not in job:
            return True
    return False
