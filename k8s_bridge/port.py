"""The Cluster port: what jobledger asks of whatever runs the pods.

Adapters: `memory` (a cluster in a dict, for simulation) and `local` (pods as processes of this machine). One
test suite runs on all of them (`tests/ports/test_cluster.py`). Objects travel as plain dicts; those that `watch`
and `children` hand out may be shared, and are not to be modified.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

Manifest = dict[str, Any]
"""A Kubernetes object as plain data."""

EVIDENCE = "jobledger.dev/evidence"
"""Finalizer on pods: taken away when the pod's end is in the log (design rule 7)."""


class Ref(NamedTuple):
    """Which object is meant."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "Ref":
        """The reference to `manifest`'s object; a missing namespace is `default`."""
        meta = manifest["metadata"]
        return cls(manifest["apiVersion"], manifest["kind"], meta.get("namespace") or "default", meta["name"])

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Verb(StrEnum):
    """What happened to a watched object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(NamedTuple):
    """An object was seen to be there, to have changed, or to be gone (`object` is then its last form)."""

    verb: Verb
    object: Manifest
    at: datetime


@dataclass(frozen=True, slots=True)
class Synced:
    """Everything that exists has been reported: what was known before and not reported is gone.

    Of the kinds of jobs `withheld` nothing can be said for now. It is said again whenever one less is.
    """

    at: datetime
    withheld: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class JobEvent:
    """A Kubernetes Event on a job; `name` is deterministic, so that writing it twice is writing it once."""

    about: Ref
    uid: str
    name: str
    reason: str
    message: str
    level: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Happening:
    """An Event about an object, by whomever: it happened `count` times between two moments."""

    about: Ref
    uid: str
    reason: str
    message: str
    level: str
    first_at: datetime
    last_at: datetime
    count: int = 1
    by: str = ""


class Sight(NamedTuple):
    """What a look at one pod showed: the pod as it was `at` that moment, or None if there is none with its uid."""

    object: Manifest | None
    at: datetime


class Cluster(Protocol):
    """The objects of a cluster, and its pods' logs.

    Every method may raise ClusterUnavailable. uids are preconditions: an object of the same name with another
    uid is somebody else's.
    """

    def watch(self) -> AsyncIterator[Change | Synced]:
        """Jobs, pods and observed children: first all that exist, then `Synced`, then every change; never ends."""

    async def get(self, ref: Ref) -> Manifest:
        """The object. Raises Missing."""

    async def look(self, ref: Ref, uid: str) -> Sight:
        """The pod with this uid as it is now, whatever its labels say; while it exists, `children` knows it.

        A watch may say that a pod is gone because it does not carry the labels any more. Raises Refused.
        """

    async def list(self, api_version: str, kind: str, namespace: str | None = None) -> Sequence[Manifest]:
        """All objects of a kind, by namespace and name."""

    async def children(self, namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
        """The objects controlled by the job with uid `owner`, pods included; with an empty `namespace` in any.

        And those with a uid in `also` that nothing controls: they were the job's before somebody cut them off.
        """

    def owners(self) -> Collection[str]:
        """The uids of everything that controls an object, as far as that is known without asking."""

    async def create(self, manifest: Manifest) -> Manifest:
        """The object exists; as stored, uid and all. Raises Conflict (name taken), Refused."""

    async def patch(self, ref: Ref, merge: Mapping[str, Any], *, uid: str = "") -> Manifest:
        """`merge` (RFC 7396) was merged into the object. Raises Missing, Conflict (another uid), Refused."""

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        """`status` is the object's status, unless one of a higher `seq` was written. Raises Missing."""

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        """The object's deletion has begun, `grace` seconds at most for its processes (None: the pod's own).

        Raises Missing, Conflict (another uid, or another resourceVersion than `version`).
        """

    async def release(self, ref: Ref, uid: str) -> None:
        """The evidence finalizer is off the pod. Raises Missing, Conflict."""

    async def orphans(self) -> Sequence[Manifest]:
        """The pods with an evidence finalizer whose job does not exist (any more), or that no job controls."""

    async def emit(self, event: JobEvent) -> None:
        """The event is there; nothing happens if one of its name was."""

    async def events(self, namespace: str, job_uid: str) -> Sequence[JobEvent]:
        """The events of a job that are still kept, oldest first."""

    async def events_about(
        self, namespace: str, uids: Collection[str], names: Collection[tuple[str, str]] = ()
    ) -> Sequence[Happening]:
        """What is still kept of all that happened to these objects, whoever said it; oldest first.

        They are known by their uids, or by kind and name: then to all objects that ever had the name.
        """

    def logs(
        self,
        namespace: str,
        pod: str,
        *,
        uid: str = "",
        container: str = "",
        previous: bool = False,
        follow: bool = False,
    ) -> AsyncIterator[bytes]:
        """What the pod's container wrote, in pieces; with `follow` until it ends.

        `uid` names an earlier pod of that name; `container` defaults to the first; `previous` means its run before
        the last restart in the same pod. Raises Missing.
        """

    async def close(self) -> None:
        """Nothing of the adapter runs any more; idempotent. Pods live on."""


class LogPart(NamedTuple):
    """Bytes of a log from byte `start` on. It has `size` bytes, and gets no more if it has `ended`."""

    data: bytes
    start: int
    size: int
    ended: bool


@runtime_checkable
class ShowsLife(Protocol):
    """A cluster whose watch may be silent for hours because nothing changes: it is at work all the same."""

    def signs_of_life(self) -> object:
        """Another value whenever the open watch has got anywhere: an answer, a bookmark, a try that failed."""


@runtime_checkable
class EndsPods(Protocol):
    """A cluster whose pods can be ended when nothing can be written: a local one without room on the disk."""

    async def end_pods(self, jobs: Collection[str]) -> None:
        """No process of the pods of these jobs (uids) runs any more, and none is started until it is opened anew.

        They had their grace period. Nothing is said about it; who opens it next finds out how they ended.
        """


@runtime_checkable
class SeekableLogs(Protocol):
    """A cluster whose logs can be read at any place: those of a local one are files."""

    def log_part(
        self,
        namespace: str,
        pod: str,
        start: int,
        length: int,
        *,
        uid: str = "",
        container: str = "",
        previous: bool = False,
    ) -> LogPart:
        """Up to `length` bytes from `start` on; negative: from so many bytes before its end. Raises Missing.

        `previous`: of the container's run before the last restart in the same pod, as with `Cluster.logs`.
        It blocks as long as the disk does, and may be called from any thread.
        """


@runtime_checkable
class TailedLogs(Protocol):
    """A cluster that can begin a log at its last lines."""

    def log_tail(
        self,
        namespace: str,
        pod: str,
        lines: int,
        *,
        uid: str = "",
        container: str = "",
        previous: bool = False,
        follow: bool = False,
    ) -> AsyncIterator[bytes]:
        """The last `lines` lines, and with `follow` what is added. Raises Missing, Refused.

        `previous`: what the container wrote before it was restarted in its pod.
        """
