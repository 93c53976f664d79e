"""`jobledger evidence`: the pods of a cluster that the evidence finalizer holds, and how to release them all."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobledger.cli import common
from jobledger.program.exit_codes import FAILED, OK

if TYPE_CHECKING:
    from pathlib import Path

    from k8s_bridge.apiserver.cluster import ApiServerCluster
    from k8s_bridge.port import Manifest

_HEADER: Final = ("NAMESPACE", "POD", "PHASE", "JOB")


def evidence(
    *,
    release: Annotated[
        bool,
        typer.Option(
            "--release-all",
            help="Take the finalizer off all of them: before jobledger is uninstalled, or when it never comes back.",
        ),
    ] = False,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Only there; default: everywhere.")
    ] = None,
    kubeconfig: Annotated[
        str | None,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="Which cluster; default: in a pod its own, elsewhere kubectl's.",
        ),
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig.")
    ] = None,
    verbose: common.Verbose = 0,
) -> None:
    """List the pods that wait for the controller to write down how they ended, or release them.

    A controller that runs releases every pod by itself once its end is in the log. What is released here before that
    is shown in histories as "evidence lost".
    """
    import asyncio
    from pathlib import Path

    common.settings(verbose=verbose)
    common.needs_kubernetes()
    file = Path(kubeconfig).expanduser() if kubeconfig else None
    raise typer.Exit(asyncio.run(_evidence(file, context or "", namespace, release=release)))


async def _evidence(kubeconfig: "Path | None", context: str, namespace: str | None, *, release: bool) -> int:
    from k8s_bridge.apiserver.access import ApiServerChoice
    from k8s_bridge.apiserver.api import Api
    from k8s_bridge.apiserver.cluster import ApiServerCluster
    from k8s_bridge.attended import Attended

    wanted = ApiServerChoice(kubeconfig, context)
    async with await Api.connect(wanted) as api:
        cluster = ApiServerCluster(api, attended=Attended((namespace,) if namespace else ()))
        held = await cluster.held()
        if not held:
            common.say("no pod is held")
            return OK
        if not release:
            common.say(common.columns(_HEADER, [_row(pod) for pod in held]))
            return OK
        return await _release(cluster, held)


async def _release(cluster: "ApiServerCluster", held: "list[Manifest]") -> int:
    """Every pod is asked for, also when one cannot be let go."""
    from k8s_bridge.port import Ref
    from statemachine.errors import ClusterError, Conflict, Missing

    failed = 0
    for pod in held:
        try:
            await cluster.release(Ref.of(pod), pod["metadata"]["uid"])
        except (Missing, Conflict):
            continue  # it is gone, which is as good
        except ClusterError as error:
            failed += 1
            common.warn(f"{Ref.of(pod)}: {error}")
    common.say(f"released {len(held) - failed} of {len(held)} pods")
    return FAILED if failed else OK


def _row(pod: "Manifest") -> tuple[str, ...]:
    meta = pod["metadata"]
    owner = next(
        (reference["name"] for reference in meta.get("ownerReferences") or () if reference.get("controller")),
        "-",
    )
    return meta["namespace"], meta["name"], (pod.get("status") or {}).get("phase", "-"), owner
