"""`jobledger scale`: wish another number of replicas."""

from typing import Annotated

import typer

from jobledger.cli import common


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
    """Wish another number of replicas for an elastic job, within its bounds."""
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    with common.client(settings, "scale") as asked:
        asked.wish("scale", settings.namespace, name, {"replicas": replicas}, kind=kind)
    common.say(f"{name} is being scaled to {common.plural(replicas, 'replica')}")
