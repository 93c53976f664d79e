"""ColossalAIJob: what its CRD refuses and keeps."""

from typing import Any

from tests.integration.crds.words import (
    DEBUG_TEXT,
    NAME_TEXT,
    NAME_TOO_LONG_TEXT,
    RESUME_TEXT,
    Cases,
    Kept,
    Refused,
    changed,
)
from tests.unit.kinds.build import Spec, merged
from tests.unit.kinds.colossal import (
    KIND,
    container,
    old_launcher,
    old_spec,
    old_workers,
    spec,
    workers,
)

FORM = "spec: set either launcher and worker, or the deprecated torchConfig and replicaSpecs"


def without(whole: Spec, name: str) -> Spec:
    """A spec that lacks a field."""
    return {key: value for key, value in whole.items() if key != name}


def alias(path: str, was: str) -> str:
    """What G12 says of a field under both names."""
    return f"spec.{path}.{was} is a deprecated alias of spec.{path}.enabled; set only one"


BOTH = {"enable": True, "enabled": False}
PATHS = "spec.ssh.sshAuthMountPath is a deprecated alias of spec.ssh.authMountPath; set only one"

REFUSED: list[Refused] = [
    Refused("G1", "1a", spec(), NAME_TEXT),
    Refused("G1", "a.b", spec(), NAME_TEXT),
    Refused("G2", "a" * 55, spec(), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 54, spec(workers(11)), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 54, old_spec(old_launcher(), old_workers(replicas=11)), NAME_TOO_LONG_TEXT),
    Refused(
        "G7",
        "job",
        spec(runMode={"debug": {"replicaSpecs": [{"type": "worker"}, {"type": "worker"}]}}),
        "spec.runMode.debug.replicaSpecs: unknown or repeated replica type",
    ),
    Refused(
        "G7",
        "job",
        spec(runMode={"pause": {"resumeSpecs": [{"type": "worker"}, {"type": "worker"}]}}),
        "spec.runMode.pause.resumeSpecs: unknown or repeated replica type",
    ),
    Refused(
        "G7",
        "job",
        spec(runMode={"pause": {"resumeSpecs": [{"type": "ps"}]}}),
        "spec.runMode.pause.resumeSpecs: unknown or repeated replica type",
    ),
    Refused(
        "G10",
        "job",
        spec(scheduler={"t9kScheduler": {"priority": 101}}),
        "spec.scheduler.t9kScheduler.priority",
    ),
    Refused("G12", "job", spec(runMode={"debug": BOTH}), alias("runMode.debug", "enable")),
    Refused("G12", "job", spec(runMode={"pause": BOTH}), alias("runMode.pause", "enable")),
    Refused("G12", "job", spec(ssh={"sshAuthMountPath": "/a", "authMountPath": "/b"}), PATHS),
    Refused("CA1", "job", {}, FORM),
    Refused("CA1", "job", without(spec(), "launcher"), FORM),
    Refused("CA1", "job", without(spec(), "worker"), FORM),
    Refused("CA1", "job", without(old_spec(), "torchConfig"), FORM),
    Refused("CA1", "job", without(old_spec(), "replicaSpecs"), FORM),
    Refused("CA1", "job", {**spec(), **old_spec()}, FORM),
    Refused("CA1", "job", {**spec(), "torchConfig": {}}, FORM),
    Refused("CA1", "job", old_spec(old_launcher()), FORM),
    Refused("CA1", "job", old_spec(old_launcher(), old_launcher()), FORM),
    Refused("CA1", "job", old_spec(old_launcher(), old_workers(), old_workers()), FORM),
    Refused("CA1", "job", old_spec(old_launcher(), old_workers(type="ps")), FORM),
    Refused("CA7", "job", spec(ssh={"sshdPath": "sshd"}), "spec.ssh.sshdPath"),
    Refused("CA7", "job", spec(ssh={"authMountPath": "keys"}), "spec.ssh.authMountPath"),
    Refused("CA7", "job", spec(ssh={"sshAuthMountPath": "keys"}), "spec.ssh.sshAuthMountPath"),
    Refused("G19", "job", spec(workers(10_001)), "spec.worker.replicas: Invalid value: 10001"),
]

LAUNCHER = {
    "image": "colossalai:1",
    "workingDir": "/w",
    "env": [{"name": "A", "value": "b"}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "spec"}}}],
}
OLD = spec(
    workers(2, torchArgs=["--tee=3"]),
    launcher=LAUNCHER,
    ssh={"sshAuthMountPath": "/keys"},
    scheduler={"t9kScheduler": {"queue": "a"}},
    runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
)
OLDER = old_spec(torch={"script": ["a.py"], "torchArgs": ["--tee=3"]})


def kept(path: str, value: Any, *, rule: str = "G17", text: str = "") -> Kept:
    """A change of one field that is immutable; of OLDER if only that has it."""
    old = OLDER if path.startswith(("torchConfig", "replicaSpecs")) else OLD
    return Kept(rule, changed(old, path, value), text or f"spec.{path} is immutable", old)


KEPT: list[Kept] = [
    kept("runMode.debug", {"enabled": True}, rule="G8", text=DEBUG_TEXT),
    kept("runMode.debug", {"replicaSpecs": [{"type": "launcher"}]}, rule="G8", text=DEBUG_TEXT),
    kept("runMode.pause.resumeSpecs.0.args", ["b"], rule="G9", text=RESUME_TEXT),
    kept("runMode.pause", {}, rule="G9", text=RESUME_TEXT),
    kept("ssh.sshAuthMountPath", "/other", text="spec.ssh.authMountPath is immutable"),
    kept("ssh", None, text="spec.ssh.authMountPath is immutable"),
    kept("ssh.sshdPath", "/bin/sshd"),
    kept("launcher.image", "other"),
    kept("launcher.workingDir", None),
    kept("launcher.env.0.value", "x", text="spec.launcher.env is immutable"),
    kept("launcher.env", None),
    kept("worker.replicas", 3),
    kept("worker.procPerWorker", 2),
    kept("worker.command", ["other.py"]),
    kept("worker.torchArgs", ["--tee=1"]),
    kept("scheduler", None),
    kept("scheduler.t9kScheduler.queue", "b", text="spec.scheduler is immutable"),
    kept("scheduler.t9kScheduler.priority", 1, text="spec.scheduler is immutable"),
    kept("torchConfig.procPerWorker", 2),
    kept("torchConfig.script", ["b.py"]),
    kept("torchConfig.torchArgs", None),
    kept("replicaSpecs.1.replicas", 3, text="spec.replicaSpecs is immutable"),
    kept("replicaSpecs", [old_workers(), old_launcher()]),
]

MAY_CHANGE = merged(
    OLD,
    ssh={"authMountPath": "/keys", "sshdPath": "/usr/sbin/sshd"},
    worker=workers(2, container(image="other"), torchArgs=["--tee=3"], procPerWorker=1),
    launcher={**LAUNCHER, "resources": {"limits": {"cpu": 1}}},
    runMode={**OLD["runMode"], "debug": {"enabled": False}},
    runPolicy={"cleanUpWorkers": True},
)
MAY_CHANGE["runMode"]["pause"]["enabled"] = True

CASES = Cases(
    kind=KIND,
    refused=REFUSED,
    old=OLD,
    kept=KEPT,
    may_change=MAY_CHANGE,
    policies=({"runPolicy": {"cleanUpWorkers": True}}, {"runPolicy": {"cleanUpWorkers": False}}),
)
