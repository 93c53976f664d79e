"""PyTorchTrainingJob: distributed PyTorch training, started plainly or with torchrun, elastic if wished."""

from functools import partial

from statemachine.kinds.common.torchrun import TORCHRUN
from statemachine.kinds.pytorchtrainingjob.children import ENV, children
from statemachine.kinds.pytorchtrainingjob.roles import LAYOUT, NAMES, plan, scaling
from statemachine.kinds.pytorchtrainingjob.rules import RULES
from statemachine.kinds.pytorchtrainingjob.spec import PyTorchTrainingSpec
from statemachine.kinds.t9k.family import T9kKind
from statemachine.kinds.t9k.kind import t9k_served
from statemachine.kinds.t9k.objects import POD_GROUP, hashed_pod_name
from statemachine.kinds.t9k.status import status
from statemachine.kinds.t9k.tensorboard import OWNED as TENSORBOARD
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.pytorchtrainingjob.form import (
        FORM,  # the words of forms, which most programs never show
    )

    return FORM


KIND = T9kKind(
    names=NAMES,
    model=PyTorchTrainingSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=hashed_pod_name,
    served=t9k_served(
        "Distributed training with PyTorch. The first replica of replicaSpecs[0] is the master: its end is "
        "the job's end.",
        restarts=True,
        tensorboard=True,
        elastic=True,
    ),
    describe=partial(status, restarts=True),
    owns=(POD_GROUP, TENSORBOARD),
    scalable=scaling,
    look=_form,
    programs=(TORCHRUN,),
    manual=Manual(("plain", "torchrun"), ENV),
)
