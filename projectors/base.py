"""What a projector is: a part that makes one view follow the log.

Two shapes. A *level* projector brings its view of one job to what the job's latest state says; it is visited
through a work queue, so a burst of entries costs one visit. A *stream* projector needs every entry once and
in order; it reads the log from its own checkpoint on.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from statemachine.events import Event
from statemachine.ids import JobUid, Seq
from statemachine.state import JobState


class Quarantine(NamedTuple):
    """A job whose history cannot be read any further: its state up to there, and why."""

    state: JobState
    why: str


class States(Protocol):
    """The latest state of every job, as folded from the log."""

    def state(self, job: JobUid) -> JobState | None:
        """The job's state; None for a job that is unknown, quarantined, or forgotten."""

    def quarantined(self, job: JobUid) -> Quarantine | None:
        """The last state of a job in quarantine, and the reason; None for any other job."""

    def is_forgotten(self, job: JobUid) -> bool:
        """The job is closed and its state is not kept: no object of it should exist."""

    def seq(self, job: JobUid) -> Seq:
        """Number of the last entry folded into the job's state."""

    async def fresh(self, job: JobUid) -> None:
        """The job's state holds every entry that was in the log at the time of the call. Raises LogUnavailable."""


class Projector(Protocol):
    """A level projector."""

    @property
    def name(self) -> str:
        """The projector's name in metrics and logs."""

    def concerns(self, events: Sequence[Event]) -> bool:
        """An entry of these events may have changed the view."""

    def is_urgent(self, events: Sequence[Event]) -> bool:
        """Whether the view has to follow at once, or may wait a moment for the entries that come next."""

    async def visit(self, job: JobUid) -> float | None:
        """The job's view is brought to what its latest state says, as far as possible.

        Returns after how many seconds the queue has to visit again without a new entry; None if it has not to.

        Raises:
            ClusterUnavailable: the queue visits again by itself, with back-off.
        """
