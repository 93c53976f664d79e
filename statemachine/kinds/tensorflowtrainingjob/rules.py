"""Which TensorFlowTrainingJobs are accepted: the shared rules and TF1-TF4.

Source: spec R2 and tensorflowtrainingjob.md, section 2.
"""

from collections.abc import Iterator

from statemachine.kinds.common.counts import most_in_all, most_replicas
from statemachine.kinds.common.rule_builders import alias_rules, bounds, claim
from statemachine.kinds.t9k import general, immutable
from statemachine.kinds.t9k.listed import names_fit, numbers, scales
from statemachine.kinds.t9k.modes import RESUME_IGNORED
from statemachine.kinds.t9k.templates import named_container, template_rules
from statemachine.kinds.t9k.tensorboard import FILESETS
from statemachine.kinds.tensorflowtrainingjob.roles import CHIEF, CONTAINER, EVALUATOR, LAYOUT, WORKER
from statemachine.kinds.tensorflowtrainingjob.spec import TensorFlowTrainingSpec
from statemachine.rulebook import Draft, Layer, Notice, Rule

_SOURCE = "tensorflowtrainingjob.md, section 2"

_TYPE = bounds(
    "G3",
    "spec.replicaSpecs[*].type",
    says="a replica type is chief, worker, ps or evaluator",
    source=_SOURCE,
)

_CONTAINER = named_container(
    "TF1",
    CONTAINER,
    LAYOUT.slots,
    says="every template has a container called tensorflow",
    at="spec.replicaSpecs[i].template.spec.containers",
    source=_SOURCE,
)

_ONE_CHIEF = claim(
    "TF2",
    "spec.replicaSpecs: at most one chief replica",
    lambda draft: scales(draft.spec).get(CHIEF, 0) <= 1,
    says="there is at most one chief",
    cel="self.replicaSpecs.all(r, r.type != 'chief' || !has(r.replicas) || r.replicas <= 1)",
    source=_SOURCE,
)


def _somebody_trains(draft: Draft) -> bool:
    of = scales(draft.spec)
    return of.get(CHIEF, 0) >= 1 or of.get(WORKER, 0) >= 1


_PRIMARY = claim(
    "TF3",
    "spec.replicaSpecs: a chief or a worker is required",
    _somebody_trains,
    says="there is a chief or at least one worker",
    cel="self.replicaSpecs.exists(r, r.type in ['chief', 'worker'] && (!has(r.replicas) || r.replicas >= 1))",
    source=_SOURCE,
)

_SEVERAL_EVALUATORS = "more than one evaluator is unusual"


def _several_evaluators(draft: Draft) -> Iterator[Notice]:
    if scales(draft.spec).get(EVALUATOR, 0) > 1:
        yield Notice("EvaluatorReplicas", _SEVERAL_EVALUATORS)


_EVALUATORS = Rule(
    "TF4",
    Layer.WARNING,
    says="there is at most one evaluator",
    text=_SEVERAL_EVALUATORS,
    check=_several_evaluators,
    source=_SOURCE,
)

_TEMPLATES = template_rules(LAYOUT)

RULES: tuple[Rule, ...] = (
    general.NAME,
    names_fit(hashed=True),
    _TYPE,
    general.UNIQUE_TYPES,
    *_TEMPLATES[:2],
    *general.known_types(),
    immutable.DEBUG,
    immutable.RESUME_SPECS,
    general.PRIORITY,
    general.DEADLINE_AND_BUDGET,
    *alias_rules(TensorFlowTrainingSpec),
    FILESETS,
    *_TEMPLATES[2:],
    most_in_all(numbers, "spec.replicaSpecs"),
    most_replicas(numbers, "spec.replicaSpecs[*].replicas"),
    *immutable.fixed_replicas(),
    immutable.SCHEDULER,
    immutable.FINISHED,
    _CONTAINER,
    _ONE_CHIEF,
    _PRIMARY,
    _EVALUATORS,
    RESUME_IGNORED,
)
"""In the order of the spec."""
