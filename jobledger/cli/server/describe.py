"""`jobledger describe`: one job in full, for people."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from jobledger.cli import common
from jobledger.cli import reading as histories

if TYPE_CHECKING:
    from jobledger.client.jobs import Jobs
    from jobledger.settings.model import Settings
    from statemachine.log.port import ReadableLog


def describe(
    name: common.JobName,
    *,
    namespace: common.Namespace = None,
    kind: common.Kind = "",
    output: common.OutputOption = common.Output.TABLE,
    store: common.Store = None,
    log: histories.Log = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """Show a job in full: its phase and conditions, its replicas, and what happened last.

    Where no server answers, and with --log, it is shown as the store or the log has it.
    """
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    where = settings.namespace
    common.asked_or_read(
        settings,
        log,
        lambda asked: show(asked, where, name, kind=kind, output=output),
        lambda: _tell(*_read(settings, log, name, kind), output),
    )


def _read(
    settings: "Settings", log: str | None, name: str, kind: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The job and its events, from the log."""
    from jobledger.lives.lookup import known_jobs
    from jobledger.lives.offline import StoredJobs, events_of

    async def work(read: "ReadableLog") -> tuple[dict[str, Any], list[dict[str, Any]]]:
        job = StoredJobs(await known_jobs(read)).job(settings.namespace, name, kind=kind)
        return job, await events_of(read, job)

    return histories.reading(settings, work, log)


def show(asked: "Jobs", namespace: str, name: str, *, kind: str, output: common.Output) -> None:
    """The job and its events are printed."""
    job = asked.job(namespace, name, kind=kind)
    _tell(job, asked.events(namespace, name, kind=job["kind"], uid=job["metadata"]["uid"]), output)


def _tell(job: dict[str, Any], events: list[dict[str, Any]], output: common.Output) -> None:
    if output is not common.Output.TABLE:
        common.dump({**job, "events": events}, output)
        return
    common.say("\n".join(_lines(job, events)))


def _lines(job: dict[str, Any], events: list[dict[str, Any]]) -> Iterator[str]:
    yield from _head(job)
    status = job.get("status") or {}
    if status.get("conditions"):
        yield "Conditions:"
        rows = [
            (
                condition["type"],
                condition["status"],
                common.age(condition.get("lastTransitionTime")),
                condition["message"],
            )
            for condition in status["conditions"]
        ]
        yield _indented(common.columns(("TYPE", "STATUS", "SINCE", "MESSAGE"), rows))
    replicas = [(task, replica) for task in status.get("tasks") or () for replica in task["replicas"]]
    if replicas:
        yield "Replicas:"
        yield _indented(
            common.columns(("POD", "PHASE", "CONTAINERS"), (_replica(replica) for _, replica in replicas))
        )
    if counts := status.get("replicaStatuses"):
        yield "Replicas:"
        yield _indented(common.columns(("TYPE", *map(str.upper, _COUNTS)), map(_counted, counts.items())))
    yield "Events:" if events else "Events: none"
    if events:
        rows4 = [
            (common.age(event["at"]), event["type"], event["reason"], event["message"])
            for event in events[-20:]
        ]
        yield _indented(common.columns(("AGE", "TYPE", "REASON", "MESSAGE"), rows4))


def _head(job: dict[str, Any]) -> Iterator[str]:
    from jobledger.jobs.changes import kueue_queue
    from jobledger.jobs.views import phase_of

    meta, status = job["metadata"], job.get("status") or {}
    queue = kueue_queue(job)
    notes = {
        "Name": meta["name"],
        "Namespace": meta["namespace"],
        "Kind": f"{job['kind']} ({job['apiVersion']})",
        "UID": meta["uid"],
        "Created": f"{meta.get('creationTimestamp', '?')} ({common.age(meta.get('creationTimestamp'))} ago)",
        "Phase": phase_of(job),
        "Queue": f"{queue}, where Kueue decides when the job runs (see why)" if queue else "",
        "Started": status.get("startTime", ""),
        "Ended": status.get("completionTime", ""),
        "Restarts": str(status.get("backoffCount", "")),  # some kinds do not count them there
    }
    for title, value in notes.items():
        if value:
            yield f"{title + ':':<12}{value}"


def _replica(replica: dict[str, Any]) -> tuple[str, str, str]:
    said = []
    for container in replica.get("containers") or ():
        code = f" (exit code {container['exitCode']})" if "exitCode" in container else ""
        said.append(f"{container['name']} {container['state']}{code}")
    return replica["name"], replica["phase"], ", ".join(said)


_COUNTS: Final = ("active", "succeeded", "failed")
"""What a status counts of each replica type that does not list the replicas."""


def _counted(of_type: tuple[str, dict[str, Any]]) -> tuple[str, ...]:
    type_, counts = of_type
    return type_, *(str(counts.get(count, 0)) for count in _COUNTS)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
