"""Jobs on a real API server: driven as users do, through kubectl, and followed over one connection."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.harness import Cluster, wait_for
from tests.harness.api import APPLY

Manifest = dict[str, Any]
Status = dict[str, Any]

SIMULATED: Final = "sim.jobledger.dev/"
"""What stands before the annotations by which a simulated node runs a pod."""

OWNER_KIND: Final = "tensorstack.dev/owner-kind"
"""Key of the label that every child of a job has."""

CHILDREN: Final = f"{OWNER_KIND}=PyTorchTrainingJob"
"""The label that every child of a PyTorchTrainingJob has."""


def replica_type(
    type_: str, replicas: int, *, container: Mapping[str, Any] | None = None, **more: Any
) -> Manifest:
    """One item of `replicaSpecs`; `life` are annotations of its pods, by which simulated nodes run them."""
    life = {f"{SIMULATED}{key}": str(value) for key, value in more.pop("life", {}).items()}
    pod = {"containers": [{"name": "pytorch", "image": "none", **(container or {})}], **more.pop("pod", {})}
    return {
        "type": type_,
        "replicas": replicas,
        "template": {"metadata": {"annotations": life}, "spec": pod},
        **more,
    }


def job(name: str, *types: Manifest, **spec: Any) -> Manifest:
    """A job of these replica types; without any, of one worker."""
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "PyTorchTrainingJob",
        "metadata": {"name": name},
        "spec": {"replicaSpecs": list(types) or [replica_type("worker", 1)], **spec},
    }


def short_hash(uid: str) -> str:
    """The `<h5>` of child names. Source: spec R3."""
    return hashlib.sha256(uid.encode()).hexdigest()[:5]


class Jobs:
    """The jobs of one namespace and kind; `kind` is any name that kubectl knows it by, `owner` its own name.

    Pods of PyTorchTrainingJobs have a hash in their names, those of the others do not.
    """

    def __init__(
        self, cluster: Cluster, namespace: str, kind: str = "pj", *, owner: str = "PyTorchTrainingJob"
    ) -> None:
        self.cluster, self.namespace, self.kind, self.owner = cluster, namespace, kind, owner
        self._bases: dict[str, str] = {}

    # ---- what users do -------------------------------------------------------------------------------------

    def kubectl(self, *arguments: str, **more: Any) -> str:
        """What kubectl prints in this namespace. Raises CommandFailed."""
        return self.cluster.kubectl("-n", self.namespace, *arguments, **more)

    def refused(self, *arguments: str, **more: Any) -> str:
        """What kubectl says when the server does not take something; fails if it does."""
        answer = self.cluster.answer("-n", self.namespace, *arguments, **more)
        assert answer.returncode != 0, answer.stdout
        return answer.stderr

    def apply(self, *manifests: Manifest) -> None:
        """The objects are as given, by server-side apply. No kubectl runs for it.

        Raises:
            AssertionError: the API server refuses one; the others before it are stored.
        """
        self._bases.clear()
        for manifest in manifests:
            place = self.cluster.resources.place(manifest, self.namespace)
            self.cluster.api.write(APPLY, place, manifest)

    def patch(self, name: str, **spec: Any) -> None:
        """A merge patch of the job's spec."""
        self.cluster.api.write("PATCH", self._path(name), {"spec": spec})

    def delete(self, name: str, cascade: str = "background") -> None:
        """The job is gone; what becomes of what it owns, `cascade` says."""
        path = self._path(name)
        uid = self.get(name)["metadata"]["uid"]
        self.cluster.api.write("DELETE", path, {"propagationPolicy": cascade.capitalize()})

        def is_gone() -> bool:
            answer = self.cluster.api.request("GET", path)
            return answer.code == 404 or (answer.is_accepted and answer.body["metadata"]["uid"] != uid)

        wait_for(f"{name} is gone", is_gone, 90)

    # ---- what nodes do -------------------------------------------------------------------------------------

    def end(self, pod: str, code: int = 0) -> None:
        """The pod's container ends now with `code`.

        A pod of that name that has ended already, or is being deleted, is waited for to be replaced: a status that
        counts replicas is written up to a second after they are gone, and must not decide what a test does next.
        """
        life = {f"{SIMULATED}exit-code": str(code), f"{SIMULATED}run-seconds": "0"}
        wait_for(f"pod {pod} is alive", lambda: self._is_alive(pod), 90)
        self._write("PATCH", f"pods/{pod}", {"metadata": {"annotations": life}})

    def node_says(self, pod: str, status: Status) -> None:
        """The status that the pod's node reports, whatever the simulation thinks of it."""
        self._write("PATCH", f"pods/{pod}/status", {"status": status})

    def bind(self, pod: str, node: str = "node-1") -> None:
        """A scheduler of ours puts the pod on the node."""
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"name": node}}
        self._write("POST", f"pods/{pod}/binding", binding)

    def _is_alive(self, pod: str) -> bool:
        answer = self.cluster.api.request("GET", f"/api/v1/namespaces/{self.namespace}/pods/{pod}")
        if not answer.is_accepted or "deletionTimestamp" in answer.body["metadata"]:
            return False
        return answer.body.get("status", {}).get("phase", "Pending") in {"Pending", "Running"}

    def _write(self, method: str, place: str, body: Manifest) -> None:
        self.cluster.api.write(method, f"/api/v1/namespaces/{self.namespace}/{place}", body)

    # ---- what is seen --------------------------------------------------------------------------------------

    def get(self, name: str) -> Manifest:
        """The job object. Raises CommandFailed."""
        return self.cluster.get("-n", self.namespace, self.kind, name)

    def status(self, name: str) -> Status:
        """The job's status, empty while nobody has written any."""
        status: Status = self.get(name).get("status", {})
        return status

    def phase(self, name: str) -> str:
        """The job's phase, empty while nobody has written any."""
        return str(self.status(name).get("phase", ""))

    def conditions(self, name: str) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message of the job's conditions, in their order."""
        return conditions(self.status(name))

    def wait(self, name: str, path: str, value: object, within: float = 90) -> None:
        """The job's `.status.<path>` becomes `value`."""
        self.until(name, f"{path} is {value}", lambda status: _at(status, path) == value, within)

    def until(self, name: str, what: str, holds: Callable[[Status], object], within: float = 90) -> Status:
        """The first status of the job that `holds`, however short it lasts.

        Raises:
            AssertionError: there was none; says `what` was waited for, and the last status.
        """
        status: Status = {}
        selector = {"fieldSelector": f"metadata.name={name}"}
        for version in self.cluster.api.versions(self._path(), selector, within):
            status = version.get("status", {})
            if status and holds(status):
                return status
        raise AssertionError(f"{name}: {what}: not within {within} s; last status: {status!r}")

    def _path(self, name: str = "") -> str:
        """Of all jobs, or of one."""
        resource = self.cluster.resources.named(self.kind)
        assert resource is not None, f"the API server has no {self.kind}"
        return resource.path(self.namespace, name)

    def children(self, name: str, kind: str = "pods") -> dict[str, Manifest]:
        """The objects of a kind that belong to the job, by name without what comes before the replica."""
        base = self.base(name)
        labels = f"tensorstack.dev/owner-name={name},{OWNER_KIND}={self.owner}"
        items = self.cluster.get("-n", self.namespace, kind, "-l", labels)["items"]
        return {manifest["metadata"]["name"].removeprefix(f"{base}-"): manifest for manifest in items}

    def base(self, name: str) -> str:
        """What the names of the job's children begin with."""
        if self.owner != "PyTorchTrainingJob":
            return name
        if name not in self._bases:
            self._bases[name] = f"{name}-{short_hash(self.get(name)['metadata']['uid'])}"
        return self._bases[name]

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the Events on the job of that name, oldest first, each as often as written."""
        items = self.cluster.get(
            "-n", self.namespace, "events", "--field-selector", f"involvedObject.name={name}"
        )["items"]
        items.sort(key=lambda item: (item["firstTimestamp"], _place(item["metadata"]["name"])))
        return [(item["type"], item["reason"], item["message"]) for item in items]

    def event_message(self, name: str, reason: str, within: float = 90) -> str:
        """The message of the first Event of that reason on the job, as soon as there is one."""

        def look() -> str | None:
            return next((message for _, said, message in self.events(name) if said == reason), None)

        return wait_for(f"Event {reason} on {name}", look, within)

    def row(self, name: str, *options: str) -> dict[str, str]:
        """What `kubectl get` prints of the job, by column."""
        head, line = self.kubectl("get", self.kind, name, *options).splitlines()
        starts = [match.start() for match in re.finditer(r"\S+", head)]
        ends = [*starts[1:], max(len(head), len(line))]
        return {head[a:b].strip(): line[a:b].strip() for a, b in zip(starts, ends, strict=True)}


def conditions(status: Status) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    return {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in status.get("conditions", ())
    }


def _at(status: Status, path: str) -> object:
    """The value at a path of keys joined by dots, None if there is none."""
    place: Any = status
    for key in path.split("."):
        place = place.get(key) if isinstance(place, dict) else None
    return place


def _place(event: str) -> list[int]:
    """Entry and number at the end of an Event's name; of those from elsewhere there is none."""
    return [int(part) for part in event.split(".")[2:] if part.isdigit()]
