"""`jobledger render`: the objects that jobledger would create, without creating any."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from jobledger.cli import common

if TYPE_CHECKING:
    from jobledger.manifests import Manifest
    from jobledger.settings.model import Settings

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

    They are what the state machine wants right after it has seen the job: a paused job has no pods.
    """
    from jobledger.manifests import load
    from jobledger.manifests.text import to_yaml
    from statemachine.errors import ConfigError

    settings = common.settings(namespace=namespace, verbose=verbose)
    if not uid or not uid.isprintable():
        raise ConfigError("--uid must be a text of printable characters")
    manifests = [each for each in load(files).usable() if each.is_job]
    objects = [child for each in manifests for child in children(each, uid, settings)]
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
        raise SpecInvalid([Problem(each.rule, "", f"{about}: {each}") for each in admission.problems])
    seen = JobObserved(
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
    new = JobState(seen.job)
    state = fold(new, decide(new, seen))
    for child in desired(state):
        built = child.build()
        built["metadata"].setdefault("namespace", state.namespace)
        yield built
