"""PyTorchJob: distributed PyTorch training as the Kubeflow training operator knows it (group kubeflow.org)."""

from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.common.torchrun import TORCHRUN
from statemachine.kinds.pytorchjob.children import OWNS, children
from statemachine.kinds.pytorchjob.ending import keeps
from statemachine.kinds.pytorchjob.env import ENV, ENV_SAYS, MODES
from statemachine.kinds.pytorchjob.gang import placement
from statemachine.kinds.pytorchjob.life import LIFE
from statemachine.kinds.pytorchjob.replica_types import plan, scaled, scaling
from statemachine.kinds.pytorchjob.restarts import is_retryable
from statemachine.kinds.pytorchjob.roles import (
    JOB_NAME,
    LAYOUT,
    MASTER_LABEL,
    NAMES,
    OPERATOR,
    QUEUE,
    REPLICA_LABELS,
    pod_name,
)
from statemachine.kinds.pytorchjob.rules import RULES
from statemachine.kinds.pytorchjob.served import SERVED
from statemachine.kinds.pytorchjob.settings import PyTorchJobSettings
from statemachine.kinds.pytorchjob.spec import PyTorchJobSpec
from statemachine.kinds.pytorchjob.status import counted, recorded, stated_phase, status
from statemachine.kinds.pytorchjob.tally import budget
from statemachine.kinds.pytorchjob.words import TROUBLES
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.pytorchjob.form import FORM  # the words of forms, which most programs never show

    return FORM


KIND = ModelKind(
    names=NAMES,
    model=PyTorchJobSpec,
    rules=RULES,
    layout=LAYOUT,
    plan=plan,
    objects=children,
    pod_name=pod_name,
    served=SERVED,
    child_label=OPERATOR,
    name_label=JOB_NAME,
    replica_labels=REPLICA_LABELS,
    primary_label=MASTER_LABEL,
    lifecycle=LIFE,
    describe=status,
    read_status=recorded,
    keep=keeps,
    retryable=is_retryable,
    placement=placement,
    troubles=TROUBLES,
    phase_stated=stated_phase,
    count=counted,
    look=_form,
    programs=(TORCHRUN,),
    manual=Manual(MODES, ENV, ENV_SAYS),
    refused_as="PyTorchJobFailedValidation",
    pause=lambda on: {"runPolicy": {"suspend": on}},
    scalable=scaling,
    owns=OWNS,
    opt_in=PyTorchJobSettings,
    expires=True,
    allowance=budget,
    queue_label=QUEUE,
    scaled=scaled,
)
