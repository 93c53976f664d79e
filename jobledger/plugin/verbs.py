"""The verbs of `kubectl jobledger`: those of the command line, asked of a cluster.

`get`, `describe`, `logs`, `pause` and `resume` ask the API server in the user's own name; `history` and `why` the
controller, which asks the API server what the user may see.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.plugin import options

if TYPE_CHECKING:
    from jobledger.plugin.apiserver import ApiServer
    from jobledger.plugin.cluster import Cluster


@contextmanager
def _api(kubeconfig: Path | None, context: str) -> "Iterator[ApiServer]":
    from jobledger.plugin.apiserver import ApiServer
    from k8s_bridge.kubeconfig.files import load

    api = ApiServer(load(kubeconfig, context))
    try:
        yield api
    finally:
        api.close()


@contextmanager
def _cluster(kubeconfig: Path | None, context: str, namespace: str | None) -> "Iterator[tuple[Cluster, str]]":
    """The cluster, and the namespace that is meant."""
    from jobledger.plugin.cluster import Cluster

    with _api(kubeconfig, context) as api:
        yield Cluster(api), namespace or api.context.namespace


def get(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Names of jobs; none: all.")
    ] = None,
    *,
    namespace: options.Namespace = None,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Jobs of all namespaces.")
    ] = False,
    phase: Annotated[str, typer.Option("--phase", metavar="PHASE", help="Only jobs in this phase.")] = "",
    selector: common.LabelSelector = "",
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on: a line for every change, until Ctrl-C.")
    ] = False,
    output: common.OutputOption = common.Output.TABLE,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """List jobs of all kinds, or show some by name."""
    from jobledger.cli.get import Wanted, go_on, show
    from jobledger.jobs.views import phase_meant

    wanted = Wanted(tuple(names or ()), phase_meant(phase), common.label_selector(selector, names))
    with _cluster(kubeconfig, context, namespace) as (asked, own):
        where = None if everywhere else own
        show(asked, wanted, where, output, watch=watch)
        if watch:
            go_on(asked, wanted, where)


def describe(
    name: options.JobName,
    *,
    namespace: options.Namespace = None,
    kind: common.Kind = "",
    output: common.OutputOption = common.Output.TABLE,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Show a job in full: its phase and conditions, its replicas, and what happened last."""
    from jobledger.cli.describe import show

    with _cluster(kubeconfig, context, namespace) as (asked, where):
        show(asked, where, name, kind=kind, output=output)


def logs(
    name: options.JobName,
    *,
    replica: Annotated[
        str, typer.Option("--replica", "-r", metavar="NAME", help="Such as worker-1; default: the primary.")
    ] = "",
    everybody: Annotated[bool, typer.Option("--all", "-a", help="Of all replicas, each line named.")] = False,
    container: Annotated[
        str, typer.Option("--container", "-c", metavar="NAME", help="Default: the first.")
    ] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the replica ends.")] = False,
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Of the run before the last restart in the same pod.")
    ] = False,
    namespace: options.Namespace = None,
    kind: common.Kind = "",
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Print what a replica wrote, as far as its pod is still there."""
    from jobledger.cli.logs import show

    if everybody and replica:
        raise typer.BadParameter("--all and --replica exclude each other")
    wanted: dict[str, str | bool] = {"kind": kind, "container": container, "previous": previous}
    with _cluster(kubeconfig, context, namespace) as (asked, where):
        show(asked, where, name, replica, wanted, everybody=everybody, follow=follow)


def pause(
    name: options.JobName,
    *,
    namespace: options.Namespace = None,
    kind: common.Kind = "",
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Pause a job: its replicas end, the job stays and can be resumed."""
    from jobledger.cli.changes import ask_to_pause

    with _cluster(kubeconfig, context, namespace) as (asked, where):
        ask_to_pause(asked, where, name, kind, "kubectl jobledger")


def resume(
    name: options.JobName,
    *,
    namespace: options.Namespace = None,
    kind: common.Kind = "",
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Let a paused job go on: all its replicas are started again."""
    from jobledger.cli.changes import ask_to_resume

    with _cluster(kubeconfig, context, namespace) as (asked, where):
        ask_to_resume(asked, where, name, kind)


def history(
    job: histories.Job,
    *,
    seq: histories.Entries = "",
    full: histories.Full = False,
    namespace: options.Namespace = None,
    uid: histories.Uid = "",
    kind: common.Kind = "",
    output: common.OutputOption = common.Output.TABLE,
    controller_namespace: options.ControllerNamespace = options.NAMESPACE,
    controller_service: options.ControllerService = options.SERVICE,
    via: options.ViaOption = options.Via.AUTO,
    server: options.Server = "",
    token: options.Token = "",
    token_file: options.TokenFile = None,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """List everything that the controller's log holds of a job, also of one that is long deleted.

    When, what was observed, what was decided, the phase after. Times are UTC. Passwords, tokens and keys are
    shown as <redacted>.
    """
    from jobledger.plugin.asking import Asking

    said = options.Controller(controller_namespace, controller_service, via, server, token, token_file)
    with _api(kubeconfig, context) as api:
        answer = Asking(api, said, kubeconfig, context).answer(
            "history",
            namespace or api.context.namespace,
            job,
            uid=uid,
            kind=kind,
            seq=seq,
            full=full,
            data=output is not common.Output.TABLE,
            width=_width(),
        )
    raise typer.Exit(histories.show(answer, output))


def why(
    job: histories.Job,
    *,
    namespace: options.Namespace = None,
    uid: histories.Uid = "",
    kind: common.Kind = "",
    at: histories.At = "",
    output: common.OutputOption = common.Output.TABLE,
    controller_namespace: options.ControllerNamespace = options.NAMESPACE,
    controller_service: options.ControllerService = options.SERVICE,
    via: options.ViaOption = options.Via.AUTO,
    server: options.Server = "",
    token: options.Token = "",
    token_file: options.TokenFile = None,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Explain why a job is as it is: every restart, failure, pause, scale, wait and deletion, with its cause.

    Taken from the controller's log, so it also works for jobs that are long deleted.
    """
    from jobledger.cli.history import width
    from jobledger.plugin.asking import Asking

    said = options.Controller(controller_namespace, controller_service, via, server, token, token_file)
    with _api(kubeconfig, context) as api:
        answer = Asking(api, said, kubeconfig, context).answer(
            "why",
            namespace or api.context.namespace,
            job,
            uid=uid,
            kind=kind,
            at=at,
            data=output is not common.Output.TABLE,
            width=width(),
        )
    raise typer.Exit(histories.show(answer, output))


def _width() -> int | None:
    columns = histories.terminal_width()
    return None if columns is None else min(1000, max(20, columns))
