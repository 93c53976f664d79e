"""The Cluster port: what jobledger asks of the cluster that runs the pods.

Adapters: `apiserver` (Kubernetes), `local` (pods as processes of this machine) and `memory` (a cluster in a dict, for
simulation). One test suite runs on all of them (`tests/ports/test_cluster.py`). Objects are plain dicts; those that
`watch` and `children` return may be shared, and must not be modified.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

Manifest = dict[str, Any]
"""A Kubernetes object as plain data."""

EVIDENCE = "jobledger.dev/evidence"
"""Finalizer on pods, which the controller removes when the pod's end is in the log (design rule 7)."""


class Ref(NamedTuple):
    """A reference to an object."""

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
    """A watch shows that an object exists, has changed, or is gone (`object` is then its last form)."""

    verb: Verb
    object: Manifest
    at: datetime


@dataclass(frozen=True, slots=True)
class Synced:
    """Everything that exists has been reported: objects known before and not reported are gone.

    Kinds of jobs in `withheld` cannot be listed for now. Another `Synced` follows whenever one of them can.
    """

    at: datetime
    withheld: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class JobEvent:
    """A Kubernetes Event on a job; `name` is deterministic, so that a second write changes nothing."""

    about: Ref
    uid: str
    name: str
    reason: str
    message: str
    level: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Happening:
    """An Event about an object, of any author: it happened `count` times between two moments."""

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
    """The result of a look at one pod: the pod as it was `at` that moment, or None without one of its uid."""

    object: Manifest | None
    at: datetime


class Cluster(Protocol):
    """The objects of a cluster, and its pods' logs.

    Every method may raise ClusterUnavailable. uids are preconditions: an object of the same name and another
    uid is another object.
    """

    def watch(self) -> AsyncIterator[Change | Synced]:
        """Jobs, pods and observed children: first all that exist, then `Synced`, then every change; never ends."""

    async def get(self, ref: Ref) -> Manifest:
        """The object. Raises Missing."""

    async def look(self, ref: Ref, uid: str) -> Sight:
        """The pod with this uid as it is now, with any labels; while it exists, `children` knows it.

        A watch may report a pod as gone because it has lost its labels. Raises Refused.
        """

    async def list(self, api_version: str, kind: str, namespace: str | None = None) -> Sequence[Manifest]:
        """All objects of a kind, by namespace and name."""

    async def children(self, namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
        """The objects controlled by the job with uid `owner`, pods included; with an empty `namespace` in any.

        It includes those with a uid in `also` that have no controller: a user may have removed their owner.
        """

    def owners(self) -> Collection[str]:
        """The uids of all controllers of objects, as far as known without a request."""

    async def create(self, manifest: Manifest) -> Manifest:
        """Creates the object. Returns it as stored. Raises Conflict (name taken), Refused."""

    async def patch(self, ref: Ref, merge: Mapping[str, Any], *, uid: str = "") -> Manifest:
        """Merges `merge` (RFC 7396) into the object. Raises Missing, Conflict (another uid), Refused."""

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        """Writes `status` to the object, unless one of a higher `seq` was written. Raises Missing."""

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        """Begins the object's deletion, with at most `grace` seconds for its processes (None: the pod's own).

        Raises Missing, Conflict (another uid, or another resourceVersion than `version`).
        """

    async def release(self, ref: Ref, uid: str) -> None:
        """Takes the evidence finalizer off the pod. Raises Missing, Conflict."""

    async def orphans(self) -> Sequence[Manifest]:
        """The pods with an evidence finalizer whose job does not exist (any more), or that no job controls."""

    async def emit(self, event: JobEvent) -> None:
        """Writes the event, unless there is one of its name."""

    async def events(self, namespace: str, job_uid: str) -> Sequence[JobEvent]:
        """The events of a job that are still kept, oldest first."""

    async def events_about(
        self, namespace: str, uids: Collection[str], names: Collection[tuple[str, str]] = ()
    ) -> Sequence[Happening]:
        """The Events about these objects that are still kept, of any author; oldest first.

        The objects are given by uid, or by kind and name: then all objects that ever had the name.
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
        """The log of the pod's container, in pieces; with `follow` until it ends.

        `uid` selects an earlier pod of that name; `container` defaults to the first; `previous` is its run before
        the last restart in the same pod. Raises Missing.
        """

    async def close(self) -> None:
        """Ends the adapter's tasks; idempotent. Pods live on."""


class LogPart(NamedTuple):
    """Bytes of a log from byte `start` on. It has `size` bytes, and gets no more if it has `ended`."""

    data: bytes
    start: int
    size: int
    ended: bool


@runtime_checkable
class ShowsLife(Protocol):
    """A cluster that shows signs of life, as its watch may be silent for hours while nothing changes."""

    def signs_of_life(self) -> object:
        """A value that changes with every progress of the open watch: a response, a bookmark, a failed try."""


@runtime_checkable
class EndsPods(Protocol):
    """A cluster whose pods can be ended when the store cannot be written: a local one on a full disk."""

    async def end_pods(self, jobs: Collection[str]) -> None:
        """Ends all processes of the pods of these jobs (uids), and starts none until the cluster is opened anew.

        They get their grace period. The cluster records nothing now; the next one that opens it observes the ends.
        """


@runtime_checkable
class SeekableLogs(Protocol):
    """A cluster whose logs can be read from any byte: those of a local one are files."""

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

        `previous`: the container's run before the last restart in the same pod, as with `Cluster.logs`.
        It blocks on the disk, and may be called from any thread.
        """


@runtime_checkable
class TailedLogs(Protocol):
    """A cluster that can start a log at its last lines."""

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
