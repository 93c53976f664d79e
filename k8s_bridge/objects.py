"""An API server in a dict: the store of objects of the memory and the local cluster.

Commands come in from the adapters, as plain dicts; every change goes out to watchers and listeners, and to the
`persist` hook, which may keep the objects durably. No command waits, so each is one step: no other task sees half of
it. Stored objects are never modified, only replaced: they are copied on the way in, and on the way out to single
callers. Watchers, listeners and `peek…` get the objects themselves, to read.

Deletion follows Kubernetes: an object with finalizers is only marked, and a pod is marked until the adapter that runs
it calls `terminated`, as its processes are gone; the object is removed when nothing holds it any more.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from k8s_bridge.json_data import copied, merged
from k8s_bridge.port import EVIDENCE, Change, Manifest, Ref, Verb
from k8s_bridge.stored import (
    SERVERS_OWN,
    Stored,
    checked,
    controller,
    deletion_asked_at,
    deletion_mark,
    grace_of,
    held,
    keep,
)
from k8s_bridge.timestamps import stamp
from k8s_bridge.watching import Route, Watcher, straight
from statemachine.errors import Conflict, Missing, Refused

Admit = Callable[[Manifest, Manifest | None], None]
"""Raises Refused for a manifest (and the object that it replaces, None when created) that must not be
stored."""


def _anything(_new: Manifest, _old: Manifest | None) -> None:
    """Refuses nothing."""


def _as_it_is(_new: Manifest) -> None:
    """Fills nothing in."""


def _nowhere(_stored: Stored) -> None:
    """Keeps nothing."""


class ObjectStore:
    """All objects of a cluster, by reference. With `written`, an API server's clock, managedFields have its time."""

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        new_uid: Callable[[], str],
        admit: Admit = _anything,
        prepare: Callable[[Manifest], None] = _as_it_is,
        persist: Callable[[Stored], None] = _nowhere,
        watch_limit: int = 100_000,
        written: Callable[[], datetime] | None = None,
    ) -> None:
        self._written = written
        self._clock, self._new_uid, self._persist = clock, new_uid, persist
        self._admit, self._prepare = admit, prepare
        self._watch_limit = watch_limit
        self._stored: dict[Ref, Stored] = {}
        self._owned: dict[str, dict[Ref, None]] = {}
        self._kinds: dict[str, dict[Ref, None]] = {}
        self._watchers: list[Watcher] = []
        self._listeners: list[Callable[[Change], None]] = []
        self._version = 0

    # ---- reading -------------------------------------------------------------------------------------------

    def now(self) -> datetime:
        """The time of changes made now."""
        return self._clock()

    def get(self, ref: Ref) -> Manifest:
        """A copy of the object. Raises Missing."""
        return copied(self._find(ref).object)

    def peek(self, ref: Ref) -> Manifest | None:
        """The object itself, which the caller must not modify; None if there is none."""
        stored = self._stored.get(ref)
        return stored.object if stored else None

    def all_of(self, api_version: str, kind: str, namespace: str | None = None) -> list[Manifest]:
        """Copies of all objects of a kind, by namespace and name."""
        refs = [
            ref
            for ref in self._kinds.get(kind, ())
            if ref.api_version == api_version and namespace in (None, ref.namespace)
        ]
        refs.sort(key=lambda ref: (ref.namespace, ref.name))
        return [copied(self._stored[ref].object) for ref in refs]

    def peek_children(self, namespace: str, owner: str, also: Collection[str] = ()) -> list[Manifest]:
        """The objects whose controller has the uid `owner`, in order of creation; not copied.

        It includes those with a uid in `also` that have no controller.
        """
        stored = self._stored
        owned = [stored[ref].object for ref in self._owned.get(owner, ()) if namespace in ("", ref.namespace)]
        missing = {*also}.difference(child["metadata"]["uid"] for child in owned)
        if not missing:
            return owned
        pods = self.peek_all("Pod")
        return owned + [pod for pod in pods if pod["metadata"]["uid"] in missing and not controller(pod)]

    def owners(self) -> Collection[str]:
        """The uids of all controllers of objects."""
        return self._owned.keys()

    def peek_all(self, kind: str) -> Iterator[Manifest]:
        """All objects of a kind, of any group; not copied."""
        yield from [self._stored[ref].object for ref in self._kinds.get(kind, ())]

    def peek_orphans(self, finalizer: str) -> list[Manifest]:
        """Pods that `finalizer` holds although their controller is gone, or they have none; not copied."""
        living = {stored.uid for stored in self._stored.values()}
        return [
            pod
            for pod in self.peek_all("Pod")
            if finalizer in pod["metadata"].get("finalizers", ()) and controller(pod) not in living
        ]

    # ---- writing -------------------------------------------------------------------------------------------

    def create(self, manifest: Mapping[str, Any]) -> Manifest:
        """Stores a new object. Returns a copy of it as stored. Raises Conflict (name taken), Refused."""
        new: Manifest = copied(dict(manifest))
        ref = checked(new)
        if ref in self._stored:
            raise Conflict(f'{ref.kind} "{ref.name}" already exists', exists=True)
        self._admit(new, None)
        meta = new["metadata"] = {key: value for key, value in new["metadata"].items() if value is not None}
        for key in (*SERVERS_OWN, "resourceVersion"):
            meta.pop(key, None)
        at = self._clock()
        meta.update(namespace=ref.namespace, uid=self._new_uid(), creationTimestamp=stamp(at), generation=1)
        new.pop("status", None)
        if ref.kind == "Pod":
            new["status"] = {"phase": "Pending"}
        self._prepare(new)
        self._put(ref, Stored(new), Verb.ADDED, at)
        return self.get(ref)

    def patch(self, ref: Ref, merge: Mapping[str, Any], uid: str = "") -> Manifest:
        """Merges `merge` into everything but the status. Raises Missing, Conflict (uid, version), Refused."""
        old = self._find(ref, uid)
        change = {key: value for key, value in merge.items() if key != "status"}
        new = merged(old.object, change)
        if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
            raise Refused(422, "Invalid", f"{ref.kind} {ref.name}: the result of the patch is not an object")
        self._same_version(ref, old, new)
        keep(old.object, new)
        if new == old.object:
            return copied(new)
        checked(new)
        if new.get("spec") != old.object.get("spec"):
            self._admit(new, copied(old.object))
            new["metadata"]["generation"] = old.object["metadata"].get("generation", 1) + 1
        self._replace(ref, old._replace(object=new))
        return copied(new)

    def patch_status(self, ref: Ref, uid: str, status: Mapping[str, Any], seq: int) -> None:
        """Replaces the status, unless one of a higher `seq` was written. Raises Missing (also for another uid)."""
        old = self._stored.get(ref)
        if old is None or old.uid != uid:
            raise Missing(f'{ref.kind} "{ref.name}" with uid {uid} not found')
        if seq >= old.status_seq:
            self._write_status(ref, old._replace(status_seq=seq), status)

    def set_status(self, ref: Ref, uid: str, status: Mapping[str, Any]) -> bool:
        """Replaces the status, for the adapter that runs a pod. False if the object is gone."""
        old = self._stored.get(ref)
        if old is None or old.uid != uid:
            return False
        self._write_status(ref, old, status)
        return True

    def delete(self, ref: Ref, uid: str = "", grace: float | None = None, version: str = "") -> None:
        """Begins the deletion; removes what nothing holds. Raises Missing, Conflict (uid, version).

        A second deletion can only shorten the grace period of processes.
        """
        old = self._find(ref, uid)
        meta = old.object["metadata"]
        if version and meta["resourceVersion"] != version:
            raise Conflict(f'{ref.kind} "{ref.name}" has been modified; look again')
        seconds = grace_of(old.object) if grace is None else max(0.0, grace)
        if "deletionTimestamp" not in meta:
            asked_at = self._clock()
        elif ref.kind != "Pod" or (grace is None or seconds >= meta["deletionGracePeriodSeconds"]):
            return
        else:
            asked_at = deletion_asked_at(meta)
        self._delete(ref, old, asked_at, seconds)

    def release(self, ref: Ref, uid: str) -> None:
        """Takes the evidence finalizer off. Raises Missing, Conflict (another uid)."""
        old = self._find(ref, uid)
        finalizers = old.object["metadata"].get("finalizers") or []
        if EVIDENCE in finalizers:
            remaining = [name for name in finalizers if name != EVIDENCE] or None
            self._replace(
                ref, old._replace(object=merged(old.object, {"metadata": {"finalizers": remaining}}))
            )

    def terminated(self, ref: Ref, uid: str) -> None:
        """Notes that all processes of the pod are gone; removes a deleted pod without finalizers."""
        old = self._stored.get(ref)
        if old is not None and old.uid == uid and not old.ended:
            ended = old._replace(ended=True)
            meta = old.object["metadata"]
            if held(ended):
                self._stored[ref] = ended
                # the kubelet's last step: a deletion without grace
                if meta.get("deletionGracePeriodSeconds"):
                    self._delete(ref, ended, deletion_asked_at(meta), 0)
            else:
                self._remove(ref, ended, self._clock())

    def restore(self, stored: Stored) -> None:
        """Puts back an object that was kept durably, before any watch opens."""
        ref = Ref.of(stored.object)
        self._version = max(self._version, int(stored.object["metadata"]["resourceVersion"]))
        self._index(ref, stored)

    # ---- watches -------------------------------------------------------------------------------------------

    def subscribe(self, listener: Callable[[Change], None]) -> None:
        """Calls `listener` with every change, uncopied, right after it."""
        self._listeners.append(listener)

    def watch(self, wanted: Callable[[Manifest], bool], route: Route = straight) -> Watcher:
        """A watch of all `wanted` objects that exist, then `Synced`, then every change of such objects."""
        watcher = Watcher(wanted, self._watch_limit, self._watchers.remove, route)
        self._watchers.append(watcher)
        at = self._clock()
        for stored in self._stored.values():
            watcher.offer(Change(Verb.ADDED, stored.object, at))
        watcher.synced(at)
        return watcher

    def drop_watches(self) -> None:
        """Ends every watch with Expired."""
        for watcher in list(self._watchers):
            watcher.expire()

    # ---- inside --------------------------------------------------------------------------------------------

    def _find(self, ref: Ref, uid: str = "") -> Stored:
        stored = self._stored.get(ref)
        if stored is None:
            raise Missing(f'{ref.kind} "{ref.name}" not found')
        if uid and stored.uid != uid:
            raise Conflict(f'{ref.kind} "{ref.name}": uid is {stored.uid}, not {uid}')
        return stored

    def _same_version(self, ref: Ref, old: Stored, new: Manifest) -> None:
        """Raises Conflict if a patch has another resourceVersion, which is a precondition."""
        version = old.object["metadata"]["resourceVersion"]
        if new["metadata"].get("resourceVersion", version) != version:
            raise Conflict(f'{ref.kind} "{ref.name}" has been modified; look again')

    def _write_status(self, ref: Ref, old: Stored, status: Mapping[str, Any]) -> None:
        if old.object.get("status") == status:
            if old is not self._stored[ref]:
                self._stored[ref] = old
                self._persist(old)
            return
        self._replace(ref, old._replace(object={**old.object, "status": copied(dict(status))}))

    def _replace(self, ref: Ref, new: Stored) -> None:
        at = self._clock()
        if held(new):
            self._put(ref, new, Verb.MODIFIED, at)
        else:
            self._remove(ref, new, at)

    def _put(self, ref: Ref, new: Stored, verb: Verb, at: datetime) -> None:
        new = self._versioned(new)
        self._index(ref, new)
        self._persist(new)
        self._announce(Change(verb, new.object, at))

    def _delete(self, ref: Ref, old: Stored, asked_at: datetime, grace: float) -> None:
        mark = deletion_mark(old.object, asked_at, grace)
        self._replace(ref, old._replace(object=merged(old.object, {"metadata": mark})))

    def _remove(self, ref: Ref, last: Stored, at: datetime) -> None:
        last = self._versioned(last)._replace(gone=True)
        old = self._stored.pop(ref)
        self._kinds[ref.kind].pop(ref)
        owner = controller(old.object)
        if owner in self._owned and self._owned[owner].pop(ref, True) is None and not self._owned[owner]:
            del self._owned[owner]
        self._persist(last)
        self._announce(Change(Verb.DELETED, last.object, at))

    def _versioned(self, new: Stored) -> Stored:
        self._version += 1
        meta = {**new.object["metadata"], "resourceVersion": str(self._version)}
        if self._written is not None:
            time = stamp(self._written().replace(microsecond=0))
            meta["managedFields"] = [{"manager": "server", "subresource": "status", "time": time}]
        return Stored({**new.object, "metadata": meta}, new.status_seq, new.ended, new.gone)

    def _index(self, ref: Ref, new: Stored) -> None:
        old = self._stored.get(ref)
        self._stored[ref] = new
        if old is None:
            self._kinds.setdefault(ref.kind, {})[ref] = None
        elif _owners(old) == _owners(new):
            return
        elif before := controller(old.object):
            self._owned[before].pop(ref, None)
        if owner := controller(new.object):
            self._owned.setdefault(owner, {})[ref] = None

    def _announce(self, change: Change) -> None:
        for watcher in list(self._watchers):
            watcher.offer(change)
        for listener in self._listeners:
            listener(change)


def _owners(stored: Stored) -> Any:
    return stored.object["metadata"].get("ownerReferences")
