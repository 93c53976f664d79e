"""Names as types, and the few strings that are made from them."""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NewType, cast

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


JOB_UID: Final = "jobledger.dev/job-uid"
"""Annotation on pods that another controller makes for an object of the job's: the uid of the job."""


CLUSTER_DOMAIN: Final = "cluster.domain"
"""What a job keeps of the settings, where Services have names in DNS: the domain under which they are."""


def replica_name(type_: str, index: int) -> ReplicaName:
    """The name of the replica `index` (≥ 0) of replica type `type_`."""
    return ReplicaName(f"{type_}-{index}")


def replica_names(type_: str, scale: int) -> list[ReplicaName]:
    """The names of all replicas of a type that has `scale` of them, in order."""
    return cast("list[ReplicaName]", [f"{type_}-{index}" for index in range(scale)])


def split_replica(name: ReplicaName) -> tuple[str, int]:
    """Replica type and index of a replica name; the inverse of `replica_name`."""
    type_, _, index = name.rpartition("-")
    return type_, int(index)


def attempt_of(annotations: Mapping[str, object]) -> int | None:
    """Which attempt a pod with these annotations is. None: what they say is no number.

    A pod that another controller has made says nothing: it is the first attempt of what it is.
    """
    return whole_number(annotations[ATTEMPT]) if ATTEMPT in annotations else 1


def whole_number(value: object) -> int | None:
    """A whole number from 0 to what 64 bits hold, given as such or in decimal digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    return value if type(value) is int and 0 <= value < 1 << 63 else None


_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def is_dns_label(text: str) -> bool:
    """The text is a DNS-1123 label, as names of namespaces are. Source: Kubernetes, "Object Names and IDs"."""
    return _DNS_LABEL.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def short_hash(uid: JobUid) -> str:
    """The five hex digits that make child names unique among jobs of one name. Source: spec R3, `<h5>`."""
    return hashlib.sha256(uid.encode()).hexdigest()[:5]
