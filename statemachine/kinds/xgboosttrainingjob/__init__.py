"""XGBoostTrainingJob: distributed training with XGBoost, a master and its workers."""

from functools import partial

from statemachine.kinds.t9k.family import T9kKind
from statemachine.kinds.t9k.kind import t9k_served
from statemachine.kinds.t9k.objects import hashed_pod_name
from statemachine.kinds.t9k.status import status
from statemachine.kinds.xgboosttrainingjob.children import ENV, children
from statemachine.kinds.xgboosttrainingjob.roles import LAYOUT, NAMES, plan
from statemachine.kinds.xgboosttrainingjob.rules import RULES
from statemachine.kinds.xgboosttrainingjob.spec import XGBoostTrainingSpec
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.xgboosttrainingjob.form import (
        FORM,  # the words of forms, which most programs never show
    )

    return FORM


KIND = T9kKind(
    names=NAMES,
    model=XGBoostTrainingSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=hashed_pod_name,
    served=t9k_served(
        "Distributed training with XGBoost. The master's end is the job's end.",
        restarts=True,
    ),
    describe=partial(status, restarts=True),
    look=_form,
    manual=Manual(("value",), ENV),
)
