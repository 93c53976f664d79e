"""Which log is meant: of which replica, which of its pods, which container, now or before its last restart."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypedDict

from jobledger.console.details.subject import Subject
from jobledger.console.logs import follow, window
from jobledger.console.logs.sources import Bytes, Seekable, heard
from jobledger.jobs.attempts import Attempt, chosen
from jobledger.program.errors import NotPossible, UnknownReplica
from k8s_bridge.port import Cluster, LogPart, SeekableLogs, TailedLogs
from statemachine.kinds import kind_of

MOST: Final = 20_000
"""Lines that a window has at most, where earlier ones can only be had by asking for more."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which log is meant, as the address says it. `attempt` 0 is the newest."""

    replica: str = ""
    container: str = ""
    attempt: int = 0
    previous: bool = False
    lines: int = window.LINES


class _Which(TypedDict):
    uid: str
    container: str
    previous: bool


@dataclass(frozen=True)
class Log:
    """One container's log of one attempt: what its pod is called, and what else could be looked at.

    `restarts`: how often the container was started again in its pod, which keeps what it wrote before.
    """

    cluster: Cluster
    namespace: str
    pod: str
    attempt: Attempt
    newest: bool
    container: str
    previous: bool
    restarts: int
    containers: Sequence[str]
    attempts: Sequence[Attempt]

    @property
    def restarted(self) -> bool:
        """The container wrote another log before this one, in the same pod."""
        return self.restarts > 0

    @property
    def seekable(self) -> bool:
        """It can be read at any place."""
        return isinstance(self.cluster, SeekableLogs)

    async def source(self, lines: int) -> Bytes:
        """The log, or as much of its end as has `lines` lines. Raises Missing."""
        cluster = self.cluster
        if isinstance(cluster, SeekableLogs):
            return Seekable(partial(self._part, cluster))
        if isinstance(cluster, TailedLogs):
            return await heard(cluster.log_tail(self.namespace, self.pod, lines, **self._which()))
        return await heard(cluster.logs(self.namespace, self.pod, **self._which()))

    def _part(self, cluster: SeekableLogs, start: int, length: int) -> LogPart:
        return cluster.log_part(self.namespace, self.pod, start, length, **self._which())

    def _which(self) -> "_Which":
        return {"uid": self.attempt.uid, "container": self.container, "previous": self.previous}

    async def news(self, at: int) -> AsyncIterator[follow.News]:
        """What is added behind byte `at`; of a stream, its last lines again and what is added."""
        if self.seekable:
            return follow.added(await self.source(0), at)
        cluster, goes_on = self.cluster, not self.previous
        if isinstance(cluster, TailedLogs):
            return follow.heard_on(
                cluster.log_tail(self.namespace, self.pod, window.LINES, **self._which(), follow=goes_on)
            )
        return follow.heard_on(self.followed())

    def followed(self) -> AsyncIterator[bytes]:
        """All of it, and what is added."""
        return self.cluster.logs(self.namespace, self.pod, **self._which(), follow=not self.previous)

    def whole(self) -> AsyncIterator[bytes]:
        """All of it, as it was written."""
        return self.cluster.logs(self.namespace, self.pod, **self._which(), follow=False)


def chosen_log(cluster: Cluster, subject: Subject, known: Sequence[Attempt], choice: Choice) -> Log:
    """The log that is meant. Raises UnknownReplica, NotPossible."""
    state = subject.state
    if state is None:
        raise NotPossible(f'job "{subject.name}" has no log: nothing has been decided about it yet')
    newest = chosen(state, known, choice.replica)
    of_replica = [attempt for attempt in known if attempt.replica == newest.replica]
    meant = newest
    if choice.attempt:
        wanted = next((attempt for attempt in of_replica if attempt.number == choice.attempt), None)
        if wanted is None:
            raise UnknownReplica(f"replica {newest.replica} has no attempt {choice.attempt}")
        meant = wanted
    replica = state.replicas.get(newest.replica)
    containers = replica.containers if replica else ()
    names = [
        box.name for box in sorted(containers, key=lambda box: box.init)
    ]  # the first is the one that trains
    container = choice.container or next(iter(names), "")
    counts = [box.restarts for box in containers if box.name == container] if meant == newest else []
    return Log(
        cluster,
        subject.namespace,
        kind_of(state.api_version, state.kind).pod_name(state, newest.replica),
        meant,
        meant == newest,
        container,
        choice.previous,
        max(counts, default=0),
        names,
        of_replica,
    )
