"""ColossalAIJob: a launcher starts the training, with ColossalAI, on workers that wait for it with sshd."""

from functools import partial

from statemachine.kinds.colossalaijob.children import ENV, children
from statemachine.kinds.colossalaijob.older import modern
from statemachine.kinds.colossalaijob.roles import LAYOUT, NAMES, plan
from statemachine.kinds.colossalaijob.rules import RULES
from statemachine.kinds.colossalaijob.spec import ColossalAISpec
from statemachine.kinds.t9k.family import T9kKind
from statemachine.kinds.t9k.kind import t9k_served
from statemachine.kinds.t9k.launcher import launcher_pod_name
from statemachine.kinds.t9k.objects import CONFIG_MAP, POD_GROUP
from statemachine.kinds.t9k.status import status
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.colossalaijob.form import (
        FORM,  # the words of forms, which most programs never show
    )

    return FORM


KIND = T9kKind(
    names=NAMES,
    model=ColossalAISpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=launcher_pod_name,
    served=t9k_served(
        "Distributed training with ColossalAI. The launcher starts it on the workers, and its end is the job's "
        "end. Succeeded means ended: the launcher's log tells how the training went.",
        restarts=False,
    ),
    describe=partial(status, restarts=False),
    owns=(CONFIG_MAP, POD_GROUP),
    modern=modern,
    look=_form,
    manual=Manual(("always",), ENV),
)
