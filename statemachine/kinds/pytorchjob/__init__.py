"""PyTorchJob: distributed PyTorch training as the Kubeflow training operator knows it (group kubeflow.org)."""

from statemachine.kinds.common.kind import ModelKind
from statemachine.kinds.pytorchjob.children import children
from statemachine.kinds.pytorchjob.env import ENV, MODES
from statemachine.kinds.pytorchjob.replica_types import plan
from statemachine.kinds.pytorchjob.roles import LAYOUT, NAMES, OPERATOR, pod_name
from statemachine.kinds.pytorchjob.rules import RULES
from statemachine.kinds.pytorchjob.served import SERVED
from statemachine.kinds.pytorchjob.spec import PyTorchJobSpec

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
    lifecycle=(),
    describe=lambda _kind, _job: {},
    keep=lambda _job, _child: True,
    retryable=lambda exit_code: exit_code >= 128,
    modes=MODES,
    env=ENV,
    env_says="Set in every container, in this order, behind your own variables; one of the same name is dropped.",
    refused_as="PyTorchJobFailedValidation",
)
