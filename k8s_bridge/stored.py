"""An object in an ObjectStore, and the fields of every object. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from k8s_bridge.port import Manifest, Ref
from k8s_bridge.timestamps import stamp
from statemachine.errors import Refused

SERVERS_OWN = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


class Stored(NamedTuple):
    """An object, and what is known of it beside itself.

    `status_seq`: that of the last status written. `ended`: a pod whose processes are gone. `gone`: removed.
    """

    object: Manifest
    status_seq: int = 0
    ended: bool = False
    gone: bool = False

    @property
    def uid(self) -> str:
        """`metadata.uid`."""
        uid: str = self.object["metadata"]["uid"]
        return uid


def held(stored: Stored) -> bool:
    """The object stays: it was not deleted, or has a finalizer, or (a pod) its processes run."""
    meta = stored.object["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return True
    return stored.object["kind"] == "Pod" and not stored.ended


def controller(manifest: Manifest) -> str:
    """The uid of the object's controller; empty if it has none."""
    for owner in manifest["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner.get("uid") or "")
    return ""


def grace_of(manifest: Manifest) -> float:
    """Seconds in which a pod's processes may end by themselves."""
    seconds = (manifest.get("spec") or {}).get("terminationGracePeriodSeconds")
    return float(seconds) if isinstance(seconds, int | float) else 30.0


def deletion_asked_at(meta: Mapping[str, Any]) -> datetime:
    """When the deletion was asked for: its timestamp is that moment plus the grace period.

    Source: Kubernetes, ObjectMeta; an API server moves the timestamp when the period is shortened.
    """
    until = datetime.fromisoformat(meta["deletionTimestamp"])
    return until - timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)


def deletion_mark(manifest: Manifest, asked_at: datetime, grace: float) -> Manifest:
    """The metadata of an object in deletion; only pods that still run get a grace period."""
    over = (manifest.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    seconds = 0 if manifest["kind"] != "Pod" or over else grace
    at = stamp(asked_at + timedelta(seconds=seconds))
    return {"deletionTimestamp": at, "deletionGracePeriodSeconds": seconds}


def keep(old: Manifest, new: Manifest) -> None:
    """Restores the fields that a patch cannot change."""
    new["metadata"] = dict(new["metadata"])
    for key in (*SERVERS_OWN, "name", "namespace", "resourceVersion"):
        if key in old["metadata"]:
            new["metadata"][key] = old["metadata"][key]
        else:
            new["metadata"].pop(key, None)
    new["apiVersion"], new["kind"] = old["apiVersion"], old["kind"]


def checked(manifest: Manifest) -> Ref:
    """The reference to an object. Raises Refused if it lacks a field that every object needs."""
    meta = manifest.get("metadata")
    fields = (manifest.get("apiVersion"), manifest.get("kind"), isinstance(meta, dict) and meta.get("name"))
    if not all(isinstance(value, str) and value for value in fields):
        raise Refused(422, "Invalid", "an object needs apiVersion, kind and metadata.name")
    return Ref.of(manifest)
