"""GenericJob: pods of any program; rules over their ends decide the result."""

from functools import partial

from statemachine.kinds.genericjob.children import ENV, ENV_SAYS, children
from statemachine.kinds.genericjob.life import LIFE, budget
from statemachine.kinds.genericjob.roles import LAYOUT, NAMES, plan
from statemachine.kinds.genericjob.rules import RULES
from statemachine.kinds.genericjob.spec import GenericSpec
from statemachine.kinds.t9k.family import T9kKind
from statemachine.kinds.t9k.kind import t9k_served
from statemachine.kinds.t9k.objects import plain_pod_name
from statemachine.kinds.t9k.status import status
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.genericjob.form import FORM  # the words of forms, which most programs never show

    return FORM


KIND = T9kKind(
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
    lifecycle=LIFE,
    describe=partial(status, restarts=False),
    look=_form,
    manual=Manual(("value",), ENV, ENV_SAYS),
    allowance=budget,
)
