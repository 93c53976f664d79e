"""Jobs on a real API server, driven and seen as users do: through kubectl, and nothing else."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.harness import Cluster, wait_for

Manifest = dict[str, Any]
Status = dict[str, Any]

SIMULATED: Final = "sim.jobledger.dev/"
"""What stands before the annotations by which a simulated node runs a pod."""

CHILDREN: Final = "tensorstack.dev/owner-kind=PyTorchTrainingJob"
"""The label that every child of a job has."""


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
    """The jobs of one namespace and kind; `kind` is any name that kubectl knows it by."""

    def __init__(self, cluster: Cluster, namespace: str, kind: str = "pj") -> None:
        self.cluster, self.namespace, self.kind = cluster, namespace, kind
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
        """The objects are as given."""
        self._bases.clear()
        self.kubectl("apply", "-f", "-", input=list(manifests))

    def patch(self, name: str, **spec: Any) -> None:
        """A merge patch of the job's spec."""
        self.kubectl("patch", self.kind, name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def delete(self, name: str, cascade: str = "background") -> None:
        """The job is gone; what becomes of what it owns, `cascade` says."""
        self.kubectl("delete", self.kind, name, f"--cascade={cascade}", "--timeout=90s")

    # ---- what nodes do -------------------------------------------------------------------------------------

    def end(self, pod: str, code: int = 0) -> None:
        """The pod's container ends now with `code`."""
        self.kubectl(
            "annotate", "--overwrite", "pod", pod, f"{SIMULATED}exit-code={code}", f"{SIMULATED}run-seconds=0"
        )

    def node_says(self, pod: str, status: Status) -> None:
        """The status that the pod's node reports, whatever the simulation thinks of it."""
        patch = json.dumps({"status": status})
        self.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", patch)

    def bind(self, pod: str, node: str = "node-1") -> None:
        """A scheduler of ours puts the pod on the node."""
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": {"name": node}}
        place = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/binding"
        self.cluster.kubectl("create", "--raw", place, "-f", "-", input=binding)

    # ---- what is seen --------------------------------------------------------------------------------------

    def get(self, name: str) -> Manifest:
        """The job object. Raises CommandFailed."""
        return self.cluster.get("-n", self.namespace, self.kind, name)

    def status(self, name: str) -> Status:
        """The job's status, empty while nobody has written any."""
        found: Status = self.get(name).get("status", {})
        return found

    def phase(self, name: str) -> str:
        """The job's phase, empty while nobody has written any."""
        return str(self.status(name).get("phase", ""))

    def conditions(self, name: str) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message of the job's conditions, in their order."""
        return conditions(self.status(name))

    def wait(self, name: str, path: str, value: object, within: float = 90) -> None:
        """The job's `.status.<path>` becomes `value`. Raises CommandFailed."""
        wanted = f"--for=jsonpath={{.status.{path}}}={value}"
        self.kubectl("wait", f"{self.kind}/{name}", wanted, f"--timeout={within}s", within=within + 30)

    def until(self, name: str, what: str, holds: Callable[[Status], object], within: float = 90) -> Status:
        """The first status of the job that `holds`."""

        def look() -> Status | None:
            status = self.status(name)
            return status if status and holds(status) else None

        return wait_for(f"{name}: {what}", look, within)

    def children(self, name: str, kind: str = "pods") -> dict[str, Manifest]:
        """The objects of a kind that belong to the job, by name without what comes before the replica."""
        base = self.base(name)
        items = self.cluster.get(
            "-n", self.namespace, kind, "-l", f"tensorstack.dev/owner-name={name},{CHILDREN}"
        )["items"]
        return {each["metadata"]["name"].removeprefix(f"{base}-"): each for each in items}

    def base(self, name: str) -> str:
        """What the names of the job's children begin with."""
        if name not in self._bases:
            self._bases[name] = f"{name}-{short_hash(self.get(name)['metadata']['uid'])}"
        return self._bases[name]

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the Events on the job of that name, oldest first, each as often as written."""
        found = self.cluster.get(
            "-n", self.namespace, "events", "--field-selector", f"involvedObject.name={name}"
        )["items"]
        found.sort(key=lambda each: (each["firstTimestamp"], _place(each["metadata"]["name"])))
        return [(each["type"], each["reason"], each["message"]) for each in found]

    def told(self, name: str, reason: str, within: float = 90) -> str:
        """The message of the first Event of that reason on the job, as soon as there is one."""

        def look() -> str | None:
            return next((message for _, each, message in self.events(name) if each == reason), None)

        return wait_for(f"Event {reason} on {name}", look, within)

    def row(self, name: str, *options: str) -> dict[str, str]:
        """What `kubectl get` prints of the job, by column."""
        head, line = self.kubectl("get", self.kind, name, *options).splitlines()
        starts = [each.start() for each in re.finditer(r"\S+", head)]
        ends = [*starts[1:], max(len(head), len(line))]
        return {head[a:b].strip(): line[a:b].strip() for a, b in zip(starts, ends, strict=True)}


def conditions(status: Status) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    return {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in status.get("conditions", ())
    }


def _place(event: str) -> list[int]:
    """Entry and number at the end of an Event's name; of those from elsewhere there is none."""
    return [int(part) for part in event.split(".")[2:] if part.isdigit()]
