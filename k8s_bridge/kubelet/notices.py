"""What a local run does in its own way, reported once a job in Kubernetes Events of reason LocalRun. Pure."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from k8s_bridge.kubelet.mounts import Mount
from k8s_bridge.kubelet.ssh import PodSsh
from k8s_bridge.port import JobEvent, Manifest, Ref
from statemachine.kinds import KINDS

REASON = "LocalRun"

_NOT_RUN: Final = {owned.kind: owned.locally for kind in KINDS for owned in kind.owns if owned.locally}

_POD_FIELDS = {
    "nodeSelector": "nodeSelector",
    "affinity": "affinity",
    "tolerations": "tolerations",
    "schedulerName": "schedulerName",
    "priorityClassName": "priorityClassName",
    "securityContext": "securityContext",
    "serviceAccountName": "serviceAccountName",
    "imagePullSecrets": "imagePullSecrets",
    "runtimeClassName": "runtimeClassName",
    "activeDeadlineSeconds": "activeDeadlineSeconds of the pod",
    "hostNetwork": "hostNetwork",
    "dnsPolicy": "dnsPolicy",
}

_CONTAINER_FIELDS = {
    "image": "image",
    "resources": "resources",
    "securityContext": "securityContext",
    "livenessProbe": "probes",
    "readinessProbe": "probes",
    "startupProbe": "probes",
    "lifecycle": "lifecycle hooks",
}


def ignored(pod: Manifest) -> str:
    """The sentence about the fields of `pod` that a local run ignores; empty if there are none."""
    fields = list(dict.fromkeys(_ignored(pod.get("spec") or {})))
    if not fields:
        return ""
    return f"Pods run as processes of this machine; ignored here: {', '.join(fields)}"


def _ignored(spec: Mapping[str, Any]) -> Iterator[str]:
    everyone = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    for field, name in _CONTAINER_FIELDS.items():
        if any(container.get(field) for container in everyone):
            yield name
    yield from (name for field, name in _POD_FIELDS.items() if spec.get(field))
    if any(mount.get("readOnly") for container in everyone for mount in container.get("volumeMounts") or ()):
        yield "readOnly of volume mounts"


def moved(mounts: Sequence[Mount]) -> str:
    """The sentence about mount paths that are folders elsewhere; empty if there are none."""
    moved_mounts = {mount.path: mount for mount in mounts if mount.moved}
    if not moved_mounts:
        return ""
    places = ", ".join(f"{mount.path} is ${mount.variable}" for mount in moved_mounts.values())
    return (
        f"Nothing can be mounted for a process: {places}. Paths in command, args, workingDir and env were "
        "rewritten; one that stands in the program itself was not"
    )


def ssh(pod_ssh: PodSsh | None) -> str:
    """The sentence about SSH between pods that are processes; empty for pods without it."""
    if pod_ssh is None:
        return ""
    return (
        "SSH stays on this machine: each sshd listens on a port of 127.0.0.1, ssh and pdsh find it by the Service's "
        "name or by the address that stands for it in the hostfile, and HOME is a folder of the pod"
    )


def not_run(manifest: Manifest) -> str:
    """The sentence about an object that a local run only stores; empty for any other."""
    kind = manifest["kind"]
    return f"{kind} objects are stored, but a local run {_NOT_RUN[kind]}" if kind in _NOT_RUN else ""


def notice(child: Manifest, topic: str, message: str, at: datetime) -> JobEvent | None:
    """The event about `topic` on the job that controls `child`.

    None without such a job, or without a message.
    """
    for owner in child["metadata"].get("ownerReferences") or ():
        if message and owner.get("controller"):
            uid = str(owner.get("uid"))
            namespace = child["metadata"].get("namespace") or "default"
            about = Ref(str(owner["apiVersion"]), str(owner["kind"]), namespace, str(owner["name"]))
            tag = hashlib.sha256(f"{uid}/{topic}".encode()).hexdigest()[:16]
            return JobEvent(about, uid, f"{about.name}.local-{tag}", REASON, message, "Normal", at)
    return None
