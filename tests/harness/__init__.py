"""A real Kubernetes control plane, Kafka and PostgreSQL for tests: `kube`, `helm`, `coredns`, `kafka`.

The fixtures hand them out.
"""

from tests.harness.broker import Kafka
from tests.harness.cluster import JOB_CRDS, KUBEFLOW_CRDS, NEIGHBOUR_CRDS, OPT_IN_CRDS, Cluster
from tests.harness.control_plane import PARTS, ControlPlane
from tests.harness.dns import ClusterDns
from tests.harness.postgres import Postgres
from tests.harness.programs import CommandFailed
from tests.harness.waiting import wait_for

__all__ = [
    "JOB_CRDS",
    "KUBEFLOW_CRDS",
    "NEIGHBOUR_CRDS",
    "OPT_IN_CRDS",
    "PARTS",
    "Cluster",
    "ClusterDns",
    "CommandFailed",
    "ControlPlane",
    "Kafka",
    "Postgres",
    "wait_for",
]
