"""`jobledger run`: jobs from files, run on this machine, followed to their end."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobledger.cli import common

if TYPE_CHECKING:
    from jobledger.cli.machine.running import RunOrder
    from jobledger.settings.loading import Held


def run(
    files: common.Files,
    *,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="SPAN", help="Stop the jobs after this long, such as 90s or 2h."),
    ] = None,
    logs: Annotated[bool, typer.Option("--logs", help="Print what the replicas write, as they do.")] = False,
    namespace: common.Namespace = None,
    store: common.Store = None,
    verbose: common.Verbose = 0,
) -> None:
    """Run jobs on this machine, each replica as processes, and follow them to their end.

    Containers without a workingDir start in the folder of the manifest's file; those of a manifest from standard
    input where this command was given.

    The exit code is the outcome: 0 when every job has succeeded, 1 when one has failed. Ctrl-C asks the jobs
    to stop (SIGTERM), a second Ctrl-C ends them at once; either way the ledger says what happened. A job of
    the same name that has ended is replaced; its history stays. Without room on the disk the jobs' processes
    are ended, and the exit code is 3; the same command goes on with the jobs once there is room.
    """
    import asyncio

    from jobledger.cli.machine.running import RunOrder
    from jobledger.cli.server.submit import examined

    limit = common.span_option("--timeout", timeout) if timeout is not None else None
    held = common.held(store=store, namespace=namespace, verbose=verbose, quiet_level="error")
    wanted = RunOrder(examined(files, held.settings.namespace), limit, logs=logs, everything=verbose > 0)
    raise typer.Exit(asyncio.run(_run(held, wanted)))


async def _run(held: "Held", wanted: "RunOrder") -> int:
    from jobledger.cli.machine.embedded import controller_of
    from jobledger.cli.machine.full_disk import with_room
    from jobledger.cli.machine.running import JobRun
    from jobledger.program.signals import listening
    from jobledger.service.app import App
    from jobledger.wiring import running

    with listening() as asked:
        async with controller_of(held.settings) as controller:
            this = JobRun(App(controller), held, wanted, asked)

            async def work() -> int:
                async with running(controller):
                    code = await this.to_its_end()
                await controller.catch_up()
                this.summarise()
                return code

            patience = held.settings.full.total_seconds()
            disk = held.settings.store.absolute().parent
            return await with_room(work(), controller, asked, disk, patience=patience, given_up=this.give_up)
