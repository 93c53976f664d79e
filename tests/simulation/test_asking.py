"""Rules that a decision does not ask would have said nothing, whatever happens."""

from collections.abc import Sequence
from typing import Final

from tests.simulation.beam_shapes import BEAM
from tests.simulation.deepspeed_shapes import DEEPSPEED
from tests.simulation.families import family_seeds, simulate_all
from tests.simulation.generic_shapes import GENERIC
from tests.simulation.launcher_shapes import LAUNCHER
from tests.simulation.shapes import PYTORCH
from tests.simulation.tensorflow_shapes import TENSORFLOW
from tests.simulation.torch_shapes import TORCH
from tests.simulation.xgboost_shapes import XGBOOST
from tests.support.all_asked import all_asked

_SHAPES: Final = (PYTORCH, TORCH, GENERIC, LAUNCHER, DEEPSPEED, XGBOOST, TENSORFLOW, BEAM)


@family_seeds
def test_who_is_not_asked_has_nothing_to_say(seeds: Sequence[int]) -> None:
    with all_asked() as surprises:
        simulate_all(seeds, shapes=_SHAPES)
    assert surprises == []
