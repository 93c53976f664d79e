"""A run that was printed as a list of steps and faults, played again."""

from collections.abc import Callable, Sequence

from tests.simulation.run import simulate
from tests.simulation.shapes import Shape
from tests.simulation.steps import Part, Script
from tests.simulation.together import SHAPES, together
from tests.simulation.world import World


def replay(
    *,
    seed: int,
    kinds: Sequence[str],
    slow: float,
    calm_at: float,
    parts: Sequence[Part],
    make: Callable[[int, Shape], World] = World,
) -> World:
    """The world of a seed after its end, with jobs of these kinds, to which just this was done.

    Raises:
        Failed: something that must hold did not.
    """
    shapes = {SHAPES[kind].kinds: SHAPES[kind] for kind in kinds}
    return simulate(seed, together(*shapes.values()), make, script=Script(tuple(parts), slow, calm_at))
