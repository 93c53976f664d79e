"""By which names the pods of a T9k job find each other: the bare names of the pods. Source: spec R4, ADR 0031.

All pods of a job share one headless Service (`Plan.service`). In DNS a pod is
`<pod>.<service>.<namespace>.svc.<domain>`, and every pod's search list has what stands behind the first dot.

Jobs without that have a Service for each replica, called as its pod: those that were admitted before there was one
for all; those that were adopted, as nobody knows how their pods look names up; those of one machine, where each
replica needs ports of its own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from statemachine.ids import CLUSTER_DOMAIN, JobUid, short_hash
from statemachine.kinds.t9k.objects import OWNER_KIND, OWNER_NAME, Member, job_labels, member_labels, metadata
from statemachine.owned import Child, Manifest
from statemachine.schema.lookup import is_object
from statemachine.state import JobState

Ports = Callable[[], Mapping[str, int]]
"""Ports by name, when they are asked for."""

TypePorts = Callable[[str], Mapping[str, int]]
"""The ports of the replicas of a type by name, when they are asked for."""


def hashed_service(name: str, uid: JobUid) -> str:
    """`<job>-<h5>`: the Service of kinds whose pods are called `<job>-<h5>-<type>-<index>`, which it cannot be."""
    return f"{name}-{short_hash(uid)}"


def plain_service(name: str) -> str:
    """`<job>-pods`: that of the other kinds. No pod is called so: their names end in an index, or in `launcher`."""
    return f"{name}-pods"


def services(job: JobState, members: Iterable[Member], ports: Ports) -> Iterator[Child]:
    """The Service of all pods, or of each of `members` one; `ports` are those of every replica."""
    return services_by_type(job, members, lambda _type: ports())


def services_by_type(job: JobState, members: Iterable[Member], ports: TypePorts) -> Iterator[Child]:
    """The same where the types of `members` may differ in their ports."""
    if shared := job.running_plan.service:
        yield Child("v1", "Service", shared, partial(_of_all, job, tuple(members), ports))
        return
    for member in members:
        yield Child("v1", "Service", member.pod, partial(_of_one, job, member, ports))


def hosted(job: JobState, member: Member, pod_spec: Mapping[str, Any]) -> dict[str, Any]:
    """What of a pod's spec gives it its name in DNS, and lets it look up those of the others by their first label.

    Our domain comes before the template's: a wildcard in one of those would answer for pods, too.
    """
    service = job.running_plan.service
    if not service:
        return {}
    domain = f"{service}.{job.namespace}.svc.{job.settings[CLUSTER_DOMAIN]}"
    own = pod_spec.get("dnsConfig") or {}
    return {"hostname": member.pod, "subdomain": service, "dnsConfig": _searched(own, domain)}


def _searched(own: object, domain: str) -> object:
    """The template's `dnsConfig` with `domain` first in its list; what is none stays: the pod is refused for it."""
    searches = (own.get("searches") or []) if is_object(own) else None
    if not is_object(own) or not isinstance(searches, list):
        return own
    return {**own, "searches": [domain, *(other for other in searches if other != domain)]}


def _of_all(job: JobState, members: Sequence[Member], ports: TypePorts) -> Manifest:
    """Two kinds may share a job name, so both labels select."""
    labels = job_labels(job)
    both = {key: labels[key] for key in (OWNER_NAME, OWNER_KIND)}
    return headless(job, job.running_plan.service, labels, both, _listed(_united(members, ports)))


def _united(members: Sequence[Member], ports: TypePorts) -> Mapping[str, int]:
    """The ports of all types, a number once; a name that is taken has the type before it. Source: spec R4."""
    united: dict[str, int] = {}
    for type_ in dict.fromkeys(member.role for member in members):
        for name, port in ports(type_).items():
            if port not in united.values():
                united[f"{type_}-{name}" if name in united else name] = port
    return united


def _of_one(job: JobState, member: Member, ports: TypePorts) -> Manifest:
    return headless(
        job, member.pod, member_labels(job, member), selector(job, member), _listed(ports(member.role))
    )


def selector(job: JobState, member: Member) -> dict[str, str]:
    """The labels by which a replica's own Service selects its pod."""
    labels = member_labels(job, member)
    return {key: labels[key] for key in (OWNER_NAME, OWNER_KIND, "replica-type", "replica-index")}


def headless(
    job: JobState,
    name: str,
    labels: Mapping[str, str],
    selector: Mapping[str, str],
    ports: Iterable[Mapping[str, Any]],
) -> Manifest:
    """A Service without an address, which answers for pods that are not ready, too; `ports`: Kubernetes' own."""
    listed = [dict(port) for port in ports]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job, name, labels),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": dict(selector),
            **({"ports": listed} if listed else {}),
        },
    }


def _listed(ports: Mapping[str, int]) -> Iterator[Mapping[str, Any]]:
    return ({"name": name, "port": port, "targetPort": port} for name, port in ports.items())
