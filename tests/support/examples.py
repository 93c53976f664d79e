"""The example manifests of a kind: what is tried of every kind is tried of these."""

from pathlib import Path

from jobledger.manifests import Manifest, read
from statemachine.kind import Kind

FOLDER = Path(__file__).resolve().parents[2] / "examples"

REFUSED = "broken.yaml"
"""It is there to be refused."""


def examples_of(kind: Kind) -> list[Path]:
    """The files that hold a job of the kind."""
    paths = [path for path in sorted(FOLDER.glob("*.yaml")) if path.name != REFUSED]
    return [path for path in paths if f"kind: {kind.names.kind}\n" in path.read_text()]


def manifests_of(kind: Kind) -> tuple[Manifest, ...]:
    """All objects of the first of them."""
    path = examples_of(kind)[0]
    return read(path.read_bytes(), path.name).usable()


def job_of(kind: Kind) -> Manifest:
    """The job of the kind in it."""
    return next(manifest for manifest in manifests_of(kind) if manifest.kind == kind.names.kind)
