"""`jobledger pause` and `jobledger resume`."""

from jobledger.cli import common


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
        asked.wish("pause", settings.namespace, name, kind=kind)
    common.say(f"{name} is being paused; `jobledger resume {name}` lets it go on")


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
        asked.wish("resume", settings.namespace, name, kind=kind)
    common.say(f"{name} is being resumed")
