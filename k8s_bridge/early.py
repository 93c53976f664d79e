"""Changes of pods whose jobs the log may get, and does not have yet.

Labels say whose replica a pod is, and anybody may edit them before the first report. Only what the log has of the job
says whether the pod's name is that replica's. A bridge that runs apart from the engine reads the log behind it: until
the first entry of the job is read, the last change of each of its pods waits here.
"""

import logging
from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from k8s_bridge.attended import Attended
from k8s_bridge.context import LogContext
from k8s_bridge.observe import controller_of, is_controlled, owner_of
from k8s_bridge.port import Change, Manifest, Ref, Verb
from statemachine.ids import JobUid
from statemachine.kinds import UnknownKind, kind_of

_log = logging.getLogger(__name__)

MOST: Final = 5000
"""The most changes that wait. A pod of a watch takes some 4 KiB of memory, one of a list with all its fields 30."""


class Entered(NamedTuple):
    """The log has a job: the `changes` of its pods, which waited, in the order in which the pods were shown.

    `is_complete`: no change of a pod of the job was left out because too many were waiting.
    """

    changes: Sequence[Change]
    is_complete: bool


class EarlyPods:
    """The last change of each pod of jobs that the `log` awaits; at most `MOST`.

    The jobs are those that are `attended`. `reported` has the uids of jobs and pods of which something was reported.
    """

    def __init__(self, log: LogContext, attended: Attended, reported: Container[str]) -> None:
        self._log, self._attended, self._reported = log, attended, reported
        self._pods: dict[str, tuple[JobUid, Change]] = {}
        self._of_job: dict[JobUid, dict[str, None]] = {}  # uids in order
        self._crowded_out: set[JobUid] = set()
        self._has_grown = False

    def __len__(self) -> int:
        return len(self._pods)

    def __bool__(self) -> bool:
        """Some job is waited for."""
        return bool(self._of_job or self._crowded_out)

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    @property
    def jobs(self) -> Sequence[JobUid]:
        """The jobs of which pods wait."""
        return tuple(self._of_job)

    def job_of(self, uid: str) -> JobUid:
        """The job of the pod; empty if it does not wait."""
        return self._pods[uid][0] if uid in self._pods else JobUid("")

    def as_gone(self, uid: str, at: datetime) -> Change:
        """The change of a pod that waits, and is gone."""
        return Change(Verb.DELETED, self._pods[uid][1].object, at)

    def keeps(self, change: Change, uid: str) -> bool:
        """The pod waits until the log has its job: nothing was reported of it, and nothing is to be now.

        One that lost its owner meanwhile waits as it was. One that is gone waits only if its job was reported.
        """
        if not uid or uid in self._reported:
            return False
        if uid in self._pods and not is_controlled(change.object):
            change = Change(change.verb, self._pods[uid][1].object, change.at)
        job = owner_of(change.object)
        if not (job and self._log.awaits(job) and self._is_attended(change.object)):
            self.drop(uid)
            return False
        if change.verb is Verb.DELETED and job not in self._reported:
            self.drop(uid)
        else:
            self._add(uid, job, change)
        return True

    def _is_attended(self, pod: Manifest) -> bool:
        """The pod's job is reported once it is shown."""
        job, namespace = controller_of(pod["metadata"]) or {}, pod["metadata"].get("namespace")
        api_version, kind = str(job.get("apiVersion")), str(job.get("kind"))
        try:
            kind_of(api_version, kind)
        except UnknownKind:
            return False
        return self._attended.covers(api_version, kind, str(namespace or "default"))

    def _add(self, uid: str, job: JobUid, change: Change) -> None:
        if uid not in self._pods and len(self._pods) >= MOST:
            if not self._crowded_out:
                fields = {"action": "pods-crowded-out", "job": job, "most": MOST}
                _log.warning(
                    "too many pods wait until the log has their jobs, more will be listed again", extra=fields
                )
            self._crowded_out.add(job)
            return
        self._pods[uid] = job, change
        self._of_job.setdefault(job, {})[uid] = None

    def missed(self, listed: Container[str], *, is_whole: bool) -> Iterator[tuple[str, Ref]]:
        """The uids and places of pods that wait, that are not known to be gone, and that a list does not show.

        A pod of a job that was not reported waits no more, if the list `is_whole`: it shows jobs of every kind.
        """
        for uid, (job, change) in list(self._pods.items()):
            if uid in listed:
                continue
            if job not in self._reported and is_whole:
                self.drop(uid)
            elif change.verb is not Verb.DELETED:
                yield uid, Ref.of(change.object)

    def drop(self, uid: str) -> None:
        """The pod does not wait any more."""
        pod = self._pods.pop(uid, None)
        if pod is None:
            return
        job, _ = pod
        uids = self._of_job[job]
        del uids[uid]
        if not uids:
            del self._of_job[job]

    def drop_job(self, job: JobUid) -> None:
        """No pod of the job waits any more."""
        self._crowded_out.discard(job)
        for uid in self._of_job.pop(job, {}):
            del self._pods[uid]

    def list_begins(self) -> None:
        """Every pod that exists will be shown: none of them is left out any more."""
        self._crowded_out.clear()

    def log_grew(self) -> None:
        """The log may have a job that is waited for."""
        self._has_grown = True

    def take(self) -> Entered | None:
        """The pods of a job that the log has; they do not wait any more. None if it has none."""
        if not self._has_grown:
            return None
        for job in [*self._of_job, *self._crowded_out]:
            if not self._log.awaits(job):
                changes = [self._pods[uid][1] for uid in self._of_job.get(job, ())]
                entered = Entered(changes, job not in self._crowded_out)
                self.drop_job(job)
                return entered
        self._has_grown = False
        return None
