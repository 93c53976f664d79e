"""Every point at which a process can die has a name that is known, however seldom it is passed."""

import re
from inspect import getsource
from typing import Final

from tests.simulation.crash_points import BY_CHANCE, POINTS
from tests.support import api_faults, faults, faulty_store, spread

_NAMED: Final = re.compile(r'(?:_meet|_done|travel|pass_by)\("([^"]+)"\)')


def test_no_seed_can_pass_a_point_without_a_known_name() -> None:
    named = {
        name
        for module in (faults, api_faults, faulty_store, spread)
        for name in _NAMED.findall(getsource(module))
    }
    assert named - POINTS.keys() - BY_CHANCE == set()
    assert named >= BY_CHANCE
    assert POINTS.keys().isdisjoint(BY_CHANCE)
