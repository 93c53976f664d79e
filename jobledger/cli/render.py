"""`jobledger render`, the objects that jobledger would create, and `jobledger crds`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from jobledger.cli import common

if TYPE_CHECKING:
    from jobledger.manifests import Manifest
    from jobledger.settings.model import Settings
    from statemachine.kind import Names
    from statemachine.observations import PodObserved
    from statemachine.owned import Child
    from statemachine.state import JobState


EXAMPLE_UID: Final = "00000000-0000-0000-0000-000000000001"
"""The uid of the examples in the documentation. Source: spec R19."""

_NO_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""No object depends on when its job is seen."""


def render(
    files: common.Files,
    uid: Annotated[
        str, typer.Option("--uid", metavar="UID", help="uid of the jobs; parts of names are made from it.")
    ] = EXAMPLE_UID,
    namespace: common.Namespace = None,
    verbose: common.Verbose = 0,
) -> None:
    """Print the child objects of jobs as YAML, in the order in which they are created.

    What waits until pods of the job run follows as if they did. A paused job has no pods.
    """
    from jobledger.manifests import load
    from jobledger.manifests.text import to_yaml
    from statemachine.errors import ConfigError

    settings = common.settings(namespace=namespace, verbose=verbose)
    if not uid or not uid.isprintable():
        raise ConfigError("--uid must be a text of printable characters")
    manifests = [manifest for manifest in load(files).usable() if manifest.is_job]
    objects = [child for manifest in manifests for child in children(manifest, uid, settings)]
    typer.echo(to_yaml(objects), nl=False)
    if not objects:
        common.warn("jobledger: no objects are made of this")


def children(manifest: "Manifest", uid: str, settings: "Settings") -> Iterator[dict[str, Any]]:
    """The child objects of a new job on a cluster, in creation order.

    Raises:
        SpecInvalid: the job breaks rules; each problem says which manifest is meant.
    """
    from statemachine.decide import decide
    from statemachine.desired import desired
    from statemachine.errors import Problem, SpecInvalid
    from statemachine.evolve import fold
    from statemachine.ids import JobUid
    from statemachine.kinds import kind_of
    from statemachine.observations import JobObserved
    from statemachine.state import JobState

    raw = manifest.raw
    admission = kind_of(raw["apiVersion"], manifest.kind).admit(manifest.name, manifest.spec)
    if admission.problems:
        about = f"{manifest.source}: {manifest.kind} {manifest.name}"
        raise SpecInvalid(
            [Problem(problem.rule, "", f"{about}: {problem}") for problem in admission.problems]
        )
    observation = JobObserved(
        job=JobUid(uid),
        at=_NO_TIME,
        api_version=raw["apiVersion"],
        kind=manifest.kind,
        namespace=raw["metadata"].get("namespace") or settings.namespace,
        name=manifest.name,
        generation=1,
        spec=raw["spec"],
        settings=settings.cluster.of_jobs(),
    )
    new = JobState(observation.job)
    state = fold(new, decide(new, observation))
    made: set[tuple[str, str, str]] = set()
    while new_ones := [child for child in desired(state) if child[:3] not in made]:
        for child in new_ones:
            built = child.build()
            built["metadata"].setdefault("namespace", state.namespace)
            yield built
        made.update(child[:3] for child in new_ones)
        for child in new_ones:
            if child.replica:
                state = fold(state, decide(state, _running(state, child)))


def _running(state: "JobState", pod: "Child") -> "PodObserved":
    """A pod that was just made runs, and is ready."""
    from statemachine.ids import PodUid
    from statemachine.observations import PodObserved, PodPhase

    return PodObserved(
        job=state.uid,
        at=_NO_TIME,
        replica=pod.replica,
        attempt=pod.attempt,
        pod=pod.name,
        uid=PodUid(f"{pod.replica}-{pod.attempt}"),
        phase=PodPhase.RUNNING,
        ready=True,
    )


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
    from jobledger.manifests.text import to_yaml
    from jobledger.program.errors import nearest
    from statemachine.errors import ConfigError
    from statemachine.kinds import KNOWN, SERVED, kind_of

    served: dict[str, Names] = {}
    for names in SERVED:
        for spelling in (names.kind, names.plural, names.singular, *names.short):
            served.setdefault(
                spelling.lower(), names
            )  # an alias may be spelled like its kind but for capitals
    chosen: dict[Names, None] = {}
    usual = (names for names in SERVED if not kind_of(names.api_version, names.kind).opt_in)
    for name in kinds or [names.plural for names in usual]:
        if name.lower() not in served:
            near = nearest(name, [*KNOWN, *served])
            hint = f'; did you mean "{near}"?' if near else f"; known are {', '.join(KNOWN)}"
            raise ConfigError(f'there is no kind "{name}"{hint}')
        chosen[served[name.lower()]] = None
    typer.echo(to_yaml(kind_of(names.api_version, names.kind).crd(names) for names in chosen), nl=False)
