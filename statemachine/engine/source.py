"""Where the states of jobs come from in a process: its own engine, or a follower of somebody else's."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from statemachine.ids import JobUid
from statemachine.log.reader import Folded
from statemachine.observations import Observation

Listener = Callable[[Folded], None]


class Pulse(NamedTuple):
    """How a loop is doing: with the same `beats` and `busy` at two moments it was stuck between them.

    `beats` grows with every piece of work that is done with, well or not; `busy`: one is in hand.
    """

    beats: int
    busy: bool


class Worker(Protocol):
    """Decides in this process by itself: it takes what was sent from where it was sent to, and writes the log."""

    @property
    def log_error(self) -> str:
        """Why it cannot decide at the moment; empty while it can."""

    async def run(self) -> None:
        """Decides, for ever. What is in hand when this is cancelled is finished or not acknowledged."""

    def pulses(self) -> dict[str, Pulse]:
        """How the loops in it are doing, by name."""


class Source(Protocol):
    """Gives states to a process, and takes what its parts have noticed.

    `listeners` are called, in log order, with every entry once it is durable and folded;
    `silent_listeners` with every observation that changed nothing, where that is known.
    """

    listeners: list[Listener]
    silent_listeners: list[Callable[[Observation], None]]

    @property
    def log_error(self) -> str:
        """Why the log cannot be reached at the moment; empty while it can."""

    async def observe(self, seen: Observation) -> None:
        """`seen` is on its way to whoever decides; waits while too much is."""

    async def start(self) -> None:
        """The states are those at the end of the log."""

    async def run(self) -> None:
        """The states follow the log, for ever."""

    async def fresh(self, job: JobUid) -> None:
        """The state of `job` holds every entry that anybody knew of when this was asked.

        Raises LogUnavailable.
        """

    async def finish(self) -> None:
        """What was observed is taken care of; returns at once if that is impossible now."""

    async def save(self) -> None:
        """What makes the next start quick is saved. Called when `run` has ended."""

    def pulses(self) -> dict[str, Pulse]:
        """How the loops in it are doing, by name."""
