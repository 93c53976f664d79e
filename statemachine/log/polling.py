"""How often to look for what nobody tells: another process has written something."""

from typing import Final

_SHORTEST: Final = 0.01
_LONGEST: Final = 0.05
_GROWTH: Final = 1.2


class Polling:
    """Seconds to wait between looks: few while there is news, for that comes in bursts, more when it is quiet."""

    def __init__(self) -> None:
        self._wait = _SHORTEST

    def after(self, *, news: bool) -> float:
        """Seconds to the next look, after one that found `news` or did not."""
        self._wait = _SHORTEST if news else min(_LONGEST, self._wait * _GROWTH)
        return self._wait
