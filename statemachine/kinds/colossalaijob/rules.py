"""Which ColossalAIJobs are accepted: the shared rules and CA1-CA8.

Source: spec R2 and colossalaijob.md, section 2.
"""

from collections.abc import Iterator

from statemachine.errors import Problem
from statemachine.kinds.colossalaijob.launch import torch_options
from statemachine.kinds.colossalaijob.older import OLD
from statemachine.kinds.colossalaijob.roles import WORKERS
from statemachine.kinds.colossalaijob.spec import ColossalAISpec
from statemachine.kinds.common.contents import nul, of_container
from statemachine.kinds.common.counts import most_replicas, numbers_at
from statemachine.kinds.common.rule_builders import alias_rules, bounds, claim
from statemachine.kinds.t9k import general, immutable
from statemachine.kinds.t9k.hostfile import HOSTFILE_VOLUME
from statemachine.kinds.t9k.launcher import NAME_LENGTH, RESOURCES, TYPES, command_ignored
from statemachine.kinds.t9k.modes import RESUME_IGNORED
from statemachine.kinds.t9k.older import OLD_LIST
from statemachine.kinds.t9k.ssh import SSH_DIRECTORY, SSH_VOLUME, SSHD, reserved_mounts
from statemachine.kinds.t9k.templates import named_container, template_rules
from statemachine.kinds.t9k.workers import WORKER
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.lookup import entries, find, flag, is_object, text, texts

_SOURCE = "colossalaijob.md, section 2"


def _launcher_contents(draft: Draft) -> Iterator[Problem]:
    launcher = entries(draft.spec, "launcher")
    for fault in (*of_container("spec.launcher", launcher, ()), *nul("spec.launcher", launcher)):
        yield Problem("G20", *fault)


_LAUNCHER = Rule(
    "G20",
    Layer.CONTROLLER,
    says="what is in `launcher` is what an API server takes in a container",
    text="<path>: Invalid value: <value>: <what is allowed>",
    check=_launcher_contents,
    source="spec R2, G20",
)


def _one_form(draft: Draft) -> bool:
    """The older form has been rewritten by now, if it was whole and alone."""
    return all(draft.spec.get(name) is not None for name in TYPES) and not any(
        draft.spec.get(name) is not None for name in OLD
    )


_FORM = claim(
    "CA1",
    "spec: set either launcher and worker, or the deprecated torchConfig and replicaSpecs",
    _one_form,
    says="either `launcher` and `worker` are set, or, in the older form, `torchConfig` and in `replicaSpecs` one "
    "entry for each of the two",
    cel="(has(self.launcher) && has(self.worker) && !has(self.torchConfig) && !has(self.replicaSpecs)) || "
    "(!has(self.launcher) && !has(self.worker) && has(self.torchConfig) && has(self.replicaSpecs) && "
    "size(self.replicaSpecs) == 2 && self.replicaSpecs.exists(r, r.type == 'launcher') && "
    "self.replicaSpecs.exists(r, r.type == 'worker'))",
    source=_SOURCE,
)


_CONTAINER = named_container(
    "CA2",
    WORKER,
    WORKERS.slots,
    says="the template of the workers has a container called worker",
    at="spec.worker.template.spec.containers",
    source=_SOURCE,
)


def _no_command(draft: Draft) -> Iterator[Problem]:
    worker = draft.spec.get("worker")
    if is_object(worker) and not worker.get("command") and not flag(draft.spec, "runMode.debug.enabled"):
        yield Problem("CA3", "spec.worker.command", "Required value")


_COMMAND = Rule(
    "CA3",
    Layer.CONTROLLER,
    says="`worker.command` names a training script, unless in debug mode",
    text="spec.worker.command: Required value",
    check=_no_command,
    source=_SOURCE,
)

_SUSPICIOUS = "spec.worker.command[0] should be a .py file or -m"


def _strange_command(draft: Draft) -> Iterator[Notice]:
    words = texts(draft.spec, "worker.command")
    if words and words[0] != "-m" and not words[0].endswith(".py"):
        yield Notice("CommandSuspicious", _SUSPICIOUS)


_STRANGE = Rule(
    "CA4",
    Layer.WARNING,
    says="`worker.command` begins with a Python file or with `-m`: the launcher program refuses all else",
    text=_SUSPICIOUS,
    check=_strange_command,
    source=_SOURCE,
)


def _torch_args(draft: Draft) -> Iterator[Problem]:
    for option in torch_options(texts(draft.spec, "worker.torchArgs")):
        if not option.expressible:
            yield Problem(
                "CA5", f"spec.worker.torchArgs[{option.index}]", "cannot be passed to colossalai run"
            )


_TORCH_ARGS = Rule(
    "CA5",
    Layer.CONTROLLER,
    says="`worker.torchArgs` are `--name=value`, `--name value` or `--name`, without commas or a second `=`, and "
    "none that the launcher sets itself (`master_addr`, `master_port`, `nproc_per_node`, `nnodes`, `node_rank`)",
    text="spec.worker.torchArgs[<i>]: cannot be passed to colossalai run",
    check=_torch_args,
    source=_SOURCE,
)

_SSHD_PATH, _KEYS_PATH = (
    bounds(
        "CA7",
        path,
        says=f"`{path.removeprefix('spec.')}` is absolute",
        text=f"{path}: must be an absolute path",
        source="spec R15",
    )
    for path in ("spec.ssh.sshdPath", "spec.ssh.authMountPath")
)

_RESERVED = reserved_mounts(
    "CA7",
    WORKERS,
    lambda spec: [text(spec, "ssh.authMountPath") or SSH_DIRECTORY],
    source="spec R15",
)


def _no_image(draft: Draft) -> Iterator[Problem]:
    launcher = draft.spec.get("launcher")
    if is_object(launcher) and not find(launcher, "image"):
        yield Problem("CA8", "spec.launcher.image", "Required value")


_IMAGE = Rule(
    "CA8",
    Layer.CONTROLLER,
    says="`launcher.image` is set",
    text="spec.launcher.image: Required value",
    check=_no_image,
    source=_SOURCE,
)

_TEMPLATES = template_rules(WORKERS, volumes=(SSH_VOLUME, HOSTFILE_VOLUME))

RULES: tuple[Rule, ...] = (
    general.NAME,
    NAME_LENGTH,
    *_TEMPLATES[:2],
    RESOURCES,
    _LAUNCHER,
    *general.known_types(*TYPES),
    immutable.DEBUG,
    immutable.RESUME_SPECS,
    general.PRIORITY,
    *alias_rules(ColossalAISpec),
    *_TEMPLATES[2:],
    most_replicas(numbers_at("worker.replicas"), "spec.worker.replicas", "spec.replicaSpecs[*].replicas"),
    immutable.fixed("ssh.authMountPath", SSH_DIRECTORY, was="ssh.sshAuthMountPath"),
    immutable.fixed("ssh.sshdPath", SSHD),
    immutable.fixed("launcher.image"),
    immutable.fixed("launcher.workingDir"),
    immutable.fixed("launcher.env"),
    immutable.fixed("worker.replicas", 1),
    immutable.fixed("worker.procPerWorker", 1),
    immutable.fixed("worker.command"),
    immutable.fixed("worker.torchArgs"),
    immutable.fixed("torchConfig.procPerWorker", 1),
    immutable.fixed("torchConfig.script"),
    immutable.fixed("torchConfig.torchArgs"),
    OLD_LIST,
    immutable.SCHEDULER,
    immutable.FINISHED,
    _FORM,
    _CONTAINER,
    _COMMAND,
    _STRANGE,
    _TORCH_ARGS,
    command_ignored("CA6", WORKERS, source=_SOURCE),
    _SSHD_PATH,
    _KEYS_PATH,
    _RESERVED,
    _IMAGE,
    RESUME_IGNORED,
)
"""In the order of the spec."""
