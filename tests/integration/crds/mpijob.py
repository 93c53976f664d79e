"""MPIJob: what its CRD refuses and keeps."""

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
from tests.unit.kinds.build import merged
from tests.unit.kinds.mpi import (
    KIND,
    container,
    old_launcher,
    old_spec,
    old_workers,
    spec,
    without,
    workers,
)

FORM = "spec: set either worker, or the deprecated mpiConfig and replicaSpecs"
BOTH = {"enable": True, "enabled": False}
PATHS = "spec.ssh.authMountPath is a deprecated alias of spec.ssh.sshAuthMountPath; set only one"
TWICE = [{"type": "worker"}, {"type": "worker"}]
DEBUGGED = "spec.runMode.debug.replicaSpecs: unknown or repeated replica type"
RESUMED = "spec.runMode.pause.resumeSpecs: unknown or repeated replica type"


def alias(path: str, was: str) -> str:
    """What G12 says of a field under both names."""
    return f"spec.{path}.{was} is a deprecated alias of spec.{path}.enabled; set only one"


REFUSED: list[Refused] = [
    Refused("G1", "1a", spec(), NAME_TEXT),
    Refused("G2", "a" * 55, spec(), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 54, spec(workers(11)), NAME_TOO_LONG_TEXT),
    Refused("G2", "a" * 54, old_spec(old_launcher(), old_workers(replicas=11)), NAME_TOO_LONG_TEXT),
    Refused("G7", "job", spec(runMode={"debug": {"replicaSpecs": TWICE}}), DEBUGGED),
    Refused("G7", "job", spec(runMode={"pause": {"resumeSpecs": TWICE}}), RESUMED),
    Refused("G7", "job", spec(runMode={"pause": {"resumeSpecs": [{"type": "ps"}]}}), RESUMED),
    Refused(
        "G10",
        "job",
        spec(scheduler={"t9kScheduler": {"priority": 101}}),
        "spec.scheduler.t9kScheduler.priority",
    ),
    Refused("G12", "job", spec(runMode={"debug": BOTH}), alias("runMode.debug", "enable")),
    Refused("G12", "job", spec(runMode={"pause": BOTH}), alias("runMode.pause", "enable")),
    Refused("G12", "job", spec(ssh={"sshAuthMountPath": "/a", "authMountPath": "/b"}), PATHS),
    Refused("MP1", "job", {}, FORM),
    Refused("MP1", "job", without(old_spec(), "mpiConfig"), FORM),
    Refused("MP1", "job", without(old_spec(), "replicaSpecs"), FORM),
    Refused("MP1", "job", {**spec(), **old_spec()}, FORM),
    Refused("MP1", "job", {**spec(), "mpiConfig": {}}, FORM),
    Refused("MP1", "job", {**old_spec(), "mca": {"btl": "self"}}, FORM),
    Refused("MP1", "job", old_spec(old_launcher()), FORM),
    Refused("MP1", "job", old_spec(old_launcher(), old_launcher()), FORM),
    Refused("MP1", "job", old_spec(old_launcher(), old_workers(), old_workers()), FORM),
    Refused("MP1", "job", old_spec(old_launcher(), old_workers(type="ps")), FORM),
    Refused("MP4", "job", spec(mpiHome="usr"), "spec.mpiHome"),
    Refused("MP4", "job", old_spec(mpi={"home": "usr", "script": ["a"]}), "spec.mpiConfig.home"),
    Refused("MP4", "job", spec(ssh={"sshdPath": "sshd"}), "spec.ssh.sshdPath"),
    Refused("MP4", "job", spec(ssh={"sshAuthMountPath": "keys"}), "spec.ssh.sshAuthMountPath"),
    Refused("MP4", "job", spec(ssh={"authMountPath": "keys"}), "spec.ssh.authMountPath"),
    Refused("G19", "job", spec(workers(10_001)), "spec.worker.replicas: Invalid value: 10001"),
]

OLD = spec(
    workers(2, extraMPIArgs=["-v"], processesPerWorker=2, processRecovery={"enable": True, "limit": 3}),
    mca={"btl": "self"},
    mpiHome="/opt",
    ssh={"authMountPath": "/keys"},
    scheduler={"t9kScheduler": {"queue": "a"}},
    runMode={"pause": {"resumeSpecs": [{"type": "worker", "args": ["a"]}]}},
)
OLDER = old_spec(mpi={"mca": {"btl": "self"}, "home": "/opt", "extraArgs": ["-v"], "script": ["./a"]})


def kept(path: str, value: Any, *, rule: str = "G17", text: str = "") -> Kept:
    """A change of one field that is immutable; of OLDER if only that has it."""
    old = OLDER if path.startswith(("mpiConfig", "replicaSpecs")) else OLD
    return Kept(rule, changed(old, path, value), text or f"spec.{path} is immutable", old)


KEPT: list[Kept] = [
    kept("runMode.debug", {"enabled": True}, rule="G8", text=DEBUG_TEXT),
    kept("runMode.debug", {"replicaSpecs": [{"type": "launcher"}]}, rule="G8", text=DEBUG_TEXT),
    kept("runMode.pause.resumeSpecs.0.args", ["b"], rule="G9", text=RESUME_TEXT),
    kept("runMode.pause", {}, rule="G9", text=RESUME_TEXT),
    kept("ssh.authMountPath", "/other", text="spec.ssh.sshAuthMountPath is immutable"),
    kept("ssh", None, text="spec.ssh.sshAuthMountPath is immutable"),
    kept("ssh.sshdPath", "/bin/sshd"),
    kept("worker.replicas", 3),
    kept("worker.cmd", ["./other"]),
    kept("worker.extraMPIArgs", ["-q"]),
    kept("worker.extraMPIArgs", None),
    kept("worker.processesPerWorker", 3),
    kept("worker.processRecovery.enable", False),
    kept("worker.processRecovery.limit", 4),
    kept("mca.btl", "tcp", text="spec.mca is immutable"),
    kept("mca", None),
    kept("mpiHome", "/usr"),
    kept("scheduler", None),
    kept("scheduler.t9kScheduler.queue", "b", text="spec.scheduler is immutable"),
    kept("scheduler.t9kScheduler.priority", 1, text="spec.scheduler is immutable"),
    kept("mpiConfig.mca.btl", "tcp", text="spec.mpiConfig.mca is immutable"),
    kept("mpiConfig.home", "/usr"),
    kept("mpiConfig.extraArgs", None),
    kept("mpiConfig.script", ["./b"]),
    kept("replicaSpecs.1.replicas", 3, text="spec.replicaSpecs is immutable"),
    kept("replicaSpecs", [old_workers(), old_launcher()]),
]

MAY_CHANGE = merged(
    OLD,
    ssh={"sshAuthMountPath": "/keys", "sshdPath": "/usr/sbin/sshd"},
    worker={**OLD["worker"], "template": workers(2, container(image="other"))["template"]},
    launcher={"resources": {"limits": {"cpu": 1}}},
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
