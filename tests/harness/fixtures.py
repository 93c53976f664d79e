"""The fixtures of clusters. All tests of a run share one; what kills parts or reads the audit log starts its own.

`JOBLEDGER_KUBECONFIG` names the kubeconfig of a cluster to use instead: one that may be written to, with nodes that
run pods. Namespaces made there are deleted again, CRDs stay.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cluster import JOB_CRDS, NEIGHBOUR_CRDS, Cluster
from tests.harness.control_plane import ControlPlane
from tests.harness.programs import HELM, KUBE, built


@contextmanager
def own_control_plane(home: Path, **options: Any) -> Iterator[ControlPlane]:
    """A control plane as long as the block lasts; skips where none is built. `options` are those of ControlPlane."""
    _require(KUBE)
    with ControlPlane(home, **options) as started:
        yield started


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster that all tests of the run share. Leave nothing in it but what is in a namespace of your own."""
    home = tmp_path_factory.mktemp("kube")
    if config := os.environ.get("JOBLEDGER_KUBECONFIG"):
        yield _existing(Path(config), home)
    else:
        with own_control_plane(home) as started:
            yield started


@pytest.fixture(scope="session")
def simulated(control_plane: Cluster) -> ControlPlane:
    """The shared cluster, for tests that tell simulated nodes how pods live."""
    if not isinstance(control_plane, ControlPlane):
        pytest.skip("the nodes of the cluster in JOBLEDGER_KUBECONFIG are not simulated")
    return control_plane


@pytest.fixture(scope="session")
def job_crds(control_plane: Cluster) -> Cluster:
    """The shared cluster with the kinds of jobledger."""
    control_plane.install(JOB_CRDS)
    return control_plane


@pytest.fixture(scope="session")
def neighbour_crds(control_plane: Cluster) -> Cluster:
    """The shared cluster with the kinds PodGroup, Queue and TensorBoard."""
    control_plane.install(NEIGHBOUR_CRDS)
    return control_plane


@pytest.fixture(scope="session")
def helm(control_plane: Cluster) -> Cluster:
    """The shared cluster, for tests that call helm."""
    _require(HELM)
    return control_plane


@pytest.fixture
def namespace(control_plane: Cluster) -> Iterator[str]:
    """A namespace for one test."""
    with control_plane.namespace() as name:
        yield name


def _require(program: Path) -> None:
    _, missing = built(program)
    if missing:
        pytest.skip(missing)


def _existing(kubeconfig: Path, home: Path) -> Cluster:
    """The cluster of a kubeconfig, with our kubectl or else the one on PATH."""
    ours, _ = built(KUBE)
    found = shutil.which("kubectl")
    if not (ours or found):
        pytest.skip("JOBLEDGER_KUBECONFIG is set, and there is no kubectl: make cluster-tools")
    return Cluster(kubeconfig.absolute(), home, [str(ours), "kubectl"] if ours else [str(found)])
