"""The arguments that verbs asked of a server share with those of `kubectl jobledger`, asked of a cluster."""

from typing import Annotated

import typer

from jobledger.cli import common

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]", help="Names of jobs; none: all.", autocompletion=common.names_of_jobs
    ),
]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Jobs of all namespaces.")]
Phase = Annotated[str, typer.Option("--phase", metavar="PHASE", help="Only jobs in this phase.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Go on: a line for every change, until Ctrl-C.")]
Replica = Annotated[
    str, typer.Option("--replica", "-r", metavar="NAME", help="Such as worker-1; default: the primary.")
]
Everybody = Annotated[
    bool, typer.Option("--all", "-a", help="Of all replicas; every line begins with its replica's name.")
]
Container = Annotated[str, typer.Option("--container", "-c", metavar="NAME", help="Default: the first.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on until the replica ends.")]
