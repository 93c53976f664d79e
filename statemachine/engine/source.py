"""Where the states of jobs come from in a process: its own engine, or a follower of somebody else's."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
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


class Report(NamedTuple):
    """What a worker has in hand, and what has become of its work since the process started."""

    partitions: int = 0
    """Of the whole ledger; 0 while that is not known."""
    waiting: Mapping[int, int] = {}
    """By partition that it decides, how many observations are there and not decided."""
    counts: Mapping[str, int] = {}
    """`takeovers` of partitions; observations that are `decided`, `repeats`, `letters` (dead), `strays`; and how many
    `refused_snapshots` were not used."""
    endings: Mapping[str, int] = {}
    """How often it had to begin anew, by the name of the error."""
    taken_over_at: datetime | None = None
    """When it last took a partition over."""
    stalls: Sequence[str] = ()
    """The partitions that it gets nothing of though there is more, a sentence each."""


class Worker(Protocol):
    """Decides in this process by itself: it takes what was sent from where it was sent to, and writes the log.

    `listeners` and `silent_listeners` are those of Source, for what is decided here.
    """

    listeners: list[Listener]
    silent_listeners: list[Callable[[Observation], None]]

    @property
    def log_error(self) -> str:
        """Why it cannot decide at the moment; empty while it can."""

    async def run(self) -> None:
        """Decides, for ever. What is in hand when this is cancelled is finished or not acknowledged."""

    def pulses(self) -> dict[str, Pulse]:
        """How the loops in it are doing, by name."""

    def report(self) -> Report:
        """How it stands now. Nobody is asked for that."""


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
        """The state of `job` holds every entry that anybody knew of, or was writing, when this was asked.

        Raises LogUnavailable.
        """

    async def finish(self) -> None:
        """What was observed is taken care of; returns at once if that is impossible now."""

    async def save(self) -> None:
        """What makes the next start quick is saved. Called when `run` has ended."""

    def pulses(self) -> dict[str, Pulse]:
        """How the loops in it are doing, by name."""
