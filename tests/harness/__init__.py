"""A real Kubernetes control plane for tests: `kube` and `helm` are its programs, the fixtures hand it out."""

from tests.harness.cluster import JOB_CRDS, NEIGHBOUR_CRDS, Cluster
from tests.harness.control_plane import PARTS, ControlPlane
from tests.harness.programs import CommandFailed
from tests.harness.waiting import wait_for

__all__ = [
    "JOB_CRDS",
    "NEIGHBOUR_CRDS",
    "PARTS",
    "Cluster",
    "CommandFailed",
    "ControlPlane",
    "wait_for",
]
