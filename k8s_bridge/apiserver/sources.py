"""Which collections are followed: the job kinds, and their children by label."""

from collections.abc import Iterator, Sequence

from k8s_bridge.apiserver.paths import collection
from k8s_bridge.apiserver.reflector import Source
from statemachine.kinds import KINDS, SERVED

_CHILDREN = (
    # api version, kind, plural, metadata only, may not be installed
    ("v1", "Pod", "pods", False, False),
    ("v1", "Service", "services", True, False),
    ("scheduler.tensorstack.dev/v1beta1", "PodGroup", "podgroups", False, True),
    ("tensorstack.dev/v1beta1", "TensorBoard", "tensorboards", False, True),
)


def job_sources(namespaces: Sequence[str]) -> Iterator[Source]:
    """The collections of jobs, in `namespaces` or in all."""
    for names in SERVED:
        for namespace in namespaces or (None,):
            path = collection(names.api_version, names.plural, namespace)
            yield Source(names.api_version, names.kind, path, namespace=namespace or "")


def child_sources(namespaces: Sequence[str]) -> Iterator[Source]:
    """The collections of what jobs own, found by the label that every child of their kind carries."""
    for label in dict.fromkeys(kind.child_label for kind in KINDS):
        for api_version, kind, plural, bare, optional in _CHILDREN:
            for namespace in namespaces or (None,):
                path = collection(api_version, plural, namespace)
                yield Source(api_version, kind, path, label, bare, optional, namespace or "")
