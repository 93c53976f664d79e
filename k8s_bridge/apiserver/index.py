"""An index of the objects that jobs own, which the watches and our own writes keep up to date.

An object takes a few hundred bytes here, not its kilobytes: the fields that `projectors.diff` compares, and those of
the report if it vanishes. Responses to our own writes enter it at once, so that a visit right after a write does not
repeat it; versions keep an older report from undoing that.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from sys import intern
from typing import Any, Final, NamedTuple

from k8s_bridge.port import Manifest
from k8s_bridge.raw import number, version_of
from statemachine.ids import ATTEMPT
from statemachine.kinds import KINDS, REPLICA_LABELS

_LABELS: Final = tuple(label for pair in REPLICA_LABELS for label in pair)
_OBSERVED: Final = {owned.kind for kind in KINDS for owned in kind.owns if owned.facts is not None}
"""Kinds whose status is observed."""

_COMPARED: Final = {owned.kind: owned.compared for kind in KINDS for owned in kind.owns if owned.compared}
"""Kinds of which a part is compared with the desired one → that part."""


@dataclass(frozen=True, slots=True)
class KnownObject:
    """An object as last observed. `owner` is the controller's reference; `grace` is None while it is not deleted."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    collection: str
    """The watch that shows it (`WatchSource.collection`); empty for an object that no watch follows."""
    owner: Mapping[str, Any] | None
    labels: tuple[str | None, ...]
    attempt: str
    finalizers: tuple[str, ...]
    deleted_at: str
    grace: int | None
    node: str
    phase: str
    compared: Mapping[str, Any] | None
    status: Mapping[str, Any] | None

    @classmethod
    def of(cls, raw: Manifest, collection: str = "", owner: Mapping[str, Any] | None = None) -> "KnownObject":
        """The kept part of `raw`, as an API server gives it; `owner` is an existing copy of its owner."""
        meta, kind = raw["metadata"], raw["kind"]
        labels, pod = meta.get("labels") or {}, kind == "Pod"
        return cls(
            intern(raw["apiVersion"]),
            intern(kind),
            intern(meta.get("namespace", "")),
            meta["name"],
            meta["uid"],
            meta.get("resourceVersion", ""),
            intern(collection),
            owner or _controller(meta),
            tuple(labels.get(label) for label in _LABELS),
            (meta.get("annotations") or {}).get(ATTEMPT, ""),
            tuple(map(intern, meta.get("finalizers") or ())),
            meta.get("deletionTimestamp", ""),
            meta.get("deletionGracePeriodSeconds", 0) if "deletionTimestamp" in meta else None,
            intern((raw.get("spec") or {}).get("nodeName", "")) if pod else "",
            intern((raw.get("status") or {}).get("phase", "")) if pod else "",
            raw.get(_COMPARED[kind]) if kind in _COMPARED else None,
            raw.get("status") if kind in _OBSERVED else None,
        )

    @property
    def version(self) -> int:
        """See `version_of`."""
        return number(self.resource_version)

    @property
    def job(self) -> str:
        """The uid of the controlling job; empty if the object has no controller."""
        return str(self.owner["uid"]) if self.owner else ""

    def manifest(self) -> Manifest:
        """The object, as far as it is known."""
        meta: Manifest = {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
            "labels": {
                key: value for key, value in zip(_LABELS, self.labels, strict=True) if value is not None
            },
            "annotations": {ATTEMPT: self.attempt} if self.attempt else {},
            "finalizers": list(self.finalizers),
            "ownerReferences": [self.owner] if self.owner else [],
        }
        if self.grace is not None:
            meta |= {"deletionTimestamp": self.deleted_at, "deletionGracePeriodSeconds": self.grace}
        manifest: Manifest = {"apiVersion": self.api_version, "kind": self.kind, "metadata": meta}
        if self.kind == "Pod":
            manifest |= {"spec": {"nodeName": self.node}, "status": {"phase": self.phase}}
        if self.compared is not None:
            manifest[_COMPARED[self.kind]] = self.compared
        if self.status is not None:
            manifest["status"] = self.status
        return manifest

    def vanished(self) -> Manifest:
        """The last form of an object whose deletion no watch showed. How a pod ended is unknown: it has no phase."""
        manifest = self.manifest()
        manifest.pop("status", None)
        return manifest


class Index:
    """Objects by uid, and by the job that owns them."""

    def __init__(self) -> None:
        self._seen: dict[str, KnownObject] = {}
        self._owned: dict[str, dict[str, None]] = {}
        self._gone: dict[str, _Gone] = {}
        """Recently deleted objects: a report from before the deletion may still come."""

    def __len__(self) -> int:
        return len(self._seen)

    def get(self, uid: str) -> KnownObject | None:
        """The object as last observed."""
        return self._seen.get(uid)

    def everything(self) -> Iterator[KnownObject]:
        """All objects, in order of appearance."""
        return iter(list(self._seen.values()))

    def owned(self, job: str, also: Iterable[str] = ()) -> list[KnownObject]:
        """The objects that the job controls, in order of appearance, and those of `also` without a controller."""
        cut_off = (self._seen[uid] for uid in also if uid in self._seen and not self._seen[uid].job)
        return [*(self._seen[uid] for uid in self._owned.get(job, ())), *cut_off]

    def owners(self) -> Collection[str]:
        """The uids of all jobs that control an object."""
        return self._owned.keys()

    def put(self, raw: Manifest, collection: str = "") -> bool:
        """Takes the object as in `raw`, unless a newer version is known. True if it was taken."""
        uid, version = raw["metadata"]["uid"], version_of(raw["metadata"])
        old = self._seen.get(uid)
        gone = self._gone.get(uid)
        if (gone is not None and gone.precedes(version)) or (old is not None and old.version >= version > 0):
            return False
        self._gone.pop(uid, None)
        known = KnownObject.of(raw, collection, self._owner(raw["metadata"]))
        if old is not None and old.job != known.job:
            self._disown(old)
        self._seen[uid] = known
        if known.job:
            self._owned.setdefault(known.job, {})[uid] = None
        return True

    def note(self, raw: Manifest, collection: str, position: int) -> bool:
        """Takes the object of a response to our own write, which may come late. True if it was taken.

        A watch has shown everything up to version `position`: an older object that is not known is gone.
        """
        meta = raw["metadata"]
        if meta["uid"] not in self._seen and version_of(meta) <= position:
            return False
        return self.put(raw, collection)

    def sight(self, raw: Manifest) -> None:
        """Takes an object that was read by name after a watch or a list showed it as gone: it was relabelled.

        The change of its labels has the version of `raw`; a deletion has a later one.
        """
        uid, version = raw["metadata"]["uid"], version_of(raw["metadata"])
        gone, before = self._gone.get(uid), self._seen.get(uid)
        if gone is not None and (gone.unreported is not None or version < gone.until < inf):
            return
        self._gone.pop(uid, None)
        self.put(raw, before.collection if before is not None else "")

    def named(self, kind: str, namespace: str, name: str) -> list[str]:
        """The uids of the objects of that name: one, or also its successor."""
        sought = (kind, namespace, name)
        return [
            uid for uid, known in self._seen.items() if (known.kind, known.namespace, known.name) == sought
        ]

    def up_to(self, collection: str, version: int) -> Iterator[str]:
        """The uids of a collection's objects of which no version newer than `version` is known.

        Two collections may hold objects of one kind and namespace, as the pods of two families of jobs. A list of one
        shows nothing of the other.
        """
        return (
            uid
            for uid, known in self._seen.items()
            if known.collection == collection and known.version <= version
        )

    def remove(self, uid: str, version: float = inf) -> KnownObject | None:
        """Drops an object that a watch or a list shows as gone. Returns it, unless that was reported before.

        A watch shows an object as gone, with a `version`, also if it lost its labels; in a later version it is back.
        """
        gone = self._gone.get(uid)
        known = self._take(uid) or (gone.unreported if gone else None)
        if known is not None:
            self._bury(uid, _Gone(version))
        return known

    def note_gone(self, uid: str) -> None:
        """Drops an object that is gone by a response to our own write, before a watch shows that."""
        if (known := self._take(uid)) is not None:
            self._bury(uid, _Gone(inf, known))

    def _owner(self, meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The controller's reference. All children of a job share one copy, or these would be half of the memory."""
        owner = _controller(meta)
        sibling = next(iter(self._owned.get(owner["uid"], ())), "") if owner else ""
        shared = self._seen[sibling].owner if sibling else None
        return shared if shared == owner else owner

    def _take(self, uid: str) -> KnownObject | None:
        known = self._seen.pop(uid, None)
        if known is not None:
            self._disown(known)
        return known

    def _bury(self, uid: str, gone: "_Gone") -> None:
        self._gone[uid] = gone
        if len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _disown(self, known: KnownObject) -> None:
        siblings = self._owned.get(known.job)
        if siblings is not None:
            siblings.pop(known.uid, None)
            if not siblings:
                del self._owned[known.job]


class _Gone(NamedTuple):
    """Reports up to version `until` are late. `unreported`: the object, until a watch shows the deletion."""

    until: float
    unreported: KnownObject | None = None

    def precedes(self, version: int) -> bool:
        """A report of `version` is from before the deletion, if versions can be compared."""
        return version <= self.until if version else self.until == inf


_REMEMBERED: Final = 10_000
"""The number of remembered deletions; reports are seconds late, not thousands of deletions."""


def _controller(meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    owners: Sequence[Mapping[str, Any]] = meta.get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)
