"""GenericJob: pods of any program; rules over their ends decide the result."""

from functools import partial

from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.genericjob.children import ENV, ENV_SAYS, children
from statemachine.kinds.genericjob.life import LIFE, budget
from statemachine.kinds.genericjob.roles import LAYOUT, NAMES, plan
from statemachine.kinds.genericjob.rules import RULES
from statemachine.kinds.genericjob.spec import GenericSpec
from statemachine.kinds.t9k.kind import debugging, t9k_placement, t9k_served
from statemachine.kinds.t9k.life import FIXED_WHEN_FINISHED, is_retryable, keeps
from statemachine.kinds.t9k.objects import (
    MASTER_LABEL,
    OWNER_KIND,
    OWNER_NAME,
    POD_GROUP,
    REPLICA_LABELS,
    plain_pod_name,
)
from statemachine.kinds.t9k.status import recorded, status
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.genericjob.form import FORM  # the words of forms, which most programs never show

    return FORM


KIND = ModelKind(
    names=NAMES,
    model=GenericSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=plain_pod_name,
    served=t9k_served(
        "Several pods of any program. Success and failure rules say which of them decide the result.",
        restarts=False,
    ),
    child_label=OWNER_KIND,
    name_label=OWNER_NAME,
    replica_labels=REPLICA_LABELS,
    primary_label=MASTER_LABEL,
    lifecycle=LIFE,
    describe=partial(status, restarts=False),
    read_status=recorded,
    keep=keeps,
    retryable=is_retryable,
    owns=(POD_GROUP,),
    fixed=FIXED_WHEN_FINISHED,
    placement=t9k_placement,
    debugging=debugging,
    look=_form,
    manual=Manual(("value",), ENV, ENV_SAYS),
    allowance=budget,
)
