"""`jobledger crds`: the CustomResourceDefinitions, made from the models that jobledger itself reads jobs with."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from statemachine.kind import Names


def crds(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND...]",
            help="Kinds, by name, plural or short name; none: all but those that have to be switched on.",
        ),
    ] = None,
) -> None:
    """Print the CustomResourceDefinitions as YAML, for `kubectl apply -f -`."""
    from jobledger.errors import nearest
    from jobledger.manifests.text import to_yaml
    from statemachine.errors import ConfigError
    from statemachine.kinds import KNOWN, SERVED, kind_of

    served: dict[str, Names] = {}
    for names in SERVED:
        for spelling in (names.kind, names.plural, names.singular, *names.short):
            served.setdefault(
                spelling.lower(), names
            )  # an alias may be spelled like its kind but for capitals
    chosen: dict[Names, None] = {}
    usual = (each for each in SERVED if not kind_of(each.api_version, each.kind).opt_in)
    for name in kinds or [names.plural for names in usual]:
        if name.lower() not in served:
            near = nearest(name, [*KNOWN, *served])
            hint = f'; did you mean "{near}"?' if near else f"; known are {', '.join(KNOWN)}"
            raise ConfigError(f'there is no kind "{name}"{hint}')
        chosen[served[name.lower()]] = None
    typer.echo(to_yaml(kind_of(names.api_version, names.kind).crd(names) for names in chosen), nl=False)
