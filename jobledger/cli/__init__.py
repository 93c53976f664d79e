"""The command line: the verbs, listed here; whatever goes wrong ends as a sentence and an exit code."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Final

import typer

from jobledger.program.installation import guarded

GROUPS: Final = {
    "Jobs on this machine": {
        "run": "Run jobs on this machine, each replica as processes, and follow them to their end.",
        "serve": "Run jobs for as long as this program runs, and answer on a unix socket next to the store.",
    },
    "Jobs of a cluster": {
        "controller": "Run the jobs of a Kubernetes cluster.",
        "evidence": "List the pods that wait for the controller to write down how they ended, "
        "or release them.",
    },
    "Against a server": {
        "submit": "Hand jobs to a running server, with the ConfigMaps and Secrets they use.",
        "get": "List jobs, or show some by name.",
        "describe": "Show a job in full: its phase and conditions, its replicas, and what happened last.",
        "logs": "Print what a replica wrote.",
        "wait": "Wait until something is true of jobs; fails when time is up, or when it can never become true.",
        "pause": "Pause a job: its replicas end, the job stays and can be resumed.",
        "resume": "Let a paused job go on: all its replicas are started again.",
        "scale": "Ask for another number of replicas of an elastic job, within its bounds.",
        "delete": "Delete jobs: their processes end (SIGTERM, then SIGKILL), their history stays in the ledger.",
    },
    "The ledger": {
        "history": "List everything that the log holds of a job: when, what was observed, what was decided, "
        "the phase after.",
        "why": "Explain why a job is as it is: every restart, failure, pause, scale, wait and deletion, "
        "with its cause.",
        "replay": "Print the status of a job as of any moment of its life, folded from the log.",
        "log": "Copy every history from one log to another, byte for byte: from a file to Kafka or back, "
        "or between two Kafkas.",
        "topics": "Make the topics of a ledger in Kafka, with settings that lose nothing, or check those "
        "that they have.",
        "dead-letters": "List what could not be read or decided, show one of it whole, or let it be decided "
        "once more.",
        "events": "Publish what happens to jobs, as CloudEvents under a contract that stays: follow it, write it to "
        "a file, to files that grow or to a web hook, compare them with the log, print its schemas.",
    },
    "Manifests": {
        "validate": "Check manifests against every rule of their kinds; exit code 2 if anything is wrong.",
        "render": "Print the child objects of jobs as YAML, in the order in which they are created.",
        "crds": "Print the CustomResourceDefinitions as YAML, for `kubectl apply -f -`.",
    },
    "This program": {
        "config": "Show which settings hold, and where each came from: default, environment variable or flag."
    },
}
"""Every verb, by what it is about (verbs of verbs last), in a line: that with which its own help begins. The function
of the verb (or its Typer, if it has verbs of its own) has its name, and says the rest."""

_MODULES: Final = {
    **{verb: f"machine.{verb}" for verb in ("run", "serve")},
    **{verb: f"cluster.{verb}" for verb in ("controller", "evidence")},
    **{verb: f"server.{verb}" for verb in ("submit", "get", "describe", "logs", "wait")},
    **dict.fromkeys(("pause", "resume", "scale", "delete"), "server.changes"),
    **dict.fromkeys(("history", "why"), "ledger.history"),
    **dict.fromkeys(("log", "topics"), "ledger.log"),
    "replay": "ledger.replay",
    "dead-letters": "ledger.dead_letters",
    "crds": "render",
}
"""Where a verb is, if not in a module of its name beside this one."""


def build(verb: str = "") -> typer.Typer:
    """The application: with `verb` alone if it is one, else with all verbs. Imports only what it holds."""
    app = _empty()
    groups = {name: (group, says) for group, verbs in GROUPS.items() for name, says in verbs.items()}
    for command_name in [verb] if verb in groups else groups:
        group, says = groups[command_name]
        name = command_name.replace("-", "_")
        verb_of = getattr(import_module(f"jobledger.cli.{_MODULES.get(command_name, name)}"), name)
        if isinstance(verb_of, typer.Typer):
            for inner in verb_of.registered_commands:
                inner.help = paragraphs(inner.callback) if inner.callback else None
            app.add_typer(verb_of, name=command_name, rich_help_panel=group, short_help=says)
        else:
            app.command(command_name, rich_help_panel=group, help=paragraphs(verb_of), short_help=says)(
                verb_of
            )
    return app


def paragraphs(function: Callable[..., object]) -> str:
    """Its docstring, each paragraph in one line: how wide the terminal is, only the terminal knows."""
    paragraphs = (function.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def listing() -> typer.Typer:
    """The application with all verbs by name only: enough for `--help`, which should not take a second."""
    app = _empty()
    for group, verbs in GROUPS.items():
        for verb, says in verbs.items():
            app.command(verb, rich_help_panel=group, help=says)(_nothing)
    return app


def _nothing() -> None:
    """Stands for a verb that is only listed."""


def _empty() -> typer.Typer:
    app = typer.Typer(
        name="jobledger",
        help="Run distributed training jobs, and keep a ledger of everything that happens to them.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_version)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"jobledger {version('jobledger')}")
        except PackageNotFoundError:
            typer.echo("jobledger, from a checkout")
        raise typer.Exit


def _version(
    _wanted: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Run distributed training jobs, and keep a ledger of everything that happens to them."""


def main() -> None:
    """The program: ends the process with the exit code of its command."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """The exit code of a command line; what went wrong has been said."""

    def work() -> int:
        from jobledger.cli import suggestions as hints
        from jobledger.program.exit_codes import ended_with

        words = without_help(arguments)
        with hints.of(words):
            return ended_with(
                lambda: _application(words)(words, prog_name="jobledger"), spoken=hints.repeating
            )

    return guarded(work)


def without_help(arguments: list[str]) -> list[str]:
    """`help` and `help VERB` as `--help` and `VERB --help`."""
    return [*arguments[1:], "--help"] if arguments[:1] == ["help"] else arguments


def _application(arguments: list[str]) -> typer.Typer:
    """As much of it as the command line needs; without arguments the shell may be asking what there is."""
    first = arguments[0] if arguments else ""
    known = any(first in verbs for verbs in GROUPS.values())
    return build(first) if known or not arguments else listing()
