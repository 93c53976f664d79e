"""DeepSpeedJob: distributed training started by deepspeed over SSH, elastic if wished."""

from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.deepspeedjob.children import ENV, children
from statemachine.kinds.deepspeedjob.roles import LAYOUT, NAMES, plan
from statemachine.kinds.deepspeedjob.rules import RULES
from statemachine.kinds.deepspeedjob.spec import DeepSpeedSpec
from statemachine.kinds.t9k.kind import RETRYABLE, t9k_served
from statemachine.kinds.t9k.objects import OWNER_KIND, plain_pod_name

KIND = ModelKind(
    names=NAMES,
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
    retryable_exit_codes=RETRYABLE,
    modes=("value",),
    env=ENV,
)
