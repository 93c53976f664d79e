"""Jobs as a log alone tells of them: what `get` and `describe` show where no server answers.

The same manifests as a server's, with what the log does not hold left out: annotations, and whatever happened that
nobody has written down yet.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from jobledger.jobs.views import event_of, in_quarantine, is_gone, is_in, recorded
from jobledger.lives.lookup import Known
from jobledger.program.errors import UnknownJob, several
from k8s_bridge.selectors import Selector
from statemachine.log.port import ReadableLog
from statemachine.redact import redacted

Manifest = dict[str, Any]


class StoredJobs:
    """The jobs in `known`, which are in the order of their creation."""

    def __init__(self, known: Sequence[Known]) -> None:
        self._known = [job for job in known if job.name]
        self.unreadable = [job for job in known if not job.name]
        """Those of which not even the first entry can be read: their uids and the reasons are all that is known."""

    def jobs(
        self, *, namespace: str | None = None, phase: str = "", selector: str = "", gone: bool = False
    ) -> list[Manifest]:
        """Jobs by namespace and name; with `gone` also deleted ones, oldest first, behind the others."""
        wanted = Selector.of(selector)
        manifests = [
            _manifest(job)
            for job in self._known
            if namespace in (None, job.namespace) and (gone or not job.state.closed)
        ]
        here = [job for job in manifests if not is_gone(job)]
        here.sort(key=lambda job: (job["metadata"]["namespace"], job["metadata"]["name"], job["kind"]))
        manifests = [*here, *(job for job in manifests if is_gone(job))]
        return [job for job in manifests if wanted.selects(job["metadata"]) and is_in(job, phase)]

    def job(self, namespace: str, name: str, *, kind: str = "", uid: str = "") -> Manifest:
        """The job of that name which is there now, or whose pods still end; by uid also one that is gone.

        Raises:
            UnknownJob: there is none.
            NotPossible: jobs of several kinds have the name.
        """
        named = [job for job in self._named(namespace, name, _objects(kind)) if uid in ("", job.uid)]
        there = named if uid else [job for job in named if not job.state.closed]
        living = {job.state.object_kind: job for job in there if not job.state.deleted}
        if len(living) > 1:
            raise several(name, list(living))
        if there:
            return _manifest(next(iter(living.values()), there[-1]))
        if named:
            more = f" any more: it was deleted; `jobledger history {name}` still tells its life"
            raise UnknownJob(namespace, name, more=more)
        raise UnknownJob(namespace, name, sorted(self._names(namespace)))

    def _named(self, namespace: str, name: str, kinds: Collection[str] | None) -> Iterator[Known]:
        for job in self._known:
            named = (job.namespace, job.name) == (namespace, name)
            if named and (kinds is None or job.state.object_kind in kinds):
                yield job

    def _names(self, namespace: str) -> set[str]:
        return {job.name for job in self._known if job.namespace == namespace and not job.state.closed}


def _objects(kind: str) -> Collection[str] | None:
    """The kinds of job objects that are meant; None for all of them."""
    if not kind:
        return None
    from statemachine.kinds import meant_by

    return {meant.kind for meant in meant_by(kind)}


def _manifest(known: Known) -> Manifest:
    job = recorded(known.state)
    shown: Manifest = redacted(in_quarantine(job, known.doubt) if known.doubt else job)
    return shown


async def events_of(log: ReadableLog, job: Manifest) -> list[dict[str, Any]]:
    """The Events that the entries of `job` announce, oldest first, as the API says them."""
    from k8s_bridge.port import Ref
    from projectors.kube_events import announced

    meta = job["metadata"]
    about = Ref(job["apiVersion"], job["kind"], meta["namespace"], meta["name"])
    events: dict[str, dict[str, Any]] = {}
    async for records in log.scan(job=meta["uid"]):
        for record in records:
            events.update((event.name, event_of(event)) for event in announced(record, about))
    return list(events.values())
