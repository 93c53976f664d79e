"""A failing seed made short: the fewest steps and faults with which the same invariant fails, as a test to paste.

The parts of the recorded script are left out by halves, then by quarters and so on (ddmin), as long as what is left
still fails by the same invariant. A script fails the same way each time, so what is printed fails again.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tests.simulation.run import Failed, simulate
from tests.simulation.steps import Part, Script, Step
from tests.simulation.world import Broken, World
from tests.support.fate import Fault

SECONDS: Final = 60.0
"""Of processor time: for so long a script is made shorter, and what has been reached by then is good enough."""


def failing(error: BaseException) -> frozenset[str]:
    """The invariants that an error of a simulation names."""
    lines = [line.partition(": ")[0] for line in str(error).partition("\n\n")[0].splitlines()[1:]]
    return frozenset(line for line in lines if line.isidentifier()) or frozenset({type(error).__name__})


class Shrinking:
    """Plays parts of a script of one seed; `wanted`: the invariants of which one has to fail."""

    def __init__(self, world: World, wanted: frozenset[str], seconds: float = SECONDS) -> None:
        self._seed, self._shape, self._make, self._wanted = world.seed, world.shape, type(world), wanted
        self._until = time.process_time() + seconds
        self.plays = 0

    def shortest(self, script: Script) -> Script | None:
        """The script without what is not needed; None if it does not fail when it is played whole."""
        if not self._fails(script):
            return None
        script = self._by_halves(script)
        return self._calm_early(script)

    def _by_halves(self, script: Script) -> Script:
        """ddmin: complements of ever smaller pieces, until no single part can be left out."""
        parts, pieces = list(script.parts), 2
        while len(parts) > 1 and time.process_time() < self._until:
            size = -(-len(parts) // pieces)
            for start in range(0, len(parts), size):
                rest = parts[:start] + parts[start + size :]
                if self._fails(replace(script, parts=tuple(rest))):
                    parts, pieces = rest, max(pieces - 1, 2)
                    break
            else:
                if size == 1:
                    break
                pieces = min(len(parts), pieces * 2)
        return replace(script, parts=tuple(parts))

    def _calm_early(self, script: Script) -> Script:
        """It becomes calm right after the last step, if that does."""
        last = max((step.at for step in script.steps), default=0.0)
        early = replace(script, calm_at=last + 1.0)
        return early if early.calm_at < script.calm_at and self._fails(early) else script

    def _fails(self, script: Script) -> bool:
        if time.process_time() > self._until:
            return False
        self.plays += 1
        try:
            simulate(self._seed, self._shape, self._make, script=script)
        except Broken as error:
            return bool(failing(error) & self._wanted)
        return False


def shrunk(error: Failed, seconds: float = SECONDS) -> str:
    """What a failing seed comes to: a test that can be pasted, or why there is none."""
    world = error.world
    whole = world.diary.script(world)
    shrinking = Shrinking(world, failing(error), seconds)
    short = shrinking.shortest(whole)
    if short is None:
        return "its steps alone do not fail: what happens to it hangs on something else than steps and faults"
    said = f"{len(whole.parts)} steps and faults were made {len(short.parts)} in {shrinking.plays} runs:"
    return f"{said}\n\n{as_test(world, short, failing(error))}"


def as_test(world: World, script: Script, wanted: frozenset[str]) -> str:
    """The source of a test that plays the script."""
    seed, kinds, make = world.seed, world.shape.kinds, type(world)
    return "\n".join(
        [
            f"def test_seed_{seed}_of_{'_and_'.join(kinds).lower()}_is_repaired() -> None:",
            f'    """Failed by {", ".join(sorted(wanted))}."""',
            "    replay(",
            f"        seed={seed},",
            f"        kinds={_list(kinds)},",
            f"        slow={script.slow!r},",
            f"        calm_at={script.calm_at!r},",
            *([] if make is World else [f"        make={make.__name__},"]),
            "        parts=[",
            *[f"            {_source(part)}," for part in _ordered(script.parts)],
            "        ],",
            "    )",
        ]
    )


def _list(kinds: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{kind}"' for kind in kinds) + "]"


def _ordered(parts: Sequence[Part]) -> list[Part]:
    steps = sorted(part for part in parts if isinstance(part, Step))
    return [*steps, *sorted(part for part in parts if isinstance(part, Fault))]


def _source(part: Part) -> str:
    if isinstance(part, Step):
        return f'Step({part.at!r}, "{part.name}", {part.seed})'
    return f'Fault("{part.name}", {part.nth})'
