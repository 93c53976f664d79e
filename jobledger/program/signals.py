"""Being asked to end: Ctrl-C, SIGTERM, a closed terminal."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from jobledger.program.exit_codes import INTERRUPTED, TERMINATED

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndSignals:
    """How often, and by which signal first, this process was asked to end."""

    def __init__(self) -> None:
        self.times = 0
        self.first: signal.Signals | None = None
        self._changed = asyncio.Event()

    def note(self, number: signal.Signals) -> None:
        """It was asked once more."""
        self.times += 1
        self.first = self.first or number
        self._changed.set()

    async def at_least(self, times: int) -> None:
        """It has been asked so often."""
        while self.times < times:
            self._changed.clear()
            await self._changed.wait()

    @property
    def exit_code(self) -> int:
        """What the command ends with because of that."""
        return INTERRUPTED if self.first is signal.SIGINT else TERMINATED


@contextmanager
def listening() -> Iterator[EndSignals]:
    """Signals are counted and do nothing else; one that was ignored from the start (nohup) stays so."""
    loop, asked = asyncio.get_running_loop(), EndSignals()
    ours = [
        signal_number for signal_number in _SIGNALS if signal.getsignal(signal_number) is not signal.SIG_IGN
    ]
    for signal_number in ours:
        loop.add_signal_handler(signal_number, asked.note, signal_number)
    try:
        yield asked
    finally:
        for signal_number in ours:
            loop.remove_signal_handler(signal_number)
