"""How long to wait before a failed operation is tried again; `rules.backoff` has the back-off of replicas."""

from collections.abc import Callable


def backoff(
    failures: int, *, first: float = 0.2, most: float = 30.0, chance: Callable[[], float] = lambda: 1.0
) -> float:
    """Seconds to wait after `failures` (≥ 1) in a row: doubling from `first` to `most`, half of it random.

    `chance` gives numbers in [0, 1); by default it is constant. The spread keeps many clients of one server
    from coming back at once.
    """
    whole = min(most, first * 2.0 ** min(failures - 1, 30))
    return whole * (0.5 + 0.5 * chance())
