"""Which PyTorchTrainingJobs are accepted: the shared rules and PT1-PT12.

Source: spec R2 and pytorchtrainingjob.md, section 2.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from statemachine.errors import Problem
from statemachine.kinds.common.counts import most_in_all, most_replicas, numbers_at
from statemachine.kinds.common.names import cel_fits, digits, name_length
from statemachine.kinds.common.rule_builders import alias_rules, bounds, claim
from statemachine.kinds.pytorchtrainingjob.roles import LAYOUT, is_elastic
from statemachine.kinds.pytorchtrainingjob.spec import PyTorchTrainingSpec
from statemachine.kinds.t9k import general, immutable
from statemachine.kinds.t9k.elastic import elastic_rules, scale_ignored
from statemachine.kinds.t9k.listed import numbers
from statemachine.kinds.t9k.modes import RESUME_IGNORED
from statemachine.kinds.t9k.templates import template_rules
from statemachine.kinds.t9k.tensorboard import FILESETS
from statemachine.rulebook import Draft, Layer, Notice, Rule
from statemachine.schema.lookup import find, flag, items, number, text, texts

_SOURCE = "pytorchtrainingjob.md, section 2"


def _longest(spec: Mapping[str, Any]) -> int:
    """What follows the job's name: `-<5 digits>-<type>-<index>`."""
    tails = (
        6 + 1 + len(text(item, "type")) + 1 + digits(_most(spec, item))
        for _, item in items(spec, "replicaSpecs")
    )
    return max(tails, default=0)


def _most(spec: Mapping[str, Any], item: Mapping[str, Any]) -> int:
    """As many replicas as a type may have before the spec changes."""
    most = number(spec, "elastic.maxReplicas")
    if is_elastic(spec) and most is not None and find(item, "scalingWeight") != 0:
        return most
    return _or_one(find(item, "replicas"))


_NAME_LENGTH = name_length(
    "G2",
    _longest,
    says="`<job>-<5 digits>-<type>-<index>` has at most 63 characters, for every index that there may be now",
    cel="self.spec.replicaSpecs.all(r, "
    + cel_fits(
        "6 + 1 + size(r.type) + 1",
        "has(self.spec.elastic) && on(self.spec.elastic) && has(self.spec.elastic.maxReplicas) && "
        "has(self.spec.torchrunConfig) && on(self.spec.torchrunConfig) && "
        "(!has(r.scalingWeight) || r.scalingWeight != 0) ? self.spec.elastic.maxReplicas : "
        "(has(r.replicas) ? r.replicas : 1)",
    )
    + ")",
    source="spec R2, G2",
)


def _has_master(draft: Draft) -> bool:
    first = next((item for index, item in items(draft.spec, "replicaSpecs") if index == 0), None)
    return first is None or number(first, "replicas") != 0


_MASTER = claim(
    "PT1",
    "spec.replicaSpecs[0].replicas: must be at least 1, its first replica is the master",
    _has_master,
    says="`replicaSpecs[0].replicas` ≥ 1",
    cel="!has(self.replicaSpecs[0].replicas) || self.replicaSpecs[0].replicas >= 1",
    source=_SOURCE,
)

_ELASTIC_IGNORED = "spec.elastic is ignored: it takes effect only with torchrunConfig.enabled=true"


def _elastic_ignored(draft: Draft) -> Iterator[Notice]:
    if flag(draft.spec, "elastic.enabled") and not is_elastic(draft.spec):
        yield Notice("ElasticIgnored", _ELASTIC_IGNORED)


_ELASTIC_NEEDS_TORCHRUN = Rule(
    "PT2",
    Layer.WARNING,
    says="elastic training is started with torchrun; without it the job runs as if `elastic` were off",
    text=_ELASTIC_IGNORED,
    check=_elastic_ignored,
    source=_SOURCE,
)

_PROC_PER_NODE = bounds(
    "PT7",
    "spec.torchrunConfig.procPerNode",
    says='`torchrunConfig.procPerNode` is a positive number, "gpu", "cpu" or "auto"',
    text='spec.torchrunConfig.procPerNode: must be a positive number, "gpu", "cpu" or "auto"',
    source=_SOURCE,
)


def _has_endpoint(draft: Draft) -> bool:
    backend = text(draft.spec, "torchrunConfig.rdzvBackend") or "c10d"
    options = texts(draft.spec, "torchrunConfig.extraOptions")
    return backend == "c10d" or any(
        option.startswith(("--rdzv_endpoint", "--rdzv-endpoint")) for option in options
    )


_ENDPOINT = claim(
    "PT8",
    "spec.torchrunConfig: rdzvBackend etcd needs --rdzv_endpoint in extraOptions",
    _has_endpoint,
    says="a rendezvous backend other than c10d has its endpoint in `extraOptions`",
    cel="!has(self.torchrunConfig) || self.torchrunConfig.?rdzvBackend.orValue('c10d') == 'c10d' || "
    "(has(self.torchrunConfig.extraOptions) && self.torchrunConfig.extraOptions.exists(o, "
    "o.startsWith('--rdzv_endpoint') || o.startsWith('--rdzv-endpoint')))",
    source=_SOURCE,
)


def _script_missing(draft: Draft) -> Iterator[Problem]:
    if not flag(draft.spec, "torchrunConfig.enabled") or flag(draft.spec, "runMode.debug.enabled"):
        return
    for slot in LAYOUT.slots(draft.spec):
        training = LAYOUT.training(slot)
        if training is not None and not training[1].get("args"):
            path = f"{slot.path}.containers[{training[0]}].args"
            yield Problem("PT9", path, "Required value: torchrun needs the training script in args")


_SCRIPT = Rule(
    "PT9",
    Layer.CONTROLLER,
    says="with torchrun, and not in debug mode, the training container of every template has `args`",
    text="<path>.containers[<i>].args: Required value: torchrun needs the training script in args",
    check=_script_missing,
    source=_SOURCE,
)


def _command_ignored(draft: Draft) -> Iterator[Notice]:
    trainings = [LAYOUT.training(slot) for slot in LAYOUT.slots(draft.spec)]
    if flag(draft.spec, "torchrunConfig.enabled") and any(
        training and training[1].get("command") for training in trainings
    ):
        yield Notice("CommandIgnored", "command is ignored when torchrun is enabled")


_COMMAND = Rule(
    "PT10",
    Layer.WARNING,
    says="with torchrun the training container has no `command`",
    text="command is ignored when torchrun is enabled",
    check=_command_ignored,
    source=_SOURCE,
)


def _enough_for_all_types(draft: Draft) -> bool:
    low = number(draft.spec, "elastic.minReplicas")
    if not flag(draft.spec, "elastic.enabled") or low is None:
        return True
    specs = [item for _, item in items(draft.spec, "replicaSpecs")]
    stay = [_or_one(find(spec_, "replicas")) for spec_ in specs if find(spec_, "scalingWeight") == 0]
    return len(stay) < len(specs) and low >= sum(stay) + len(specs) - len(stay)


def _or_one(value: object) -> int:
    return value if isinstance(value, int) else 1


_WEIGHT_0 = "self.replicaSpecs.filter(r, r.?scalingWeight.orValue(1) == 0)"

_ENOUGH = claim(
    "PT11",
    "spec.elastic.minReplicas: too small for the number of replica types",
    _enough_for_all_types,
    says="`elastic.minReplicas` leaves one replica for every type that is scaled, and there is such a type",
    cel="!has(self.elastic) || !on(self.elastic) || !has(self.elastic.minReplicas) || "
    f"(size({_WEIGHT_0}) < size(self.replicaSpecs) && self.elastic.minReplicas >= "
    f"{_WEIGHT_0}.map(r, r.?replicas.orValue(1)).sum() + size(self.replicaSpecs) - size({_WEIGHT_0}))",
    source=_SOURCE,
)


def _late_master(draft: Draft) -> Iterator[Notice]:
    if any(index > 0 and text(item, "type") == "master" for index, item in items(draft.spec, "replicaSpecs")):
        yield Notice("MasterNotFirst", "the master is the first replica of replicaSpecs[0]")


_FIRST = Rule(
    "PT12",
    Layer.WARNING,
    says="a replica type called master comes first",
    text="the master is the first replica of replicaSpecs[0]",
    check=_late_master,
    source=_SOURCE,
)


def _all_numbers(spec: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    yield from numbers(spec)
    yield from numbers_at("elastic.maxReplicas")(spec)


def _numbers_that_add_up(spec: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """None of an elastic job: its number is `expectedReplicas`, within bounds of its own."""
    return iter(()) if is_elastic(spec) else numbers(spec)


_G_RULES = (
    general.NAME,
    _NAME_LENGTH,
    general.TYPE_NAME,
    general.UNIQUE_TYPES,
    *template_rules(LAYOUT)[:2],
    *general.known_types(),
    immutable.DEBUG,
    immutable.RESUME_SPECS,
    general.PRIORITY,
    general.DEADLINE_AND_BUDGET,
    *alias_rules(PyTorchTrainingSpec),
    FILESETS,
    *template_rules(LAYOUT)[2:],
    most_in_all(_numbers_that_add_up, "spec.replicaSpecs"),
    most_replicas(_all_numbers, "spec.replicaSpecs[*].replicas", "spec.elastic.maxReplicas"),
    *immutable.fixed_replicas(),
    immutable.fixed_in_items("replicaSpecs", "scalingWeight", 1),
    immutable.fixed_switch("torchrunConfig"),
    immutable.fixed("torchrunConfig.maxRestarts"),
    immutable.fixed("torchrunConfig.procPerNode", as_text=True),
    immutable.fixed("torchrunConfig.rdzvBackend", "c10d"),
    immutable.fixed("torchrunConfig.extraOptions"),
    immutable.SCHEDULER,
    immutable.FINISHED,
)

_ELASTIC = elastic_rules("PT3", "PT4", "PT5", "PT6")

RULES: tuple[Rule, ...] = (
    *_G_RULES,
    _MASTER,
    _ELASTIC_NEEDS_TORCHRUN,
    *_ELASTIC,
    _PROC_PER_NODE,
    _ENDPOINT,
    _SCRIPT,
    _COMMAND,
    _ENOUGH,
    _FIRST,
    scale_ignored(is_elastic, lambda spec: sum(value for _, value in numbers(spec))),
    RESUME_IGNORED,
)
"""In the order of the spec."""
