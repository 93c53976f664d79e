"""Following jobs in-process: what happens to them goes to a screen, until all are over; and how a run ended."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from jobledger.cli.common import plural
from jobledger.cli.machine.screen import Screen, ShownJobs, Tail, elapsed
from jobledger.jobs.attempts import Attempt, pod_of
from jobledger.program.errors import UnknownReplica
from jobledger.service.app import App
from statemachine.budget import budget
from statemachine.errors import ClusterError
from statemachine.events import Announced, Event, ReplicaCreated, ReplicaStarted
from statemachine.log.reader import Folded
from statemachine.phases import Phase
from statemachine.state import JobState

_TICK: Final = 0.25
"""Seconds between two pictures, so that times go on."""

_FLUSH: Final = 2.0
"""Seconds that the last lines of ended replicas have to come in."""


class JobFollower:
    """Follows the jobs `uids`. `logs`: their lines go to the screen too."""

    def __init__(self, app: App, uids: list[str], *, logs: bool = False) -> None:
        self._app, self._uids, self._logs = app, uids, logs
        self.shown = ShownJobs(self.states)
        self._screen: Screen | None = None
        self._tails: set[asyncio.Task[None]] = set()
        self.listeners: list[Callable[[JobState, Event], None]] = []
        """Called with every event of the jobs, and the job's state behind its entry."""

    def states(self) -> list[JobState]:
        """The jobs as they stand, as far as they have been looked at."""
        states = map(self._app.state, self._uids)
        return [state for state in states if state is not None]

    @property
    def all_over(self) -> bool:
        """Every job has ended, or nothing of it is left."""
        states = self.states()
        return len(states) == len(self._uids) and all(state.is_final or state.closed for state in states)

    @property
    def all_closed(self) -> bool:
        """Nothing of any job that was deleted is left, and all others have ended."""
        return all(state.closed if state.deleted else state.is_final for state in self.states())

    @property
    def at_rest(self) -> bool:
        """No replica's process runs any more, and the pods that are to go are gone."""
        replicas = [replica for state in self.states() for replica in state.replicas.values()]
        return all((replica.ended and not replica.leaving) or not replica.has_pod for replica in replicas)

    @contextmanager
    def on(self, screen: Screen) -> Iterator[None]:
        """What happens from now on is shown on `screen`. What is there already has its tails."""
        self._screen = screen
        ticking = asyncio.create_task(self._tick(screen), name="screen")
        with self._app.feed.listening(self._note):
            for state in self.states():
                for replica in state.replicas.values():
                    if replica.uid and replica.has_pod:
                        self._tail(state, Attempt(replica.name, replica.attempt, replica.uid))
            try:
                yield
            finally:
                for task in (ticking, *self._tails):
                    task.cancel()

    async def until(self, claim: Callable[[], bool]) -> None:
        """`claim` is true."""
        with self._app.feed.changes() as changes:
            while not claim():
                await anext(changes)

    async def flush(self) -> None:
        """The last lines of replicas that have ended have come in, or are not worth waiting for."""
        if self._tails:
            await asyncio.wait(set(self._tails), timeout=_FLUSH)

    # ---- inside --------------------------------------------------------------------------------------------

    async def _tick(self, screen: Screen) -> None:
        trouble = ""
        while True:
            screen.refresh()
            controller, now = self._app.controller, asyncio.get_running_loop().time()
            trouble, before = controller.log_error or controller.ledger.room.lack(now), trouble
            if trouble != before:
                screen.note(f"waiting: {trouble}" if trouble else "the store can be written again")
            await asyncio.sleep(_TICK)

    def _note(self, folded: Folded) -> None:
        state = folded.state
        if state.uid not in self._uids:
            return
        for event in folded.entry.events:
            for listener in self.listeners:
                listener(state, event)
            self._tell(state, event)

    def _tell(self, state: JobState, event: Event) -> None:
        if self._screen is None:
            return
        match event:
            case Announced():
                self._screen.tell(state.name, event.message, warning=event.level == "Warning")
            case ReplicaStarted():
                attempt = state.replicas[event.replica].attempt
                more = f" (attempt {attempt})" if attempt > 1 else ""
                self._screen.tell(state.name, f"{event.replica} runs{more}")
            case ReplicaCreated():
                self._tail(state, Attempt(event.replica, state.replicas[event.replica].attempt, event.uid))
            case _:
                pass

    def _tail(self, state: JobState, attempt: Attempt) -> None:
        tail = self.shown.tails[state.uid, attempt.replica] = Tail()
        task = asyncio.create_task(self._read(state, attempt, tail), name=f"tail-{attempt.replica}")
        self._tails.add(task)
        task.add_done_callback(self._tails.discard)

    async def _read(self, state: JobState, attempt: Attempt, tail: Tail) -> None:
        """Every line of the attempt goes into its tail, and to the screen if that is wanted."""
        about = attempt.replica if len(self._uids) == 1 else f"{state.name}/{attempt.replica}"
        rest = b""
        try:
            pieces = await pod_of(self._app.cluster, state, attempt, "", follow=True)
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._line(about, tail, line)
        except (ClusterError, UnknownReplica):
            return  # its log is not worth more than the job
        if rest:
            self._line(about, tail, rest)

    def _line(self, about: str, tail: Tail, raw: bytes) -> None:
        line = raw.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
        if line.strip():
            tail.recent.append(line)
        if self._logs and self._screen is not None:
            self._screen.log(about, line)


def story(state: JobState, shown: ShownJobs, stopped: str) -> Iterator[str]:
    """What became of a job, and of a failed one the last lines of the replica that failed."""
    replicas = plural(state.plan.scale, "replica") if state.plan else "no replica"
    scale = f"{replicas}, {plural(budget(state).used, 'restart')}"
    match state.phase:
        case Phase.SUCCEEDED:
            yield f"{state.name} succeeded after {elapsed(state)}: {scale}."
        case Phase.FAILED:
            yield f"{state.name} failed after {elapsed(state)}: {scale}."
            yield from _reasons(state)
            yield from _last_lines(state, shown)
        case _ if state.closed:
            yield f"{state.name} was stopped ({stopped or 'deleted'}); nothing of it runs any more."
        case phase:
            yield f"{state.name} is {phase} and goes on; the next `jobledger run` or `serve` on this store adopts it."
    left = [replica.name for replica in state.replicas.values() if replica.has_pod and not replica.ended]
    if state.is_final and left:
        yield f"  still running: {', '.join(left)}, for the job's clean-up policy leaves them alone; to end them,"
        yield f"  start `jobledger serve`, then `jobledger delete {state.name}`"


def _reasons(state: JobState) -> Iterator[str]:
    for type_ in ("Failed", "ReplicaFailure"):
        condition = state.condition(type_)
        if condition is not None and condition.status == "True":
            yield f"  {condition.message}"


def _last_lines(state: JobState, shown: ShownJobs) -> Iterator[str]:
    failed = [replica.name for replica in state.replicas.values() if replica.phase.value == "Failed"]
    for name in failed[:1]:
        tail = shown.tails.get((state.uid, name))
        if tail and tail.recent:
            yield f"  Last lines of {name}:"
            yield from (f"    {line}" for line in tail.recent)


def where_to_look(state: JobState, default_namespace: str, store_flag: str) -> Iterator[str]:
    """Commands that tell more, ready to be pasted."""
    flags = store_flag if state.namespace == default_namespace else f" -n {state.namespace}{store_flag}"
    yield ""
    yield f"  what happened   jobledger history {state.name}{flags}"
    yield f"  why             jobledger why {state.name}{flags}"
    yield f"  what it wrote   jobledger logs {state.name}{flags}"
