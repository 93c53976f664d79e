"""Jobs of several kinds in one world, as a cluster has them. See `shapes` for one kind."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from k8s_bridge.port import Manifest
from tests.simulation.beam_shapes import BEAM
from tests.simulation.deepspeed_shapes import DEEPSPEED
from tests.simulation.generic_shapes import GENERIC
from tests.simulation.launcher_shapes import LAUNCHER
from tests.simulation.mpi_shapes import MPI
from tests.simulation.shapes import PYTORCH, Script, Shape, Spec
from tests.simulation.tensorflow_shapes import TENSORFLOW
from tests.simulation.torch_shapes import TORCH
from tests.simulation.xgboost_shapes import XGBOOST
from tests.support.memory_cluster import MemoryCluster
from tests.support.sim_pods import SimStep

_ALL: Final = (PYTORCH, TORCH, LAUNCHER, DEEPSPEED, GENERIC, MPI, TENSORFLOW, BEAM, XGBOOST)
SHAPES: Final = {kind: shape for shape in _ALL for kind in shape.kinds}
"""Jobs of the simulation, by kind."""

_BESIDE: Final = (0, 0, 1, 2, len(_ALL) - 1)
"""How many other kinds there are: each of these is as likely."""


def jobs_of(seed: int) -> Shape:
    """The jobs of a world: most are of the kind whose turn it is, and others of other kinds, or of all."""
    chance, most = Random(f"{seed} kinds"), _ALL[seed % len(_ALL)]
    others = [shape for shape in _ALL if shape is not most]
    return together(most, *chance.sample(others, chance.choice(_BESIDE)))


def together(most: Shape, *others: Shape) -> Shape:
    """Half of all new jobs, and some more, are like `most`; all that acts beside any of them is in the cluster."""
    if not others:
        return most
    shapes = (most, *others)
    of = {kind: shape for shape in shapes for kind in shape.kinds}

    def manifest(chance: Random, name: str) -> Manifest:
        shape = most if chance.random() < 0.5 else chance.choice(shapes)
        return shape.manifest(chance, name)

    def edit(chance: Random, job: Manifest) -> Spec:
        return of[job["kind"]].edit(chance, job)

    def fates(seed: int, failing: float) -> Script:
        return _Fates(shapes, seed, failing)

    def beside(cluster: MemoryCluster) -> None:
        for shape in shapes:
            if shape.beside is not None:
                shape.beside(cluster)

    def settings(seed: int) -> Mapping[str, str]:
        return {name: value for shape in shapes for name, value in shape.settings(seed).items()}

    points = {point: share for shape in shapes for point, share in shape.points.items()}
    return Shape(tuple(of), manifest, edit, fates, beside=beside, settings=settings, points=points)


class _Fates:
    """A pod fares as those of jobs of its kind do; one without a controller as those of most."""

    def __init__(self, shapes: Sequence[Shape], seed: int, failing: float) -> None:
        scripts = [shape.fates(seed, failing) for shape in shapes]
        self._usual = scripts[0]
        self._of = {
            kind: script
            for shape, script in zip(shapes, scripts, strict=True)
            for kind in (*shape.kinds, *shape.helpers)
        }

    def script(self, pod: Manifest) -> Sequence[SimStep]:
        """What this pod does, and when."""
        owners = pod["metadata"].get("ownerReferences") or ()
        kind = next((owner["kind"] for owner in owners if owner.get("controller")), "")
        return self._of.get(kind, self._usual).script(pod)
