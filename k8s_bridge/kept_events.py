"""Kubernetes Events on jobs, up to a limit."""

from collections.abc import Callable, Collection, Sequence

from k8s_bridge.port import JobEvent


class KeptEvents:
    """Events by namespace and name, of which the first stays; above `limit` the oldest are dropped."""

    def __init__(self, limit: int = 50_000, persist: Callable[[JobEvent, bool], None] | None = None) -> None:
        self._limit, self._persist = limit, persist
        self._by_name: dict[tuple[str, str], JobEvent] = {}
        self._by_job: dict[tuple[str, str], dict[str, None]] = {}

    def add(self, event: JobEvent) -> None:
        """Keeps `event`, unless one of its name is kept."""
        if self._put(event):
            self._say(event, kept=True)
            while len(self._by_name) > self._limit:
                self._say(self._drop_oldest(), kept=False)

    def restore(self, event: JobEvent) -> None:
        """Puts back an event that was kept durably."""
        self._put(event)

    def of(self, namespace: str, job_uid: str) -> Sequence[JobEvent]:
        """The events of a job, oldest first; those of one instant in the order of writing."""
        names = self._by_job.get((namespace, job_uid), ())
        return sorted((self._by_name[namespace, name] for name in names), key=lambda event: event.at)

    def named(self, namespace: str, names: Collection[tuple[str, str]]) -> set[str]:
        """The uids of objects of these kinds and names that have events."""
        if not names:
            return set()
        kept = (event for (place, _), event in self._by_name.items() if place == namespace)
        return {event.uid for event in kept if (event.about.kind, event.about.name) in names}

    def _put(self, event: JobEvent) -> bool:
        namespace = event.about.namespace
        if (namespace, event.name) in self._by_name:
            return False
        self._by_name[namespace, event.name] = event
        self._by_job.setdefault((namespace, event.uid), {})[event.name] = None
        return True

    def _drop_oldest(self) -> JobEvent:
        key = next(iter(self._by_name))
        event = self._by_name.pop(key)
        of_job = self._by_job[key[0], event.uid]
        del of_job[event.name]
        if not of_job:
            del self._by_job[key[0], event.uid]
        return event

    def _say(self, event: JobEvent, *, kept: bool) -> None:
        if self._persist is not None:
            self._persist(event, kept)
