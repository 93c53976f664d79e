"""`jobledger pause` and `jobledger resume`."""

from typing import TYPE_CHECKING, Any

from jobledger.cli import common

if TYPE_CHECKING:
    from jobledger.client.jobs import Jobs


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
