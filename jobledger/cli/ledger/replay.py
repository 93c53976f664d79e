"""`jobledger replay`: a job as it was, folded from the log; or, with --verify, whether the log holds together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.cli import common
from jobledger.cli import reading as histories
from jobledger.lives.history import find
from jobledger.lives.lookup import chosen, known_jobs, others
from jobledger.lives.point_in_time import Moment
from jobledger.lives.rendering import beside
from jobledger.program.exit_codes import FAILED
from statemachine.errors import ConfigError
from statemachine.log.port import ReadableLog, Snapshot

if TYPE_CHECKING:
    from projectors.verify import Verdict
    from statemachine.state import JobState


def replay(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JOB...]", help="Name, namespace/name, or uid; with --verify none means all."
        ),
    ] = None,
    *,
    at: Annotated[
        str,
        typer.Option("--at", metavar="SEQ|TIME", help="As of then: number of an entry, ISO time, or -5m."),
    ] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the log: numbers, hashes, snapshots, every decision.")
    ] = False,
    namespace: common.Namespace = None,
    uid: histories.Uid = "",
    kind: common.Kind = "",
    output: common.OutputOption = common.Output.YAML,
    store: common.Store = None,
    log: histories.Log = None,
    verbose: common.Verbose = 0,
) -> None:
    """Print the status of a job as of any moment of its life, folded from the log.

    With --verify every entry is checked, and every recorded observation is decided again: exit code 1 if
    anything is not as it was recorded. A clock or a release that was put back is a warning.
    """
    settings = common.settings(store=store, namespace=namespace, verbose=verbose)
    if verify:
        if at:
            raise ConfigError("--at and --verify do not go together: a log is verified as a whole")
        verdicts = histories.reading(
            settings,
            lambda read: _verified(read, jobs or [], settings.namespace, uid=uid, kind=kind),
            log,
        )
        raise typer.Exit(_tell(verdicts, output))
    if len(jobs or ()) != 1:
        raise ConfigError("name the job to replay, or --verify to check all of them")
    moment, job = Moment.parse(at), (jobs or [""])[0]
    life = histories.reading(
        settings, lambda read: find(read, job, namespace=settings.namespace, uid=uid, kind=kind), log
    )
    reading = life.read(moment=moment)
    code = histories.show(beside(life, reading), output, histories.ADVICE)
    if reading.entries:
        _print_status(reading.state, output)
    raise typer.Exit(code)


def _print_status(state: "JobState", output: common.Output) -> None:
    from statemachine.status import status

    common.dump(status(state), common.Output.JSON if output is common.Output.JSON else common.Output.YAML)


# ---- --verify ----------------------------------------------------------------------------------------------


async def _verified(
    log: ReadableLog, names: Sequence[str], namespace: str, *, uid: str, kind: str
) -> Sequence["Verdict"]:
    """The verdicts on the jobs of these names, on all jobs if there are none. Snapshots are read first."""
    from projectors.verify import Verification

    _, snapshots = await log.snapshots()
    if not names:
        verification = Verification(snapshots)
        async for batch in log.scan():
            for record in batch:
                verification.take(record)
        return verification.verdicts()
    known = await known_jobs(log)
    meant = [chosen(known, name, namespace=namespace, uid=uid, kind=kind) for name in names]
    for name in names if not uid else ():
        if note := others(known, name, namespace=namespace, kind=kind):
            common.warn(f"jobledger: {note}")
    return [await _verdict(log, uid, snapshots) for uid in dict.fromkeys(known.uid for known in meant)]


async def _verdict(log: ReadableLog, job: Any, snapshots: Sequence[Snapshot]) -> "Verdict":
    from projectors.verify import Verification

    verification = Verification([snapshot for snapshot in snapshots if snapshot.job == job])
    async for batch in log.scan(job=job):
        for record in batch:
            verification.take(record)
    return verification.verdicts()[0]


def _tell(verdicts: Sequence["Verdict"], output: common.Output) -> int:
    """Every job with its first difference, and a line for all; gives the exit code."""
    from statemachine.redact import redacted

    wrong = [verdict for verdict in verdicts if verdict.difference is not None]
    for verdict in verdicts:
        for warning in verdict.warnings:
            common.warn(f"jobledger: warning: {_named(verdict)}, entry {warning.seq}: {warning.says}")
    for verdict in wrong:
        difference = verdict.difference
        if difference is not None:
            common.warn(f"jobledger: {_named(verdict)}, entry {difference.seq}: {difference.says}")
            for label, events in (("recorded", difference.recorded), ("now", difference.now)):
                if difference.recorded or difference.now:
                    common.warn(f"  {label}:")
                    common.warn(_indented(redacted(list(events))))
    if output is common.Output.JSON:
        common.dump(redacted([_plain(verdict) for verdict in verdicts]), output)
    else:
        common.say(_summary(verdicts, len(wrong)))
    return FAILED if wrong else 0


def _named(verdict: "Verdict") -> str:
    return f"{verdict.namespace}/{verdict.name} ({verdict.job})" if verdict.name else verdict.job


def _indented(events: list[Any]) -> str:
    from jobledger.lives.wording import fields

    return "\n".join(fields(events, "    ")) if events else "    nothing"


def _summary(verdicts: Sequence["Verdict"], wrong: int) -> str:
    entries = sum(verdict.entries for verdict in verdicts)
    again = sum(verdict.decided_again for verdict in verdicts)
    folded = sum(verdict.only_folded for verdict in verdicts)
    snapshots = sum(verdict.snapshots for verdict in verdicts)
    warnings = sum(len(verdict.warnings) for verdict in verdicts)
    head = f"{common.plural(wrong, 'job')} of {len(verdicts)} not as recorded" if wrong else "ok"
    counts = [
        common.plural(len(verdicts), "job"),
        f"{entries} {'entry' if entries == 1 else 'entries'}",
        f"{common.plural(again, 'decision')} made again",
        f"{folded} of another policy version folded only",
        f"{common.plural(snapshots, 'snapshot')} compared",
        *([common.plural(warnings, "warning")] if warnings else []),
    ]
    return f"{head}: {', '.join(counts)}"


def _plain(verdict: "Verdict") -> dict[str, Any]:
    difference = verdict.difference
    return {
        "uid": verdict.job,
        "namespace": verdict.namespace,
        "name": verdict.name,
        "entries": verdict.entries,
        "decidedAgain": verdict.decided_again,
        "onlyFolded": verdict.only_folded,
        "snapshots": verdict.snapshots,
        "warnings": [{"seq": warning.seq, "says": warning.says} for warning in verdict.warnings],
        "difference": None
        if difference is None
        else {
            "seq": difference.seq,
            "says": difference.says,
            "recorded": list(difference.recorded),
            "now": list(difference.now),
        },
    }
