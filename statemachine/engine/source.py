"""The source of the states of jobs in a process: its own engine, or a follower of another process's."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from statemachine.ids import JobUid
from statemachine.log.reader import Folded
from statemachine.observations import Observation

Listener = Callable[[Folded], None]


class Pulse(NamedTuple):
    """The progress of a loop: with the same `beats` and `busy` at two moments it was stuck between them.

    `beats` counts the pieces of work that ended, well or not; `busy`: one is under way.
    """

    beats: int
    busy: bool


class WorkerReport(NamedTuple):
    """The work that waits for a worker, and the results of its work since the process started."""

    partitions: int = 0
    """The partitions of the whole ledger; 0 while unknown."""
    waiting: Mapping[int, int] = {}
    """By partition that it decides, the number of observations that are not decided."""
    counts: Mapping[str, int] = {}
    """`takeovers` of partitions; observations that are `decided`, `repeats`, `letters` (dead), `strays`; and how many
    `refused_snapshots` were not used."""
    endings: Mapping[str, int] = {}
    """The number of restarts of the worker, by the name of the error."""
    taken_over_at: datetime | None = None
    """When it last took a partition over."""
    stalls: Sequence[str] = ()
    """The partitions of which it gets no records although there are more, a sentence each."""


class Worker(Protocol):
    """Decides in this process by itself: takes observations from where they were sent, and writes the log.

    `listeners` and `silent_listeners` are as in Source, for what is decided here.
    """

    listeners: list[Listener]
    silent_listeners: list[Callable[[Observation], None]]

    @property
    def log_error(self) -> str:
        """Why it cannot decide at the moment; empty while it can."""

    async def run(self) -> None:
        """Decides, for ever. Work that is cancelled is finished, or not acknowledged."""

    def pulses(self) -> dict[str, Pulse]:
        """How the loops in it are doing, by name."""

    def report(self) -> WorkerReport:
        """The present report, which needs no request to a server."""


class Source(Protocol):
    """Gives states to a process, and takes the observations of its parts.

    `listeners` are called, in log order, with every entry once it is durable and folded;
    `silent_listeners` with every observation that changed nothing, if the source knows that.
    """

    listeners: list[Listener]
    silent_listeners: list[Callable[[Observation], None]]

    @property
    def log_error(self) -> str:
        """Why the log cannot be reached at the moment; empty while it can."""

    async def observe(self, observation: Observation) -> None:
        """Sends `observation` to the engine; waits while too many are under way."""

    async def start(self) -> None:
        """The states are those at the end of the log."""

    async def run(self) -> None:
        """The states follow the log, for ever."""

    async def fresh(self, job: JobUid) -> None:
        """The state of `job` holds every entry that was in the log, or being written, at the time of the call.

        Raises LogUnavailable.
        """

    async def finish(self) -> None:
        """Waits until all observations are in the log or sent; returns at once if that is impossible now."""

    async def save(self) -> None:
        """Saves what makes the next start quick. Called when `run` has ended."""

    def pulses(self) -> dict[str, Pulse]:
        """How the loops in it are doing, by name."""
