"""What the memory and the local cluster have in common: the Cluster port over an ObjectStore."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from k8s_bridge.kept_events import KeptEvents
from k8s_bridge.objects import ObjectStore
from k8s_bridge.port import EVIDENCE, Change, Happening, JobEvent, Manifest, Ref, Sight, Synced
from k8s_bridge.watching import is_watched


class StoredCluster:
    """The objects half of the port.

    A subclass adds pods, logs, `close`, and says when a write is done.
    """

    objects: ObjectStore
    kept_events: KeptEvents

    async def _before(self, verb: str, ref: Ref) -> None:
        """Called before a call is answered; may raise ClusterUnavailable or Refused, or take time."""

    async def _after(self, verb: str, ref: Ref) -> None:
        """Called after a write; returns when it is durable."""

    def watch(self) -> AsyncIterator[Change | Synced]:
        """Jobs, pods and observed children: all that exist, `Synced`, then every change."""
        return self.objects.watch(is_watched)

    async def get(self, ref: Ref) -> Manifest:
        """The object. Raises Missing."""
        await self._before("get", ref)
        return self.objects.get(ref)

    async def look(self, ref: Ref, uid: str) -> Sight:
        """The pod with this uid as it is now."""
        await self._before("get", ref)
        pod = self.objects.peek(ref)
        return Sight(pod if pod and pod["metadata"]["uid"] == uid else None, self.objects.now())

    async def list(self, api_version: str, kind: str, namespace: str | None = None) -> Sequence[Manifest]:
        """All objects of a kind, by namespace and name."""
        await self._before("list", Ref(api_version, kind, namespace or "", ""))
        return self.objects.all_of(api_version, kind, namespace)

    async def children(self, namespace: str, owner: str, also: Collection[str] = ()) -> Sequence[Manifest]:
        """The objects controlled by the job with uid `owner`, in order of creation. See the port for `also`."""
        await self._before("children", Ref("", "", namespace, ""))
        return self.objects.peek_children(namespace, owner, also)

    def owners(self) -> Collection[str]:
        """See the port."""
        return self.objects.owners()

    async def create(self, manifest: Manifest) -> Manifest:
        """The object exists; as stored. Raises Conflict (name taken), Refused."""
        ref = _ref(manifest)
        await self._before("create", ref)
        stored = self.objects.create(manifest)
        await self._after("create", ref)
        return stored

    async def patch(self, ref: Ref, merge: Mapping[str, Any], *, uid: str = "") -> Manifest:
        """`merge` was merged into the object. Raises Missing, Conflict (another uid), Refused."""
        await self._before("patch", ref)
        stored = self.objects.patch(ref, merge, uid)
        await self._after("patch", ref)
        return stored

    async def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        """`status` is the object's, unless one of a higher `seq` was written. Raises Missing."""
        await self._before("patch_status", ref)
        self.objects.patch_status(ref, uid, status, seq)
        await self._after("patch_status", ref)

    async def delete(self, ref: Ref, *, uid: str = "", version: str = "", grace: float | None = None) -> None:
        """The deletion has begun. Raises Missing, Conflict (another uid or version)."""
        await self._before("delete", ref)
        self.objects.delete(ref, uid, grace, version)
        await self._after("delete", ref)

    async def orphans(self) -> Sequence[Manifest]:
        """The pods with an evidence finalizer whose job does not exist, or that no job controls."""
        await self._before("orphans", Ref("v1", "Pod", "", ""))
        return self.objects.peek_orphans(EVIDENCE)

    async def release(self, ref: Ref, uid: str) -> None:
        """The evidence finalizer is off the pod. Raises Missing, Conflict."""
        await self._before("release", ref)
        self.objects.release(ref, uid)
        await self._after("release", ref)

    async def emit(self, event: JobEvent) -> None:
        """The event is there; nothing happens if one of its name was."""
        await self._before("emit", event.about)
        self.kept_events.add(event)
        await self._after("emit", event.about)

    async def events(self, namespace: str, job_uid: str) -> Sequence[JobEvent]:
        """The events of a job that are still kept, oldest first."""
        await self._before("events", Ref("", "", namespace, ""))
        return self.kept_events.of(namespace, job_uid)

    async def events_about(
        self, namespace: str, uids: Collection[str], names: Collection[tuple[str, str]] = ()
    ) -> Sequence[Happening]:
        """All that happened to these objects, oldest first. See the port."""
        await self._before("events", Ref("", "", namespace, ""))
        about = {*uids, *self.kept_events.named(namespace, names)}
        events = [event for uid in about for event in self.kept_events.of(namespace, uid)]
        events.sort(key=lambda event: event.at)
        return [
            Happening(
                event.about,
                event.uid,
                event.reason,
                event.message,
                event.level,
                event.at,
                event.at,
                by="jobledger",
            )
            for event in events
        ]


def _ref(manifest: Manifest) -> Ref:
    """The reference in `manifest`, which the store checks."""
    meta = manifest.get("metadata") or {}
    kind, name = manifest.get("kind"), meta.get("name")
    namespace = meta.get("namespace") or "default"
    return Ref(str(manifest.get("apiVersion")), str(kind), str(namespace), str(name))
