"""The options of `jobledger controller`, those that switch on opt-in kinds among them."""

import inspect
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from jobledger.cli.cluster.kind_options import KIND_OPTIONS

Kubeconfig = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig", metavar="FILE", help="Which cluster; default: in a pod its own, elsewhere kubectl's."
    ),
]
Context = Annotated[str | None, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig.")]
Log = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="URL",
        help="The event log: sqlite:///PATH or kafka://HOST:PORT,…; default: the store.",
    ),
]
Namespaces = Annotated[
    str | None, typer.Option("--namespaces", metavar="A,B", help="Only jobs in these; default: in all.")
]
Roles = Annotated[
    str | None,
    typer.Option(
        "--roles",
        metavar="ROLE,ROLE",
        help="Some of bridge, engine, projectors, front; default: all in this process.",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Address for HTTP; default :8080, on 127.0.0.1 or in a pod on all.",
    ),
]
LeaderElect = Annotated[
    bool | None,
    typer.Option(
        "--leader-elect/--no-leader-elect",
        help="Work only while holding the lease jobledger-bridge; default: in a pod.",
        show_default=False,
    ),
]
LeaseNamespace = Annotated[
    str | None,
    typer.Option("--lease-namespace", metavar="NAME", help="Where the lease is; default: our own."),
]
Evidence = Annotated[
    bool | None,
    typer.Option(
        "--evidence/--no-evidence",
        help="Keep pods until their end is in the log; default: yes.",
        show_default=False,
    ),
]

Verb = TypeVar("Verb", bound=Callable[..., None])


def with_switches(verb: Verb) -> Verb:
    """The verb, which takes `**switches`, with an option for each opt-in kind behind `--namespaces`.

    A switch has the name of the kind's settings: its plural. None: the option is not on the command line.
    """
    signature = inspect.signature(verb)
    parameters = [option for option in signature.parameters.values() if option.kind is not option.VAR_KEYWORD]
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
