"""The pods of a job, and what their containers write."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from jobledger.client.connection import path_of
from jobledger.jobs.views import known_kind, replicas_of, stated_phase
from jobledger.plugin.apiserver import ApiServer
from jobledger.program.errors import NotPossible, UnknownReplica, nearest
from statemachine.errors import Missing, Refused

Manifest = dict[str, Any]

_LOOK: Final = 0.5
"""Seconds between two looks at a replica that has not begun."""

_OVER: Final = ("Succeeded", "Failed")


class Pods:
    """Those that the job controls. `path` is where the job itself is."""

    def __init__(self, api: ApiServer, job: Manifest, path: str) -> None:
        self._api, self._job, self._job_path = api, job, path
        self._path = path_of("api", "v1", "namespaces", job["metadata"]["namespace"], "pods")

    @contextmanager
    def log(self, replica: str, *, container: str, previous: bool, follow: bool) -> Iterator[Iterator[bytes]]:
        """What a replica (default: the primary) writes; with `follow` until it ends, once it has begun.

        Raises:
            UnknownReplica: no such replica, container or earlier attempt.
            NotPossible: it has not begun, or its pod is gone.
        """
        pod = self._begun(replica) if follow else self._pod(replica)
        query = {"container": _container(pod, container)}
        query |= {"previous": "true"} if previous else {}
        query |= {"follow": "true"} if follow else {}
        try:
            with self._api.stream(self._path + path_of(pod["metadata"]["name"], "log"), query) as pieces:
                yield pieces
        except Missing:
            raise NotPossible(f"the pod of replica {_name(pod)} has just gone, and its log with it") from None
        except Refused as error:
            raise _no_log(pod, error, previous=previous) from None

    def _begun(self, replica: str) -> Manifest:
        """The replica's pod, once its containers run or have run. Raises what `_pod` does if the job ends before."""
        while True:
            over = self._phase() in _OVER
            try:
                pod = self._pod(replica)
            except NotPossible:
                if over:
                    raise
            else:
                if over or (pod.get("status") or {}).get("phase") != "Pending":
                    return pod
            time.sleep(_LOOK)
            self._job = self._api.get(self._job_path)

    def _pod(self, replica: str) -> Manifest:
        """The pod of a replica, or of that name."""
        pods = self._all()
        name, names = self._job["metadata"]["name"], replicas_of(self._job) or sorted(map(_name, pods))
        wanted = replica or next((_name(pod) for pod in pods if _is_primary(pod)), names[0] if names else "")
        for pod in pods:
            if wanted in (_name(pod), pod["metadata"]["name"]):
                return pod
        if not replica or replica in names:
            which = f'replica {wanted} of job "{name}"' if wanted else f'job "{name}"'
            raise NotPossible(
                f"{which} has no pod now ({self._phase()}), and where there is no pod there is no log"
            )
        near = nearest(replica, names)
        hint = f'; did you mean "{near}"?' if near else ""
        raise UnknownReplica(
            f'job "{name}" has no replica "{replica}", it has {", ".join(names) or "none"}{hint}'
        )

    def _all(self) -> list[Manifest]:
        """By the label that the kind has for it. Several jobs may have had the name, and kinds share labels."""
        uid = self._job["metadata"]["uid"]
        pods = self._api.get(self._path, {"labelSelector": self._selector()})["items"]
        return [pod for pod in pods if uid in _owners(pod)]

    def _selector(self) -> str:
        """Which labels the pods have; of a kind of a newer jobledger's that they are replicas at all."""
        from statemachine.kinds import REPLICA_LABELS

        kind = known_kind(self._job)
        return f"{kind.name_label}={self._job['metadata']['name']}" if kind else ",".join(REPLICA_LABELS[0])

    def _phase(self) -> str:
        return stated_phase(self._job) or "New"


def _name(pod: Manifest) -> str:
    from statemachine.kinds import replica_of

    return replica_of(pod["metadata"].get("labels") or {}) or "?"


def _owners(pod: Manifest) -> list[str]:
    return [reference["uid"] for reference in pod["metadata"].get("ownerReferences") or ()]


def _is_primary(pod: Manifest) -> bool:
    from statemachine.kinds import PRIMARY_LABELS

    labels = pod["metadata"].get("labels") or {}
    return any(labels.get(label) == value for label, value in PRIMARY_LABELS)


def _container(pod: Manifest, wanted: str) -> str:
    """The container that is meant: the first by default. Raises UnknownReplica."""
    spec = pod["spec"]
    names = [container["name"] for container in (*spec["containers"], *(spec.get("initContainers") or ()))]
    if wanted and wanted not in names:
        raise UnknownReplica(f'replica {_name(pod)} has no container "{wanted}", it has {", ".join(names)}')
    return str(wanted or names[0])


def _no_log(pod: Manifest, error: Refused, *, previous: bool) -> Exception:
    """Why the kubelet has no log. Its own words name containers by ids that say nothing to users."""
    if previous:
        return UnknownReplica(
            f"replica {_name(pod)} has no earlier run in its pod {pod['metadata']['name']}: only a container that "
            "was restarted in its pod has one; the log of an earlier pod went with it"
        )
    if (pod.get("status") or {}).get("phase", "Pending") == "Pending":
        return NotPossible(f"replica {_name(pod)} has no log yet: it has not been started (Pending)")
    return NotPossible(f"replica {_name(pod)} has no log: {error.message}")
