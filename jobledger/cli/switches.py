"""The options that switch on opt-in kinds: one for each, generated from what the kind declares."""

import inspect
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from jobledger.cli.kind_options import KIND_OPTIONS

Verb = TypeVar("Verb", bound=Callable[..., None])


def with_switches(verb: Verb) -> Verb:
    """The verb, which takes `**switches`, with an option for each opt-in kind behind `--namespaces`.

    A switch has the name of the kind's settings: its plural. None: the option is not on the command line.
    """
    signature = inspect.signature(verb)
    parameters = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    behind = 1 + list(signature.parameters).index("namespaces")
    parameters[behind:behind] = (
        inspect.Parameter(
            plural,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                typer.Option(f"--{plural}", metavar="A,B", help=about),
            ],
        )
        for plural, about in KIND_OPTIONS.items()
    )
    verb.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return verb
