"""What `run` shows while jobs run: a live table in a terminal, plain lines everywhere else."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from jobledger.cli.common import span
from statemachine.budget import budget
from statemachine.redact import redacted_text
from statemachine.state import JobState, ReplicaState

_COLOURS: Final = {
    "Running": "cyan",
    "Succeeded": "green",
    "Failed": "red",
    "Unknown": "yellow",
    "Deleted": "dim",
}

_BESIDE: Final = 4
"""Lines of the terminal that the table leaves free."""

_ECHO: Final = 3
"""Columns that it leaves free."""


@dataclass(slots=True)
class Tail:
    """The end of what a replica's newest attempt wrote."""

    recent: deque[str] = field(default_factory=lambda: deque(maxlen=8))

    @property
    def last(self) -> str:
        """Its last line; empty before the first."""
        return self.recent[-1] if self.recent else ""


@dataclass(slots=True)
class ShownJobs:
    """What there is to see: the states of the followed jobs, and the tails by job and replica."""

    states: Callable[[], list[JobState]]
    tails: dict[tuple[str, str], Tail] = field(default_factory=dict)


class Screen(Protocol):
    """Where `run` shows things."""

    def tell(self, about: str, text: str, *, warning: bool = False) -> None:
        """Something happened to a job or replica."""

    def note(self, text: str) -> None:
        """Something that the user has to know now."""

    def log(self, about: str, line: str) -> None:
        """A replica wrote a line, and the user wants to see it."""

    def refresh(self) -> None:
        """States or tails have changed."""


class PlainScreen:
    """A line for everything that happens."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def tell(self, about: str, text: str, *, warning: bool = False) -> None:
        """See Screen."""
        text = redacted_text(text)
        at = datetime.now(UTC).astimezone().strftime("%H:%M:%S")
        line = Text.assemble((at, "dim"), "  ", (about, "bold"), "  ", (text, "yellow" if warning else ""))
        self._console.print(line, soft_wrap=not self._console.is_terminal)

    def note(self, text: str) -> None:
        """See Screen."""
        self._console.print(Text(redacted_text(text), style="bold"), soft_wrap=not self._console.is_terminal)

    def log(self, about: str, line: str) -> None:
        """See Screen."""
        self._console.print(Text.assemble((f"[{about}] ", "dim"), Text.from_ansi(line)), soft_wrap=True)

    def refresh(self) -> None:
        """See Screen. There is nothing to refresh."""


class LiveScreen(PlainScreen):
    """A table that is drawn again and again; above it only what is worth keeping in sight."""

    def __init__(self, console: Console, live: Live, shown: ShownJobs, *, everything: bool) -> None:
        super().__init__(console)
        self._live, self._shown, self._everything = live, shown, everything

    def tell(self, about: str, text: str, *, warning: bool = False) -> None:
        """See Screen."""
        if warning or self._everything:
            super().tell(about, text, warning=warning)

    def refresh(self) -> None:
        """See Screen."""
        self._live.update(picture(self._shown, self._console.width, self._console.height), refresh=True)


@contextmanager
def screen(console: Console, shown: ShownJobs, *, everything: bool) -> Iterator[Screen]:
    """The screen for this terminal, or for what takes its place."""
    if not console.is_terminal:
        yield PlainScreen(console)
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        live_screen = LiveScreen(console, live, shown, everything=everything)
        try:
            yield live_screen
        finally:
            live_screen.refresh()


# ---- the picture -------------------------------------------------------------------------------------------


def picture(shown: ShownJobs, width: int, height: int) -> RenderableType:
    """Every job with a line for each replica, as many as fit in a terminal of this size.

    The last columns stay free: a terminal echoes `^C` where the cursor is, and must not begin a new line for
    it, or the next picture would be drawn one line too low.
    """
    states, width = shown.states(), max(20, width - _ECHO)
    room = max(3, (height - _BESIDE) // max(1, len(states)) - 2)
    parts: list[RenderableType] = []
    for state in states:
        parts += [_title(state, width), _replicas(state, shown, width, room)]
    return Group(*parts)


def _title(state: JobState, width: int) -> Text:
    phase = "Deleting" if state.deleted and not state.closed else "Deleted" if state.deleted else state.phase
    title = Text.assemble(
        (state.name or "…", "bold"),
        "  ",
        (phase, _COLOURS.get(phase, "")),
        f"  {elapsed(state)}  restarts {budget(state)}",
    )
    title.truncate(width, overflow="ellipsis")
    return title


def elapsed(state: JobState) -> str:
    """How long the job has run, or ran."""
    since = state.started_at or state.created_at
    if since is None:
        return "0s"
    return span(((state.completed_at or datetime.now(UTC)) - since).total_seconds())


def _replicas(state: JobState, shown: ShownJobs, width: int, room: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", width=width)
    table.add_column("REPLICA", no_wrap=True)
    table.add_column("PHASE", no_wrap=True)
    table.add_column("TRY", no_wrap=True, justify="right")
    table.add_column("LAST LINE", no_wrap=True, overflow="ellipsis", ratio=1)
    replicas = list(state.members)
    for replica in replicas[:room]:
        tail = shown.tails.get((state.uid, replica.name))
        table.add_row(*_row(replica, tail.last if tail else ""))
    if len(replicas) > room:
        table.add_row(f"… {len(replicas) - room} more")
    return table


def _row(replica: ReplicaState, last: str) -> tuple[RenderableType, ...]:
    phase = replica.phase.value
    line = Text.from_ansi(last.expandtabs(4), no_wrap=True, overflow="ellipsis")
    return replica.name, Text(phase, style=_COLOURS.get(phase, "")), str(replica.attempt or ""), line
