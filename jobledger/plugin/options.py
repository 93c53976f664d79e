"""The options of `kubectl jobledger`: kubectl's own where it has one, and the way to the controller."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer


class Via(StrEnum):
    """Ways to the controller."""

    AUTO = "auto"
    PROXY = "proxy"
    PORT_FORWARD = "port-forward"


NAMESPACE: Final = "jobledger-system"
SERVICE: Final = "jobledger"
"""Where `deploy/` puts the controller's Service, and what it calls it."""

Kubeconfig = Annotated[
    Path | None,
    typer.Option("--kubeconfig", metavar="FILE", help="Default: those of KUBECONFIG, else ~/.kube/config."),
]
Context = Annotated[
    str, typer.Option("--context", metavar="NAME", help="Of the kubeconfig; default: the current one.")
]
Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", metavar="NAME", help="Of the job; default: that of the context."),
]

ControllerNamespace = Annotated[
    str, typer.Option("--controller-namespace", metavar="NAME", help="Where the controller is installed.")
]
ControllerService = Annotated[
    str, typer.Option("--controller-service", metavar="NAME", help="What its Service is called.")
]
ViaOption = Annotated[
    Via,
    typer.Option(
        "--via",
        metavar="proxy|port-forward",
        help="The way to the controller; default: the API server's proxy, else a port-forward.",
    ),
]
Server = Annotated[
    str,
    typer.Option("--server", metavar="URL", help="Address of the controller's HTTP API, if you have one."),
]
Token = Annotated[
    str,
    typer.Option("--token", metavar="TOKEN", help="To show to the controller; default: the kubeconfig's."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="The same from a file; `-` is standard input."),
]


@dataclass(frozen=True, slots=True)
class ControllerAddress:
    """What was said about the way to the controller."""

    namespace: str = NAMESPACE
    service: str = SERVICE
    via: Via = Via.AUTO
    server: str = ""
    token: str = ""
    token_file: Path | None = None
