"""The options that switch on opt-in kinds: one for each, made from what the kind declares."""

import inspect
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

Verb = TypeVar("Verb", bound=Callable[..., None])


def with_switches(verb: Verb) -> Verb:
    """The verb, which takes `**switches`, with an option for each opt-in kind behind `--namespaces`.

    A switch has the name of the kind's settings: its plural. None: the option is not on the command line.
    """
    from jobledger.settings import explained
    from statemachine.kinds import OPT_IN

    signature = inspect.signature(verb)
    parameters = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    behind = 1 + list(signature.parameters).index("namespaces")
    parameters[behind:behind] = (
        inspect.Parameter(
            kind.names.plural,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                typer.Option(
                    f"--{kind.names.plural}",
                    metavar="A,B",
                    help=explained(f"{kind.names.plural}.namespaces"),
                ),
            ],
        )
        for kind, _ in OPT_IN
    )
    verb.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return verb
