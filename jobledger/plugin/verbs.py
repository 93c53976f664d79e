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
from jobledger.cli.server import options as shared
from jobledger.plugin import options

if TYPE_CHECKING:
    from jobledger.plugin.apiserver import ApiServer
    from jobledger.plugin.cluster import ClusterJobs


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
def _cluster(
    kubeconfig: Path | None, context: str, namespace: str | None
) -> "Iterator[tuple[ClusterJobs, str]]":
    """The cluster, and the namespace that is meant."""
    from jobledger.plugin.cluster import ClusterJobs

    with _api(kubeconfig, context) as api:
        yield ClusterJobs(api), namespace or api.context.namespace


def get(
    names: shared.Names = None,
    *,
    namespace: options.Namespace = None,
    everywhere: shared.Everywhere = False,
    phase: shared.Phase = "",
    selector: common.LabelSelector = "",
    watch: shared.Watch = False,
    output: common.OutputOption = common.Output.TABLE,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """List jobs of all kinds, or show some by name."""
    from jobledger.cli.server.get import JobChoice, show

    wanted = JobChoice.of(names, phase, selector)
    with _cluster(kubeconfig, context, namespace) as (asked, own):
        show(asked, wanted, None if everywhere else own, output, watch=watch)


def describe(
    name: common.JobName,
    *,
    namespace: options.Namespace = None,
    kind: common.Kind = "",
    output: common.OutputOption = common.Output.TABLE,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Show a job in full: its phase and conditions, its replicas, and what happened last."""
    from jobledger.cli.server.describe import show

    with _cluster(kubeconfig, context, namespace) as (asked, where):
        show(asked, where, name, kind=kind, output=output)


def logs(
    name: common.JobName,
    *,
    replica: shared.Replica = "",
    everybody: shared.Everybody = False,
    container: shared.Container = "",
    follow: shared.Follow = False,
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Of the run before the last restart in the same pod.")
    ] = False,
    namespace: options.Namespace = None,
    kind: common.Kind = "",
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Print what a replica wrote, as far as its pod is still there."""
    from jobledger.cli.server.logs import LogChoice, show

    wanted = LogChoice(name, kind, replica, container, everybody=everybody, previous=previous)
    with _cluster(kubeconfig, context, namespace) as (asked, where):
        show(asked, where, wanted, follow=follow)


def pause(
    name: common.JobName,
    *,
    namespace: options.Namespace = None,
    kind: common.Kind = "",
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Pause a job: its replicas end, the job stays and can be resumed."""
    from jobledger.cli.server.changes import ask_to_pause

    with _cluster(kubeconfig, context, namespace) as (asked, where):
        ask_to_pause(asked, where, name, kind, "kubectl jobledger")


def resume(
    name: common.JobName,
    *,
    namespace: options.Namespace = None,
    kind: common.Kind = "",
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = "",
) -> None:
    """Let a paused job go on: all its replicas are started again."""
    from jobledger.cli.server.changes import ask_to_resume

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

    said = options.ControllerAddress(controller_namespace, controller_service, via, server, token, token_file)
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
            width=histories.terminal_width(),
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
    from jobledger.cli.ledger.history import explanation_width
    from jobledger.plugin.asking import Asking

    said = options.ControllerAddress(controller_namespace, controller_service, via, server, token, token_file)
    with _api(kubeconfig, context) as api:
        answer = Asking(api, said, kubeconfig, context).answer(
            "why",
            namespace or api.context.namespace,
            job,
            uid=uid,
            kind=kind,
            at=at,
            data=output is not common.Output.TABLE,
            width=explanation_width(),
        )
    raise typer.Exit(histories.show(answer, output))
