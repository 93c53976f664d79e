"""Names as types, and the few strings that are made from them."""

import hashlib
from functools import lru_cache
from typing import Final, NewType

JobUid = NewType("JobUid", str)
"""`metadata.uid` of the job object: the key of everything; a name used again is another job."""

PodUid = NewType("PodUid", str)
"""`metadata.uid` of one pod; empty while no pod of the attempt has been observed."""

ReplicaName = NewType("ReplicaName", str)
"""`<type>-<index>`, for example `worker-1`: a replica for the whole life of its job."""

Seq = int
"""Number of an entry in its job's stream: 1, 2, 3 … without holes; 0 stands before the first."""

Position = int
"""Place of an entry in the whole log, growing; holes are allowed. 0 stands before the first."""


ATTEMPT: Final = "jobledger.dev/attempt"
"""Annotation on pods: the number of the attempt that the pod is (ADR 0003)."""


def replica_name(type_: str, index: int) -> ReplicaName:
    """The name of the replica `index` (≥ 0) of replica type `type_`."""
    return ReplicaName(f"{type_}-{index}")


def split_replica(name: ReplicaName) -> tuple[str, int]:
    """Replica type and index of a replica name; the inverse of `replica_name`."""
    type_, _, index = name.rpartition("-")
    return type_, int(index)


@lru_cache(maxsize=1024)
def short_hash(uid: JobUid) -> str:
    """The five hex digits that make child names unique among jobs of one name. Source: spec R3, `<h5>`."""
    return hashlib.sha256(uid.encode()).hexdigest()[:5]
