"""What an ObjectStore knows of one object, and what every object has. Pure."""

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
    """Something keeps the object: nobody deleted it, a finalizer, or (a pod) its processes."""
    meta = stored.object["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return True
    return stored.object["kind"] == "Pod" and not stored.ended


def controller(manifest: Manifest) -> str:
    """The uid of the object's controller; empty if it has none."""
    for each in manifest["metadata"].get("ownerReferences") or ():
        if each.get("controller"):
            return str(each.get("uid") or "")
    return ""


def grace_of(manifest: Manifest) -> float:
    """Seconds that a pod's processes have to end by themselves."""
    seconds = (manifest.get("spec") or {}).get("terminationGracePeriodSeconds")
    return float(seconds) if isinstance(seconds, int | float) else 30.0


def deletion_asked_at(meta: Mapping[str, Any]) -> datetime:
    """When somebody asked for the deletion: its timestamp is that moment and the grace period after it.

    Source: Kubernetes, ObjectMeta; an API server moves the timestamp when the period is shortened.
    """
    until = datetime.fromisoformat(meta["deletionTimestamp"])
    return until - timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)


def deletion_mark(manifest: Manifest, asked_at: datetime, grace: float) -> Manifest:
    """The metadata of an object whose deletion was asked for; only pods that still run are given time."""
    over = (manifest.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    given = 0 if manifest["kind"] != "Pod" or over else grace
    at = stamp(asked_at + timedelta(seconds=given))
    return {"deletionTimestamp": at, "deletionGracePeriodSeconds": given}


def keep(old: Manifest, new: Manifest) -> None:
    """What a patch cannot change stays as it was."""
    new["metadata"] = dict(new["metadata"])
    for key in (*SERVERS_OWN, "name", "namespace", "resourceVersion"):
        if key in old["metadata"]:
            new["metadata"][key] = old["metadata"][key]
        else:
            new["metadata"].pop(key, None)
    new["apiVersion"], new["kind"] = old["apiVersion"], old["kind"]


def checked(manifest: Manifest) -> Ref:
    """The reference to an object that has what every object needs. Raises Refused."""
    meta = manifest.get("metadata")
    fields = (manifest.get("apiVersion"), manifest.get("kind"), isinstance(meta, dict) and meta.get("name"))
    if not all(isinstance(each, str) and each for each in fields):
        raise Refused(422, "Invalid", "an object needs apiVersion, kind and metadata.name")
    return Ref.of(manifest)
