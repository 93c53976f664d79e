"""What is installed on a cluster: as kustomize and helm write it, and where it goes."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from tests.harness import Cluster
from tests.support.cluster_controller import ControllerProcess

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
CHART: Final = DEPLOY / "helm" / "jobledger"

NAMESPACE: Final = "jobledger-system"
"""Of the overlays; `kubectl jobledger` looks for the controller there."""

RESTRICTED: Final = {"pod-security.kubernetes.io/enforce": "restricted"}

OF_HELM: Final = ("app.kubernetes.io/managed-by", "helm.sh/chart")

OURS: Final = "app.kubernetes.io/name=jobledger"
"""Selects what is uninstalled: everything but the CRDs. Source: docs/operations.md."""

Manifest = dict[str, Any]


def kustomized(cluster: Cluster, folder: Path) -> list[Manifest]:
    """What `kubectl apply -k` would apply."""
    return documents(cluster.kubectl("kustomize", str(folder)))


def charted(cluster: Cluster, *options: str) -> list[Manifest]:
    """What `helm install` would install, CRDs included."""
    place = ("--namespace", NAMESPACE, "--include-crds", "--skip-tests")
    return documents(cluster.helm("template", "jobledger", str(CHART), *place, *options))


def without_helms(objects: list[Manifest]) -> list[Manifest]:
    """The objects without the labels that say which chart they are of, which nothing else has."""
    for manifest in objects:
        for label in OF_HELM:
            manifest["metadata"].get("labels", {}).pop(label, None)
    return objects


def documents(text: str) -> list[Manifest]:
    """The objects in a YAML stream."""
    return [manifest for manifest in yaml.load_all(text, Loader=yaml.CSafeLoader) if manifest]


@contextmanager
def namespace(cluster: Cluster) -> Iterator[None]:
    """The restricted namespace of the overlays, for what does not bring it; gone afterwards, with all in it."""
    metadata = {"name": NAMESPACE, "labels": RESTRICTED}
    cluster.kubectl(
        "create", "-f", "-", input={"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    )
    try:
        yield
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, within=240)


@contextmanager
def volume(cluster: Cluster) -> Iterator[None]:
    """A disk for the claim of the log: nothing makes one on demand here."""
    disk = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "jobledger-test"},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": NAMESPACE, "name": "jobledger"},
            "hostPath": {"path": "/nowhere"},
        },
    }
    cluster.kubectl("create", "-f", "-", input=disk)
    try:
        yield
    finally:
        cluster.kubectl("delete", "persistentvolume", "jobledger-test")


def left(cluster: Cluster, objects: list[Manifest]) -> list[str]:
    """Which of the objects still exist, as `kind/name`; CRDs are meant to."""
    asked = [manifest for manifest in objects if manifest["kind"] != "CustomResourceDefinition"]
    return cluster.kubectl("get", "--ignore-not-found", "--output=name", "-f", "-", input=asked).split()


def address(process: ControllerProcess) -> str | None:
    """Where a controller answers HTTP, once it says so."""
    match = re.search(r"^  address  (http://\S+)$", process.said, re.MULTILINE)
    return match[1] if match else None
