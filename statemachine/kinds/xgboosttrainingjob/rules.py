"""Which XGBoostTrainingJobs are accepted: the shared rules, XG1 and XG2.

Source: spec R2 and xgboosttrainingjob.md, section 2.
"""

from statemachine.kinds.common.counts import most_in_all, most_replicas
from statemachine.kinds.common.rule_builders import alias_rules, bounds, claim
from statemachine.kinds.t9k import general, immutable
from statemachine.kinds.t9k.listed import names_fit, numbers
from statemachine.kinds.t9k.modes import RESUME_IGNORED
from statemachine.kinds.t9k.templates import named_container, template_rules
from statemachine.kinds.xgboosttrainingjob.roles import CONTAINER, LAYOUT, MASTER
from statemachine.kinds.xgboosttrainingjob.spec import XGBoostTrainingSpec
from statemachine.rulebook import Draft, Rule
from statemachine.schema.lookup import items, number, text

_SOURCE = "xgboosttrainingjob.md, section 2"

_TYPE = bounds(
    "G3",
    "spec.replicaSpecs[*].type",
    says="a replica type is master or worker",
    source=_SOURCE,
)


def _has_one_master(draft: Draft) -> bool:
    masters = [item for _, item in items(draft.spec, "replicaSpecs") if text(item, "type") == MASTER]
    return [number(item, "replicas") in (None, 1) for item in masters] == [True]


_ONE_MASTER = claim(
    "XG1",
    "spec.replicaSpecs: exactly one master replica is required",
    _has_one_master,
    says="there is one master",
    cel="self.replicaSpecs.exists_one(r, r.type == 'master' && (!has(r.replicas) || r.replicas == 1))",
    source=_SOURCE,
)

_CONTAINER = named_container(
    "XG2",
    CONTAINER,
    LAYOUT.slots,
    says="every template has a container called xgboost",
    at="spec.replicaSpecs[i].template.spec.containers",
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
    *alias_rules(XGBoostTrainingSpec),
    *_TEMPLATES[2:],
    most_in_all(numbers, "spec.replicaSpecs"),
    most_replicas(numbers, "spec.replicaSpecs[*].replicas"),
    *immutable.fixed_replicas(),
    immutable.SCHEDULER,
    immutable.FINISHED,
    _ONE_MASTER,
    _CONTAINER,
    RESUME_IGNORED,
)
"""In the order of the spec."""
