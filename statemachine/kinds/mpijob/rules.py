"""Which MPIJobs are accepted: the shared rules and MP1-MP8. Source: spec R2 and mpijob.md, section 2."""

from collections.abc import Iterator

from statemachine.errors import Problem
from statemachine.kinds.common.contents import amounts, is_extended, nul
from statemachine.kinds.common.counts import most_replicas, numbers_at
from statemachine.kinds.common.rule_builders import alias_rules, bounds, claim
from statemachine.kinds.mpijob.launch import HOST_OPTIONS
from statemachine.kinds.mpijob.older import OLD
from statemachine.kinds.mpijob.roles import CONTAINERS, WORKERS
from statemachine.kinds.mpijob.spec import MpiSpec
from statemachine.kinds.t9k import general, immutable
from statemachine.kinds.t9k.hostfile import HOSTFILE_VOLUME
from statemachine.kinds.t9k.launcher import NAME_LENGTH, RESOURCES, TYPES, command_ignored
from statemachine.kinds.t9k.modes import RESUME_IGNORED
from statemachine.kinds.t9k.older import OLD_LIST
from statemachine.kinds.t9k.ssh import SSH_DIRECTORY, SSH_VOLUME, SSHD, reserved_mounts
from statemachine.kinds.t9k.templates import named_container, template_rules
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.lookup import entries, flag, is_object, text, texts

_SOURCE = "mpijob.md, section 2"


def _amounts(draft: Draft) -> Iterator[Problem]:
    path, resources = "spec.launcher.resources", entries(draft.spec, "launcher.resources")
    for fault in (*amounts(path, resources), *nul(path, resources)):
        yield Problem("G20", *fault)


_AMOUNTS = Rule(
    "G20",
    Layer.CONTROLLER,
    says="what is in `launcher.resources` is what an API server takes in a container",
    text="<path>: Invalid value: <value>: <what is allowed>",
    check=_amounts,
    source="spec R2, G20",
)


def _one_form(draft: Draft) -> bool:
    """The older form has been rewritten by now, if it was whole and alone."""
    return draft.spec.get("worker") is not None and not any(draft.spec.get(name) is not None for name in OLD)


_FORM = claim(
    "MP1",
    "spec: set either worker, or the deprecated mpiConfig and replicaSpecs",
    _one_form,
    says="either `worker` is set, or, in the older form, `mpiConfig` and in `replicaSpecs` one entry for the worker "
    "and at most one for the launcher, without `launcher`, `mca` and `mpiHome`",
    cel="(has(self.worker) && !has(self.mpiConfig) && !has(self.replicaSpecs)) || (!has(self.worker) && "
    "!has(self.launcher) && !has(self.mca) && !has(self.mpiHome) && has(self.mpiConfig) && has(self.replicaSpecs) && "
    "self.replicaSpecs.all(r, r.type == 'launcher' || r.type == 'worker') && "
    "self.replicaSpecs.exists_one(r, r.type == 'worker') && size(self.replicaSpecs) <= 2 && "
    "(size(self.replicaSpecs) == 1 || self.replicaSpecs.exists_one(r, r.type == 'launcher')))",
    source=_SOURCE,
)

_CONTAINER = named_container(
    "MP2",
    CONTAINERS[0],
    WORKERS.slots,
    says="the template of the workers has a container called mpi-worker, or else worker",
    at="spec.worker.template.spec.containers",
    also=CONTAINERS[1:],
    source=_SOURCE,
)


def _no_program(draft: Draft) -> Iterator[Problem]:
    worker = draft.spec.get("worker")
    if is_object(worker) and not worker.get("cmd") and not flag(draft.spec, "runMode.debug.enabled"):
        yield Problem("MP3", "spec.worker.cmd", "Required value")


_PROGRAM = Rule(
    "MP3",
    Layer.CONTROLLER,
    says="`worker.cmd` names an MPI program, unless in debug mode",
    text="spec.worker.cmd: Required value",
    check=_no_program,
    source=_SOURCE,
)

_PATHS = tuple(
    bounds(
        "MP4",
        path,
        says=f"`{path.removeprefix('spec.')}` is absolute",
        text=f"{path}: must be an absolute path",
        source=source,
    )
    for path, source in (
        ("spec.mpiHome", _SOURCE),
        ("spec.mpiConfig.home", _SOURCE),
        ("spec.ssh.sshdPath", "spec R15"),
        ("spec.ssh.sshAuthMountPath", "spec R15"),
    )
)


def _hosts(draft: Draft) -> Iterator[Problem]:
    for option in dict.fromkeys(texts(draft.spec, "worker.extraMPIArgs")):
        if option.partition("=")[0] in HOST_OPTIONS:
            yield Problem("MP5", "spec.worker.extraMPIArgs", f'"{option}" is set by the controller')


_HOSTS = Rule(
    "MP5",
    Layer.CONTROLLER,
    says="`worker.extraMPIArgs` do not say on which hosts processes run: "
    + ", ".join(f"`{o}`" for o in HOST_OPTIONS),
    text='spec.worker.extraMPIArgs: "<opt>" is set by the controller',
    check=_hosts,
    source=_SOURCE,
)

_RESERVED = reserved_mounts(
    "MP7",
    WORKERS,
    lambda spec: [text(spec, "ssh.sshAuthMountPath") or SSH_DIRECTORY],
    source="spec R15",
)


def _devices(draft: Draft) -> Iterator[Notice]:
    names = [
        name
        for where in ("requests", "limits")
        for name in entries(draft.spec, f"launcher.resources.{where}")
        if is_extended(name)
    ]
    for name in dict.fromkeys(names):
        yield Notice(
            "ConfigIgnored", f'spec.launcher.resources: "{name}" is ignored: the launcher gets no devices'
        )


_DEVICES = Rule(
    "MP8",
    Layer.WARNING,
    says="`launcher.resources` asks for no GPUs and no other devices",
    text='spec.launcher.resources: "<name>" is ignored: the launcher gets no devices',
    check=_devices,
    source=_SOURCE,
)

_TEMPLATES = template_rules(WORKERS, volumes=(SSH_VOLUME, HOSTFILE_VOLUME))

RULES: tuple[Rule, ...] = (
    general.NAME,
    NAME_LENGTH,
    *_TEMPLATES[:2],
    RESOURCES,
    _AMOUNTS,
    *general.known_types(*TYPES),
    immutable.DEBUG,
    immutable.RESUME_SPECS,
    general.PRIORITY,
    *alias_rules(MpiSpec),
    *_TEMPLATES[2:],
    most_replicas(numbers_at("worker.replicas"), "spec.worker.replicas", "spec.replicaSpecs[*].replicas"),
    immutable.fixed("worker.replicas", 1),
    immutable.fixed("worker.cmd"),
    immutable.fixed("worker.extraMPIArgs"),
    immutable.fixed("worker.processesPerWorker"),
    immutable.fixed("worker.processRecovery.enable", False),
    immutable.fixed("worker.processRecovery.limit"),
    immutable.fixed("mca"),
    immutable.fixed("mpiHome"),
    immutable.fixed("ssh.sshAuthMountPath", SSH_DIRECTORY, was="ssh.authMountPath"),
    immutable.fixed("ssh.sshdPath", SSHD),
    immutable.fixed("mpiConfig.mca"),
    immutable.fixed("mpiConfig.home"),
    immutable.fixed("mpiConfig.extraArgs"),
    immutable.fixed("mpiConfig.script"),
    OLD_LIST,
    immutable.SCHEDULER,
    immutable.FINISHED,
    _FORM,
    _CONTAINER,
    _PROGRAM,
    *_PATHS,
    _HOSTS,
    command_ignored("MP6", WORKERS, source=_SOURCE),
    _RESERVED,
    _DEVICES,
    RESUME_IGNORED,
)
"""In the order of the spec."""
