"""The collections that the bridge watches: the job kinds, and their children by label."""

from collections.abc import Iterator
from typing import Final

from k8s_bridge.apiserver.paths import collection
from k8s_bridge.apiserver.reflector import WatchSource
from k8s_bridge.attended import Attended
from statemachine.kind import Kind
from statemachine.owned import Owned

_PODS: Final = Owned("v1", "Pod", "pods", optional=False)
_SERVICES: Final = Owned("v1", "Service", "services", optional=False)

_BARE: Final = frozenset({"Service"})
"""Kinds of which only metadata are read."""

_WORKLOADS: Final = Owned("kueue.x-k8s.io/v1beta2", "Workload", "workloads")
"""Kueue makes them; jobs own them."""

_OF_JOBS: Final = "kueue.x-k8s.io/job-uid"
"""The label of every Workload that is not of plain pods. Source: Kueue, pkg/controller/constants."""

UNWATCHED: Final = frozenset({"Secret"})
"""Children that are known only from our own reads and writes, and of which only the metadata is read.

The right to watch Secrets is the right to read all of them; to get one, its name has to be known (ADR 0013).
"""


def job_sources(attended: Attended) -> Iterator[WatchSource]:
    """The collections of managed jobs."""
    for kind in attended.kinds():
        for names in (kind.names, *kind.aliases):
            for namespace in attended.places(kind):
                path = collection(names.api_version, names.plural, namespace)
                yield WatchSource(
                    names.api_version, names.kind, path, namespace=namespace or "", separate=True
                )


def workload_sources(attended: Attended) -> Iterator[WatchSource]:
    """The collections with the standing of jobs in Kueue's queues, if that is switched on."""
    if not attended.kueue:
        return
    places = dict.fromkeys(place for kind in attended.kinds() for place in attended.places(kind))
    for namespace in (None,) if None in places else places:
        path = collection(_WORKLOADS.api_version, _WORKLOADS.plural, namespace)
        yield WatchSource(
            _WORKLOADS.api_version,
            _WORKLOADS.kind,
            path,
            _OF_JOBS,
            optional=True,
            namespace=namespace or "",
            separate=True,
        )


def child_sources(attended: Attended) -> Iterator[WatchSource]:
    """The collections of children of managed jobs, selected by the label of all children of their kind."""
    by_label: dict[str, list[Kind]] = {}
    for kind in attended.kinds():
        by_label.setdefault(kind.child_label, []).append(kind)
    for label, kinds in by_label.items():
        places = dict.fromkeys(place for kind in kinds for place in attended.places(kind))
        more = dict.fromkeys(child for kind in kinds for child in attended.owned(kind))
        for owned in (_PODS, _SERVICES, *more):
            for namespace in (None,) if None in places else places:
                path = collection(owned.api_version, owned.plural, namespace)
                bare = owned.kind in _BARE
                yield WatchSource(
                    owned.api_version,
                    owned.kind,
                    path,
                    label,
                    bare,
                    owned.optional,
                    namespace or "",
                    separate=owned.optional,
                )
