"""DeepSpeedJob: distributed training started by deepspeed over SSH, elastic if wished."""

from functools import partial

from statemachine.kinds.deepspeedjob.children import ENV, children
from statemachine.kinds.deepspeedjob.roles import ALIAS, LAYOUT, NAMES, plan
from statemachine.kinds.deepspeedjob.rules import RULES
from statemachine.kinds.deepspeedjob.spec import DeepSpeedSpec
from statemachine.kinds.t9k.family import T9kKind
from statemachine.kinds.t9k.kind import t9k_served
from statemachine.kinds.t9k.objects import CONFIG_MAP, POD_GROUP, plain_pod_name
from statemachine.kinds.t9k.status import status
from statemachine.programs import Program
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.deepspeedjob.form import (
        FORM,  # the words of forms, which most programs never show
    )

    return FORM


KIND = T9kKind(
    names=NAMES,
    aliases=(ALIAS,),
    model=DeepSpeedSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=plain_pod_name,
    served=t9k_served(
        "Distributed training with DeepSpeed. worker-0 runs the launcher: its end is the job's end.",
        restarts=True,
        elastic=True,
    ),
    describe=partial(status, restarts=True),
    owns=(CONFIG_MAP, POD_GROUP),
    look=_form,
    programs=(Program("deepspeed", home_files=(".deepspeed_env",)),),
    manual=Manual(("value",), ENV),
)
