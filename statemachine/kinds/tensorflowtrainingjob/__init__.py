"""TensorFlowTrainingJob: distributed training with TensorFlow, whose replicas are told of each other by TF_CONFIG."""

from functools import partial

from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.t9k.kind import debugging, t9k_placement, t9k_served
from statemachine.kinds.t9k.life import FIXED_WHEN_FINISHED, LIFE, is_retryable, keeps
from statemachine.kinds.t9k.objects import (
    MASTER_LABEL,
    OWNER_KIND,
    OWNER_NAME,
    POD_GROUP,
    REPLICA_LABELS,
    hashed_pod_name,
)
from statemachine.kinds.t9k.status import recorded, status
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


KIND = ModelKind(
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
    child_label=OWNER_KIND,
    name_label=OWNER_NAME,
    replica_labels=REPLICA_LABELS,
    primary_label=MASTER_LABEL,
    lifecycle=LIFE,
    describe=partial(status, restarts=True),
    read_status=recorded,
    keep=keeps,
    retryable=is_retryable,
    owns=(POD_GROUP, TENSORBOARD),
    fixed=FIXED_WHEN_FINISHED,
    placement=t9k_placement,
    debugging=debugging,
    look=_form,
    manual=Manual(("value",), ENV),
)
