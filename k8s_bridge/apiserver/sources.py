"""Which collections are followed: the job kinds, and their children by label."""

from collections.abc import Iterator
from typing import Final

from k8s_bridge.apiserver.paths import collection
from k8s_bridge.apiserver.reflector import Source
from k8s_bridge.attended import Attended
from statemachine.kind import Kind, Owned

_PODS: Final = Owned("v1", "Pod", "pods", optional=False)
_SERVICES: Final = Owned("v1", "Service", "services", optional=False)

_BARE: Final = frozenset({"Service"})
"""Of these only metadata are asked for."""

_WORKLOADS: Final = Owned("kueue.x-k8s.io/v1beta2", "Workload", "workloads")
"""Kueue makes them; jobs own them."""

_OF_JOBS: Final = "kueue.x-k8s.io/job-uid"
"""Label of every Workload that is not of plain pods. Source: Kueue, pkg/controller/constants."""

UNWATCHED: Final = frozenset({"Secret"})
"""Children that are known only from our own reads and writes, and of which only the metadata is read.

Whoever may watch Secrets may read all of them; whoever may get one has to know its name (ADR 0013).
"""


def job_sources(attended: Attended) -> Iterator[Source]:
    """The collections of jobs that are looked after."""
    for kind in attended.kinds():
        for names in (kind.names, *kind.aliases):
            for namespace in attended.places(kind):
                path = collection(names.api_version, names.plural, namespace)
                yield Source(names.api_version, names.kind, path, namespace=namespace or "", separate=True)


def workload_sources(attended: Attended) -> Iterator[Source]:
    """The collections that say how jobs stand in Kueue's queues, where that is asked for."""
    if not attended.kueue:
        return
    places = dict.fromkeys(each for kind in attended.kinds() for each in attended.places(kind))
    for namespace in (None,) if None in places else places:
        path = collection(_WORKLOADS.api_version, _WORKLOADS.plural, namespace)
        yield Source(
            _WORKLOADS.api_version,
            _WORKLOADS.kind,
            path,
            _OF_JOBS,
            optional=True,
            namespace=namespace or "",
            separate=True,
        )


def child_sources(attended: Attended) -> Iterator[Source]:
    """The collections of what these jobs own, found by the label that every child of their kind carries."""
    by_label: dict[str, list[Kind]] = {}
    for kind in attended.kinds():
        by_label.setdefault(kind.child_label, []).append(kind)
    for label, kinds in by_label.items():
        places = dict.fromkeys(each for kind in kinds for each in attended.places(kind))
        more = dict.fromkeys(each for kind in kinds for each in attended.owned(kind))
        for owned in (_PODS, _SERVICES, *more):
            for namespace in (None,) if None in places else places:
                path = collection(owned.api_version, owned.plural, namespace)
                bare = owned.kind in _BARE
                yield Source(
                    owned.api_version,
                    owned.kind,
                    path,
                    label,
                    bare,
                    owned.optional,
                    namespace or "",
                    separate=owned.optional,
                )
