"""`jobledger crds`: the CustomResourceDefinitions, made from the models that jobledger itself reads jobs with."""

from typing import Annotated

import typer


def crds(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KIND...]", help="Kinds, by name, plural or short name; none: all."),
    ] = None,
) -> None:
    """Print the CustomResourceDefinitions as YAML, for `kubectl apply -f -`."""
    from jobledger.errors import nearest
    from jobledger.manifests.text import to_yaml
    from statemachine.errors import ConfigError
    from statemachine.kinds import KINDS, KNOWN

    chosen = {}
    for name in kinds or KNOWN:
        names = {
            spelling.lower(): kind
            for kind in KINDS
            for spelling in (kind.names.kind, kind.names.plural, kind.names.singular, *kind.names.short)
        }
        if name.lower() not in names:
            near = nearest(name, [*KNOWN, *names])
            hint = f'; did you mean "{near}"?' if near else f"; known are {', '.join(KNOWN)}"
            raise ConfigError(f'there is no kind "{name}"{hint}')
        kind = names[name.lower()]
        chosen[kind.names] = kind
    typer.echo(to_yaml(kind.crd() for kind in chosen.values()), nl=False)
