"""Worlds of one controller that little happens to but often, or in which more is asked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Final

from tests.simulation import chaos
from tests.simulation.chaos import Action
from tests.simulation.shapes import Shape
from tests.simulation.world import World
from tests.support.all_asked import all_asked


class ForceWorld(World):
    """Pods vanish while the log cannot be written: nothing but the log itself tells that they were there."""

    actions: ClassVar[Sequence[Action]] = (*[chaos.remove_pod] * 4, chaos.log_down, chaos.edit_spec)


class SightWorld(World):
    """Sight is lost, and regained although the clock is put back."""

    actions: ClassVar[Sequence[Action]] = (chaos.lose_sight, chaos.jump) * 3


class AskedWorld(World):
    """Decisions ask every rule: one that would not have been asked has nothing to say."""

    def _prepare(self) -> None:
        self._surprises: list[str] = []

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        """See World."""
        with all_asked() as self._surprises:
            yield

    def findings(self) -> Iterator[str]:
        """See World."""
        yield from self._surprises


_BY_TURNS: Final = (World, World, ForceWorld, SightWorld, AskedWorld)


def one_controller(seed: int, shape: Shape) -> World:
    """Worlds of one controller, by turns."""
    return _BY_TURNS[seed % len(_BY_TURNS)](seed, shape)
