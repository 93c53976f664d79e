"""How values are spread over buckets: a histogram that costs its user a bisection and nothing else."""

from bisect import bisect_left
from collections.abc import Sequence


class Spread:
    """Counts of values up to each of `bounds` (rising), and beyond the last."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0
        """Of all values."""

    def add(self, value: float) -> None:
        """One more value; a negative one, from a clock that was set back, is taken for 0."""
        value = max(value, 0.0)
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[str, float]]:
        """How many values are at most each bound, as Prometheus wants it; the last bound is `+Inf`."""
        names = [*(str(float(bound)) for bound in self._bounds), "+Inf"]
        buckets, total = [], 0
        for name, count in zip(names, self._counts, strict=True):
            total += count
            buckets.append((name, float(total)))
        return buckets
