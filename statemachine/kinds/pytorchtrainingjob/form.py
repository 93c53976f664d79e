"""The form of a PyTorchTrainingJob: names and sentences of the fields that it alone has."""

from typing import Any, Final

from statemachine.kinds.pytorchtrainingjob.roles import LAYOUT
from statemachine.kinds.t9k.form import t9k_form
from statemachine.schema.form import FieldLabels
from statemachine.schema.lookup import flag

LABELS: Final[FieldLabels] = {
    "spec.torchrunConfig": ("TorchRun", "TorchRun"),
    "spec.torchrunConfig.enabled": ("Use TorchRun", "使用 TorchRun"),
    "spec.torchrunConfig.maxRestarts": ("Maximum restarts", "最大重启次数"),
    "spec.torchrunConfig.procPerNode": ("Maximum processes per node", "单节点最大进程数"),
    "extraOptions": ("Extra options", "其他选项"),
    "scalingWeight": ("Scaling weight", "伸缩权重"),
}

CHINESE: Final[dict[str, str]] = {
    "The replicas by type. The first replica of the first type is the master.": (
        "各类型的副本。第一个类型的第一个副本是 master。"
    ),
    (
        "Share of this type when elastic training spreads replicas over the types. 0: always as many "
        "as replicas says."
    ): "弹性训练在各类型间分配副本时该类型的份额。0：始终为 replicas 指定的数量。",
    "Start the training with torchrun.": "使用 torchrun 启动训练。",
    (
        "Start the training with torchrun; the command of the training container is then ignored. "
        "Default false."
    ): "使用 torchrun 启动训练；此时忽略训练容器的命令。默认 false。",
    (
        "How often torchrun restarts its processes inside living pods. Not to be confused with "
        "runPolicy.backoffLimit, which counts pods. Default: as torchrun has it."
    ): (
        "torchrun 在存活的 Pod 内重启其进程的次数。与 runPolicy.backoffLimit 不同，后者统计 Pod。默认："
        "torchrun 的默认值。"
    ),
    "Processes per replica: a number, gpu (one for each GPU), cpu or auto.": (
        "每个副本的进程数：数字、gpu（每个 GPU 一个）、cpu 或 auto。"
    ),
    "Further options of torchrun. They win over the generated ones.": (
        "torchrun 的其他选项，优先于系统生成的选项。"
    ),
    "Let the number of replicas change; only with torchrun.": "允许副本数量变化；仅限使用 torchrun 时。",
}


def _completed(spec: dict[str, Any]) -> dict[str, Any]:
    """Without torchrun, arguments alone are those of `python`."""
    if flag(spec, "torchrunConfig.enabled") or flag(spec, "runMode.debug.enabled"):
        return spec
    for slot in LAYOUT.slots(spec):
        training = LAYOUT.training(slot)
        container: Any = training[1] if training else {}
        if container.get("args") and not container.get("command"):
            container["command"] = ["python"]
    return spec


FORM: Final = t9k_form(
    LABELS,
    CHINESE,
    first=("torchrunConfig",),
    needs={"spec.elastic": "spec.torchrunConfig.enabled"},
    completed=_completed,
)
