"""Which DeepSpeedJobs are accepted: the shared rules and DS1-DS11.

Source: spec R2 and deepspeedjob.md, section 2.
"""

from collections.abc import Iterator

from statemachine.errors import Problem
from statemachine.kinds.common.counts import most_replicas, numbers_at
from statemachine.kinds.common.names import cel_fits, digits, name_length
from statemachine.kinds.common.rule_builders import alias_rules, claim
from statemachine.kinds.deepspeedjob import other_args
from statemachine.kinds.deepspeedjob.launch import ENV_FILE
from statemachine.kinds.deepspeedjob.roles import LAYOUT, most_workers
from statemachine.kinds.deepspeedjob.spec import DeepSpeedSpec
from statemachine.kinds.t9k import general, immutable
from statemachine.kinds.t9k.elastic import elastic_rules, scale_ignored
from statemachine.kinds.t9k.hostfile import HOSTFILE_VOLUME
from statemachine.kinds.t9k.modes import RESUME_IGNORED
from statemachine.kinds.t9k.ssh import SSH_DIRECTORY, SSH_VOLUME, reserved_mounts
from statemachine.kinds.t9k.templates import template_rules
from statemachine.kinds.t9k.workers import WORKER
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.lookup import entries, find, flag, items, text

_SOURCE = "deepspeedjob.md, section 2"


_NAME_LENGTH = name_length(
    "G2",
    lambda spec: 1 + 6 + 1 + digits(most_workers(spec)),
    says="`<job>-worker-<index>` has at most 63 characters, for every index that there may be",
    cel=cel_fits(
        "1 + 6 + 1",
        "has(self.spec.elastic) && on(self.spec.elastic) ? "
        "(has(self.spec.elastic.maxReplicas) ? self.spec.elastic.maxReplicas : 1) : "
        "(has(self.spec.worker.replicas) ? self.spec.worker.replicas : 1)",
    ),
    source="spec R2, G2",
)

# ---- DS1, DS2: what is run ----------------------------------------------------------------------------------------

_PROGRAMS = ("python", "module", "exec")
_ONE_PROGRAM = "spec.config.run: exactly one of python, module, exec must be set"


def _chosen(draft: Draft) -> list[str]:
    return [program for program in _PROGRAMS if find(draft.spec, f"config.run.{program}") is not None]


def _starts_nothing(draft: Draft) -> bool:
    """Nothing is asked for: in debug mode nothing has to be."""
    return flag(draft.spec, "runMode.debug.enabled") or bool(text(draft.spec, "config.customCommand"))


_CONFIG = claim(
    "DS1",
    "spec.config: Required value",
    lambda draft: find(draft.spec, "config") is not None or flag(draft.spec, "runMode.debug.enabled"),
    says="`config` is there, but for debug mode",
    cel="has(self.config) || (has(self.runMode) && has(self.runMode.debug) && on(self.runMode.debug))",
    source="deepspeedjob.md, section 1",
)


def _several(draft: Draft) -> Iterator[Problem]:
    if len(_chosen(draft)) > 1:
        yield Problem("DS1", "spec.config.run", _ONE_PROGRAM.partition(": ")[2])


_AT_MOST_ONE = Rule(
    "DS1",
    Layer.SCHEMA,
    says="at most one of `python`, `module` and `exec` is set in `config.run`",
    text=_ONE_PROGRAM,
    check=_several,
    fields=("spec.config.run",),
    source=_SOURCE,
)


def _none(draft: Draft) -> Iterator[Problem]:
    there = isinstance(find(draft.spec, "config"), dict)
    if there and not _chosen(draft) and not _starts_nothing(draft):
        yield Problem("DS1", "spec.config.run", _ONE_PROGRAM.partition(": ")[2])


_AT_LEAST_ONE = Rule(
    "DS1",
    Layer.CONTROLLER,
    says="one of them is, unless there is a `customCommand`, or in debug mode",
    text=_ONE_PROGRAM,
    check=_none,
    source=_SOURCE,
)


def _empty(draft: Draft) -> Iterator[Problem]:
    chosen = _chosen(draft)
    if _starts_nothing(draft) or len(chosen) > 1:
        return
    for name in chosen:
        if find(draft.spec, f"config.run.{name}") == []:
            yield Problem("DS2", f"spec.config.run.{name}", "Required value")


_PROGRAM = Rule(
    "DS2",
    Layer.CONTROLLER,
    says="the chosen one is not empty, unless in debug mode",
    text="spec.config.run.<x>: Required value",
    check=_empty,
    source=_SOURCE,
)

# ---- DS7-DS11 -----------------------------------------------------------------------------------------------------

_IGNORED = "spec.config.customCommand is set; other config fields except slotsPerWorker are ignored"


def _config_ignored(draft: Draft) -> Iterator[Notice]:
    config = entries(draft.spec, "config")
    said = (
        bool(_chosen(draft)),
        bool(config.get("otherArgs")),
        config.get("autotune") in ("run", "tune"),
        config.get("localRank") is False,
    )
    if text(config, "customCommand") and any(said):
        yield Notice("ConfigIgnored", _IGNORED)


_CUSTOM = Rule(
    "DS7",
    Layer.WARNING,
    says="with `customCommand` there is no `run`, `otherArgs`, `autotune` or `localRank: false`",
    text=_IGNORED,
    check=_config_ignored,
    source=_SOURCE,
)

_RESERVED = reserved_mounts("DS8", LAYOUT, lambda _: (SSH_DIRECTORY, ENV_FILE), source=_SOURCE)


def _tuned_and_elastic(draft: Draft) -> Iterator[Problem]:
    if flag(draft.spec, "elastic.enabled") and text(draft.spec, "config.autotune") in ("run", "tune"):
        yield Problem("DS10", "spec.elastic", "cannot be combined with config.autotune")


_NOT_BOTH = Rule(
    "DS10",
    Layer.CONTROLLER,
    says="elastic training has no `config.autotune`",
    text="spec.elastic: cannot be combined with config.autotune",
    check=_tuned_and_elastic,
    source=_SOURCE,
)


def _of_several_lines(draft: Draft) -> Iterator[Notice]:
    if flag(draft.spec, "disableCustomEnv"):
        return
    for slot in LAYOUT.slots(draft.spec):
        training = LAYOUT.training(slot)
        for _, entry in items(training[1] if training else None, "env"):
            if "\n" in text(entry, "value"):
                name = text(entry, "name")
                yield Notice("EnvNotForwarded", f'env "{name}" spans several lines and is not forwarded')


_LINES = Rule(
    "DS11",
    Layer.WARNING,
    says="no variable of the training container has a line break in its value",
    text='env "<n>" spans several lines and is not forwarded',
    check=_of_several_lines,
    source=_SOURCE,
)

_NUMBERS = ("worker.replicas", "elastic.maxReplicas")
_TEMPLATES = template_rules(LAYOUT, volumes=(SSH_VOLUME, HOSTFILE_VOLUME))

RULES: tuple[Rule, ...] = (
    general.NAME,
    _NAME_LENGTH,
    *_TEMPLATES[:2],
    *general.known_types(WORKER),
    immutable.DEBUG,
    immutable.RESUME_SPECS,
    general.PRIORITY,
    general.DEADLINE_AND_BUDGET,
    *alias_rules(DeepSpeedSpec),
    *_TEMPLATES[2:],
    most_replicas(numbers_at(*_NUMBERS), *(f"spec.{path}" for path in _NUMBERS)),
    immutable.fixed("worker.replicas", 1),
    immutable.fixed("worker.restartPolicy", "OnFailure"),
    immutable.fixed("config.slotsPerWorker", 0, was="config.slotPerWorker"),
    immutable.fixed_unread("config.run"),
    immutable.fixed("config.localRank", default=True),
    immutable.fixed("config.autotune", "none"),
    immutable.fixed("config.otherArgs"),
    immutable.fixed("config.customCommand"),
    immutable.fixed("disableCustomEnv", default=False),
    immutable.SCHEDULER,
    immutable.FINISHED,
    _CONFIG,
    _AT_MOST_ONE,
    _AT_LEAST_ONE,
    _PROGRAM,
    other_args.CONFLICTS,
    other_args.CONTROLLERS,
    other_args.PORT,
    other_args.LAUNCHER,
    other_args.ONE_WORKER,
    _CUSTOM,
    _RESERVED,
    *elastic_rules("DS9", "DS9", "DS9", "DS9"),
    _NOT_BOTH,
    _LINES,
    scale_ignored(lambda spec: flag(spec, "elastic.enabled"), most_workers),
    RESUME_IGNORED,
)
"""In the order of the spec."""
