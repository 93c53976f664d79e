"""TensorFlowTrainingJob: distributed training with TensorFlow, whose replicas know each other by TF_CONFIG."""

from functools import partial

from statemachine.kinds.t9k.family import T9kKind
from statemachine.kinds.t9k.kind import t9k_served
from statemachine.kinds.t9k.objects import POD_GROUP, hashed_pod_name
from statemachine.kinds.t9k.status import status
from statemachine.kinds.t9k.tensorboard import OWNED as TENSORBOARD
from statemachine.kinds.tensorflowtrainingjob.children import ENV, children
from statemachine.kinds.tensorflowtrainingjob.roles import LAYOUT, NAMES, plan
from statemachine.kinds.tensorflowtrainingjob.rules import RULES
from statemachine.kinds.tensorflowtrainingjob.spec import TensorFlowTrainingSpec
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.tensorflowtrainingjob.form import (
        FORM,  # the words of forms, which most programs never show
    )

    return FORM


KIND = T9kKind(
    names=NAMES,
    model=TensorFlowTrainingSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=hashed_pod_name,
    served=t9k_served(
        "Distributed training with TensorFlow. The end of the chief, or of worker 0 where there is none, is the "
        "job's end.",
        restarts=True,
        tensorboard=True,
    ),
    describe=partial(status, restarts=True),
    owns=(POD_GROUP, TENSORBOARD),
    look=_form,
    manual=Manual(("value",), ENV),
)
