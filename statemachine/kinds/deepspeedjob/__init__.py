"""DeepSpeedJob: distributed training started by deepspeed over SSH, elastic if wished."""

from functools import partial

from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.deepspeedjob.children import ENV, children
from statemachine.kinds.deepspeedjob.roles import ALIAS, LAYOUT, NAMES, plan
from statemachine.kinds.deepspeedjob.rules import RULES
from statemachine.kinds.deepspeedjob.spec import DeepSpeedSpec
from statemachine.kinds.t9k.kind import debugging, t9k_placement, t9k_served
from statemachine.kinds.t9k.life import FIXED_WHEN_FINISHED, LIFE, is_retryable, keeps
from statemachine.kinds.t9k.objects import (
    CONFIG_MAP,
    MASTER_LABEL,
    OWNER_KIND,
    OWNER_NAME,
    POD_GROUP,
    REPLICA_LABELS,
    plain_pod_name,
)
from statemachine.kinds.t9k.status import recorded, status
from statemachine.programs import Program
from statemachine.schema.form import SpecForm
from statemachine.schema.manual import Manual


def _form() -> SpecForm:
    from statemachine.kinds.deepspeedjob.form import (
        FORM,  # the words of forms, which most programs never show
    )

    return FORM


KIND = ModelKind(
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
    child_label=OWNER_KIND,
    name_label=OWNER_NAME,
    replica_labels=REPLICA_LABELS,
    primary_label=MASTER_LABEL,
    lifecycle=LIFE,
    describe=partial(status, restarts=True),
    read_status=recorded,
    keep=keeps,
    retryable=is_retryable,
    owns=(CONFIG_MAP, POD_GROUP),
    fixed=FIXED_WHEN_FINISHED,
    placement=t9k_placement,
    debugging=debugging,
    look=_form,
    programs=(Program("deepspeed", home_files=(".deepspeed_env",)),),
    manual=Manual(("value",), ENV),
)
