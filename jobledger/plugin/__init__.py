"""`kubectl jobledger`: the verbs of the command line against a cluster, in the name of the user who calls kubectl.

kubectl finds `kubectl-jobledger` on the PATH. It has to answer as fast as kubectl does, so what it imports is
counted: no web server, no client library, nothing of the state machine but its errors.
"""

import re
import sys
from typing import Final

import typer

from jobledger.program.installation import guarded

PROGRAM: Final = "kubectl jobledger"

VERBS: Final = ("get", "describe", "logs", "pause", "resume", "history", "why")

_OURS: Final = re.compile(rf"`jobledger ({'|'.join(VERBS)})\b")


def build(verb: str = "") -> typer.Typer:
    """The application with `verb` alone if it is one, else with all verbs."""
    from jobledger.cli import paragraphs
    from jobledger.plugin import verbs

    app = typer.Typer(
        name=PROGRAM,
        help="What jobledger knows of the training jobs of a cluster, and pausing them.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_nothing)
    for name in [verb] if verb in VERBS else VERBS:
        function = getattr(verbs, name)
        app.command(name, help=paragraphs(function))(function)
    return app


def _nothing() -> None:
    """What jobledger knows of the training jobs of a cluster, and pausing them."""


def main() -> None:
    """The program: ends the process with the exit code of its command."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """The exit code of a command line; what went wrong has been said."""

    def work() -> int:
        from jobledger.cli import without_help
        from jobledger.program.exit_codes import ended_with

        words = without_help(arguments)
        verb = words[0] if words else ""
        return ended_with(lambda: build(verb)(words, prog_name=PROGRAM), spoken=spoken)

    return guarded(work)


def spoken(sentence: str) -> str:
    """A sentence of jobledger with the commands that it names as users of the plugin type them."""
    return _OURS.sub(rf"`{PROGRAM} \1", sentence)
