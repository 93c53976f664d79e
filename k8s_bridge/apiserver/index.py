"""What is known of the objects that jobs own, kept by the watches and by our own writes.

An object takes a few hundred bytes here, not the kilobytes that it has: what `projectors.diff` compares, and what
has to be said when it vanishes. Answers to our own writes go in at once, so that a visit right after one does not
write the same again; versions keep an older report from undoing that.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from sys import intern
from typing import Any, Final, NamedTuple

from k8s_bridge.port import Manifest
from statemachine.ids import ATTEMPT
from statemachine.kinds import KINDS, REPLICA_LABELS

_LABELS: Final = tuple(label for pair in REPLICA_LABELS for label in pair)
_OBSERVED: Final = {owned.kind for kind in KINDS for owned in kind.owns if owned.facts is not None}
"""Kinds whose status says something that is observed."""

_COMPARED: Final = {owned.kind: owned.compared for kind in KINDS for owned in kind.owns if owned.compared}
"""Kinds of which a part is compared with the wished one, and that part."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as last seen. `owner` is the controller's reference; `grace` is None while nobody deletes it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    collection: str
    """Which watch tells of it (`Source.collection`); empty for what no watch follows."""
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
    def of(cls, raw: Manifest, collection: str = "", owner: Mapping[str, Any] | None = None) -> "Seen":
        """What is kept of `raw`, as an API server gives it; `owner` is a copy of its owner that there is already."""
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
            tuple(labels.get(each) for each in _LABELS),
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
        """The uid of the controlling job; empty if nothing controls the object."""
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
        found: Manifest = {"apiVersion": self.api_version, "kind": self.kind, "metadata": meta}
        if self.kind == "Pod":
            found |= {"spec": {"nodeName": self.node}, "status": {"phase": self.phase}}
        if self.compared is not None:
            found[_COMPARED[self.kind]] = self.compared
        if self.status is not None:
            found["status"] = self.status
        return found

    def vanished(self) -> Manifest:
        """What is said when the object was not seen to go. How a pod ended is not known, so no phase is given."""
        found = self.manifest()
        found.pop("status", None)
        return found


class Index:
    """Objects by uid, and by the job that owns them."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._owned: dict[str, dict[str, None]] = {}
        self._gone: dict[str, _Gone] = {}
        """Recently deleted: a report from before the deletion may still come."""

    def __len__(self) -> int:
        return len(self._seen)

    def get(self, uid: str) -> Seen | None:
        """The object as last seen."""
        return self._seen.get(uid)

    def everything(self) -> Iterator[Seen]:
        """All objects, in order of appearance."""
        return iter(list(self._seen.values()))

    def owned(self, job: str, also: Iterable[str] = ()) -> list[Seen]:
        """The objects that the job controls, in order of appearance; those of `also` that nothing controls."""
        cut_off = (self._seen[uid] for uid in also if uid in self._seen and not self._seen[uid].job)
        return [*(self._seen[uid] for uid in self._owned.get(job, ())), *cut_off]

    def owners(self) -> Collection[str]:
        """The uids of all jobs that control an object."""
        return self._owned.keys()

    def put(self, raw: Manifest, collection: str = "") -> bool:
        """The object is as `raw` says, unless something newer is known. True if that is news."""
        uid, version = raw["metadata"]["uid"], version_of(raw["metadata"])
        old = self._seen.get(uid)
        gone = self._gone.get(uid)
        if (gone is not None and gone.precedes(version)) or (old is not None and old.version >= version > 0):
            return False
        self._gone.pop(uid, None)
        seen = Seen.of(raw, collection, self._owner(raw["metadata"]))
        if old is not None and old.job != seen.job:
            self._disown(old)
        self._seen[uid] = seen
        if seen.job:
            self._owned.setdefault(seen.job, {})[uid] = None
        return True

    def note(self, raw: Manifest, collection: str, position: int) -> bool:
        """The object is as an answer to our own write says, which may come late; True if that is news.

        Everything up to version `position` has been told by a watch: what is older and not known has gone since.
        """
        meta = raw["metadata"]
        if meta["uid"] not in self._seen and version_of(meta) <= position:
            return False
        return self.put(raw, collection)

    def sight(self, raw: Manifest) -> None:
        """The object exists, asked for by name after a watch or a list said that it is gone: it was relabelled.

        The change that took its labels has the version of what is there; a deletion has a later one.
        """
        uid, version = raw["metadata"]["uid"], version_of(raw["metadata"])
        gone, known = self._gone.get(uid), self._seen.get(uid)
        if gone is not None and (gone.untold is not None or version < gone.until < inf):
            return
        self._gone.pop(uid, None)
        self.put(raw, known.collection if known is not None else "")

    def named(self, kind: str, namespace: str, name: str) -> list[str]:
        """Uids of the objects of that name: one, or what came after it as well."""
        wanted = (kind, namespace, name)
        return [uid for uid, seen in self._seen.items() if (seen.kind, seen.namespace, seen.name) == wanted]

    def up_to(self, collection: str, version: int) -> Iterator[str]:
        """Uids of the objects of a collection of which nothing newer is known.

        Two collections may hold objects of one kind and namespace: the pods of two families of jobs. What a list of
        one does not show says nothing of the other.
        """
        return (
            uid
            for uid, seen in self._seen.items()
            if seen.collection == collection and seen.version <= version
        )

    def remove(self, uid: str, version: float = inf) -> Seen | None:
        """A watch or a list says that the object is gone; what was known of it, unless that was said before.

        A watch says so, with a `version`, also of what lost its labels; a later version is the object come back.
        """
        gone = self._gone.get(uid)
        seen = self._take(uid) or (gone.untold if gone else None)
        if seen is not None:
            self._bury(uid, _Gone(version))
        return seen

    def note_gone(self, uid: str) -> None:
        """The object is gone, as an answer to our own write says; that no watch has told yet."""
        if (seen := self._take(uid)) is not None:
            self._bury(uid, _Gone(inf, seen))

    def _owner(self, meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Who controls the object; all children of a job share one copy, else half of the memory were these."""
        owner = _controller(meta)
        sibling = next(iter(self._owned.get(owner["uid"], ())), "") if owner else ""
        known = self._seen[sibling].owner if sibling else None
        return known if known == owner else owner

    def _take(self, uid: str) -> Seen | None:
        seen = self._seen.pop(uid, None)
        if seen is not None:
            self._disown(seen)
        return seen

    def _bury(self, uid: str, gone: "_Gone") -> None:
        self._gone[uid] = gone
        if len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _disown(self, seen: Seen) -> None:
        siblings = self._owned.get(seen.job)
        if siblings is not None:
            siblings.pop(seen.uid, None)
            if not siblings:
                del self._owned[seen.job]


class _Gone(NamedTuple):
    """Reports up to version `until` are late. `untold`: what was known of it, as long as no watch has said so."""

    until: float
    untold: Seen | None = None

    def precedes(self, version: int) -> bool:
        """A report of `version` is from before the deletion, as far as versions can be compared."""
        return version <= self.until if version else self.until == inf


_REMEMBERED: Final = 10_000
"""Deletions that are remembered; reports are seconds late, not thousands of deletions."""


def _controller(meta: Mapping[str, Any]) -> Mapping[str, Any] | None:
    owners: Sequence[Mapping[str, Any]] = meta.get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), None)


def version_of(meta: Mapping[str, Any]) -> int:
    """The resourceVersion as a number, to tell the newer of two; 0 where a server writes what cannot be compared.

    Source: Kubernetes API concepts, "Resource versions": decimal numbers compare, anything else is only equal or not.
    """
    return number(meta.get("resourceVersion", ""))


def number(resource_version: str) -> int:
    """See `version_of`."""
    decimal = resource_version.isascii() and resource_version.isdigit()
    return int(resource_version) if decimal else 0
