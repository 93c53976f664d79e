"""`jobledger controller`: the controller of a Kubernetes cluster, or some of its roles."""

from typing import TYPE_CHECKING, Final

import typer

from jobledger.cli import common
from jobledger.cli.cluster import options
from jobledger.program.exit_codes import OK

if TYPE_CHECKING:
    from socket import socket

    from jobledger.settings.model import Settings
    from jobledger.wiring.cluster import ProcessPlan

_HERE: Final = "127.0.0.1:8080"


@options.with_switches
def controller(
    *,
    kubeconfig: options.Kubeconfig = None,
    context: options.Context = None,
    log: options.Log = None,
    history: common.HistoryUrl = None,
    namespaces: options.Namespaces = None,
    roles: options.Roles = None,
    listen: options.Listen = None,
    leader_elect: options.LeaderElect = None,
    lease_namespace: options.LeaseNamespace = None,
    evidence: options.Evidence = None,
    verbose: common.Verbose = 0,
    **switches: str | None,
) -> None:
    """Run the jobs of a Kubernetes cluster.

    All of it runs in this process, or, with --roles, the parts that are named; those in other processes share the
    log. SIGTERM ends it within ten seconds, and the next one goes on where it was.
    """
    import asyncio

    from jobledger.program import installation
    from jobledger.settings.values import in_pod
    from jobledger.web.server import listen_address

    flags = {
        "controller.kubeconfig": ("--kubeconfig", kubeconfig),
        "controller.context": ("--context", context),
        "controller.log": ("--log", log),
        "history": ("--history", history),
        "controller.namespaces": ("--namespaces", namespaces),
        "controller.roles": ("--roles", roles),
        "controller.listen": ("--listen", listen),
        "controller.leader_elect": ("--leader-elect" if leader_elect else "--no-leader-elect", leader_elect),
        "controller.lease_namespace": ("--lease-namespace", lease_namespace),
        "evidence": ("--evidence" if evidence else "--no-evidence", evidence),
        **{f"{plural}.namespaces": (f"--{plural}", value) for plural, value in switches.items()},
    }
    settings = common.held(verbose=verbose, quiet_level="info", flags=flags).settings
    installation.check()
    plan = _plan(settings)
    address = settings.controller.listen or (_everywhere() if in_pod() else _HERE)
    host, port = listen_address(address, guarded=True)
    raise typer.Exit(asyncio.run(_control(plan, settings, host, port)))


def _everywhere() -> str:
    """All addresses of this machine, of both families where it has both."""
    from socket import has_dualstack_ipv6

    return "[::]:8080" if has_dualstack_ipv6() else "0.0.0.0:8080"


def _plan(settings: "Settings") -> "ProcessPlan":
    from jobledger.settings.values import in_pod
    from jobledger.wiring.cluster import ProcessPlan

    common.needs_kubernetes()
    return ProcessPlan.of(settings, in_pod=in_pod())


async def _control(plan: "ProcessPlan", settings: "Settings", host: str, port: int) -> int:
    from jobledger.cli.cluster.process import ControllerProcess
    from jobledger.console import ConsoleOptions
    from jobledger.program.signals import listening
    from jobledger.publishing.naming import named_by
    from jobledger.publishing.serving import topic_of_events
    from jobledger.web.server import tcp_socket
    from jobledger.wiring.cluster import check
    from statemachine.errors import StoreInUse, StoreUnusable

    with listening() as asked, tcp_socket(host, port) as socket:
        await check(plan)
        _welcome(plan, socket)
        try:
            named = named_by(settings, plan.log)
            async with topic_of_events(settings, plan.log) as topic:
                process = ControllerProcess(plan, ConsoleOptions.of(settings), named, topic)
                await process.run([socket], asked.at_least(1))
        except (StoreInUse, StoreUnusable) as error:
            raise StoreUnusable(str(error).replace("--store", "--log")) from error
    common.say("ended")
    return OK


def _welcome(plan: "ProcessPlan", listening: "socket") -> None:
    from pathlib import Path

    from jobledger.wiring.history import shown
    from jobledger.wiring.roles import Role

    host, port = listening.getsockname()[:2]
    common.say(f"jobledger controller: {', '.join(role for role in Role if role in plan.roles)}")
    common.say(f"  log      {f'sqlite://{plan.log}' if isinstance(plan.log, Path) else plan.log}")
    if Role.PROJECTORS in plan.roles and (plan.history or isinstance(plan.log, Path)):
        common.say(f"  history  {shown(plan.history) or 'beside the log'}")
    common.say(f"  jobs of  {', '.join(plan.namespaces) or 'all namespaces'}")
    for kind, said in plan.opted_in.items():
        common.say(f"  {kind}s of {', '.join(said.namespaces or plan.namespaces) or 'all namespaces'}")
    common.say(f"  address  http://{f'[{host}]' if ':' in host else host}:{port}")
