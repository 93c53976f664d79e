"""`jobledger wait`, and following a job through the server's watch, with a deadline."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobledger.cli import common
from jobledger.jobs.views import phase_meant, stated_phase

if TYPE_CHECKING:
    from jobledger.client.server import Client


_SILENCE = 30.0
_IMPRECISION = 1.0
"""Seconds by which a deadline may be missed; the watch is opened again no more often than that."""


def changes(
    asked: "Client", namespace: str, name: str, deadline: float | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the watch says of jobs of this name, until `deadline` (monotonic; None: for ever).

    After those that exist comes `SYNCED`, here with their uids as the object's keys. The watch is opened
    again where it was silent, so everything may come more than once.
    """
    from jobledger.client.server import Silent

    while True:
        silence = _SILENCE if deadline is None else min(_SILENCE, deadline - time.monotonic())
        if silence <= 0:
            return
        uids: dict[str, Any] = {}
        try:
            for type_, job in asked.watch(silence=silence, namespace=namespace, name=name):
                if type_ == "SYNCED":
                    yield type_, uids
                elif job:
                    uids[job["metadata"]["uid"]] = True
                    yield type_, job
                if deadline is not None and deadline - time.monotonic() < silence - _IMPRECISION:
                    break  # once more, with as much patience as is left
        except Silent:
            continue


Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Goal:
    """What is waited for. `lasting`: it is about phase or conditions, which never change after the end."""

    text: str
    reached: Callable[[Manifest], bool]
    deletion: bool = False
    lasting: bool = False


def goal(text: str) -> Goal:
    """`condition=X`, `condition=X=False`, `phase=X`, `delete` or `jsonpath={.path}=X`.

    Raises:
        BadParameter: it is none of them.
        UnknownPhase: X is no phase of a job.
    """
    what, _, rest = text.partition("=")
    if text == "delete":
        return Goal(text, lambda _: False, deletion=True)
    if what == "phase" and rest:
        meant = _meant(rest)
        return Goal(text, lambda job: (_phase(job) or "New") == meant, lasting=True)
    if what == "condition" and rest:
        type_, _, status = rest.partition("=")
        wished = (status or "True").lower()
        return Goal(text, lambda job: _condition(job, type_).lower() == wished, lasting=True)
    if what == "jsonpath" and rest:
        return _path_goal(text, rest)
    raise typer.BadParameter(
        f'"{text}" is nothing to wait for; say condition=NAME, phase=PHASE, delete or jsonpath={{.path}}=VALUE'
    )


def _path_goal(text: str, rest: str) -> Goal:
    from jobledger.jobs.jsonpath import Path, PathInvalid

    path, _, value = rest.partition("}=") if rest.startswith("{") else rest.partition("=")
    try:
        json_path = Path.parse(path.strip("{}'\" "))
    except PathInvalid as error:
        raise typer.BadParameter(str(error)) from None
    wished = value.strip("'\"")
    if path.strip("{}'\" .") == "status.phase":
        wished = _meant(wished)
    if value:
        return Goal(text, lambda job: wished in json_path.texts(job))
    return Goal(text, lambda job: bool(json_path.texts(job)))


def _meant(said: str) -> str:
    """The phase that is meant, of those that a status can say. Raises UnknownPhase."""
    from statemachine.phases import Phase

    return phase_meant(said, [phase.value for phase in Phase])


def _phase(job: Manifest) -> str:
    return stated_phase(job)


def _condition(job: Manifest, type_: str) -> str:
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"].lower() == type_.lower():
            return str(condition["status"])
    return ""


def wait(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Names of jobs.", autocompletion=common.names_of_jobs),
    ],
    *,
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="GOAL",
            help="condition=X, condition=X=False, phase=X, delete, or jsonpath={.status.phase}=X.",
        ),
    ],
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="SPAN", help="How long, such as 90s or 10m; 0: look once.")
    ] = "30s",
    namespace: common.Namespace = None,
    store: common.Store = None,
    server: common.Server = None,
    verbose: common.Verbose = 0,
) -> None:
    """Wait until something is true of jobs; fails when time is up, or when it can never become true."""
    wished, limit = goal(for_), common.span_option("--timeout", timeout)
    settings = common.settings(store=store, server=server, namespace=namespace, verbose=verbose)
    deadline = time.monotonic() + max(limit, 0.5)
    with common.client(settings, waits=True, seconds=max(limit, 0.5)) as asked:
        if not wished.deletion:
            for name in names:
                asked.job(settings.namespace, name)  # an unknown name is said at once, and with the nearest
        for name in names:
            why = _missed(asked, settings.namespace, name, wished, deadline)
            if why:
                common.warn(f"jobledger: {name}: {why.replace('TIME', timeout)}")
                raise typer.Exit(1)
            common.say(f"{name}: {wished.text} is true")


def _missed(asked: "Client", namespace: str, name: str, wished: Goal, deadline: float) -> str:
    """Why the goal was not reached; empty if it was."""
    phase = ""
    for type_, job in changes(asked, namespace, name, deadline):
        if type_ == "SYNCED":
            if wished.deletion and not job:
                return ""
            continue
        if type_ == "DELETED":
            return "" if wished.deletion else f"it was deleted before {wished.text} was true"
        if wished.reached(job):
            return ""
        phase = _phase(job)
        if wished.lasting and phase in ("Succeeded", "Failed"):
            return f"{wished.text} will never be true: the job has ended ({phase})"
    return f"{wished.text} was not true within TIME (phase {phase or 'unknown'})"
