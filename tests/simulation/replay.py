"""A run that was printed as a list of steps and faults, played again."""

from collections.abc import Callable, Sequence
from typing import Final

from tests.simulation.beam_shapes import BEAM
from tests.simulation.deepspeed_shapes import DEEPSPEED
from tests.simulation.generic_shapes import GENERIC
from tests.simulation.launcher_shapes import LAUNCHER
from tests.simulation.mpi_shapes import MPI
from tests.simulation.run import simulate
from tests.simulation.shapes import PYTORCH, Shape
from tests.simulation.steps import Part, Script
from tests.simulation.tensorflow_shapes import TENSORFLOW
from tests.simulation.torch_shapes import TORCH
from tests.simulation.world import World
from tests.simulation.xgboost_shapes import XGBOOST

SHAPES: Final = {
    shape.kinds[0]: shape
    for shape in (PYTORCH, LAUNCHER, MPI, DEEPSPEED, TORCH, GENERIC, XGBOOST, TENSORFLOW, BEAM)
}
"""Jobs of the simulation, by kind."""


def replay(
    *,
    seed: int,
    kind: str,
    slow: float,
    calm_at: float,
    parts: Sequence[Part],
    make: Callable[[int, Shape], World] = World,
) -> World:
    """The world of a seed after its end, to which just this was done.

    Raises:
        Failed: something that must hold did not.
    """
    return simulate(seed, SHAPES[kind], make, script=Script(tuple(parts), slow, calm_at))
