"""The form of a GenericJob: names and sentences of the fields that it alone has."""

from typing import Final

from statemachine.kinds.t9k.form import t9k_form
from statemachine.schema.form import FieldLabels

LABELS: Final[FieldLabels] = {
    "policy": ("Policy", "策略"),
    "limit": ("Most restarts of each replica", "每个副本的最大重启次数"),
    "successRules": ("Success rules", "成功规则"),
    "failureRules": ("Failure rules", "失败规则"),
    "spec.service": ("Services", "服务"),
    "ports": ("Ports", "端口"),
    "spec.service.ports[].name": ("Name", "名称"),
    "port": ("Port", "端口"),
    "targetPort": ("Port of the container", "容器端口"),
}

CHINESE: Final[dict[str, str]] = {
    "The replicas by type.": "各类型的副本。",
    "When, and how often, a replica of this type is restarted.": "该类型的副本何时重启、最多重启几次。",
    "Which ends of a pod make the controller start it again.": "Pod 以何种方式结束时由控制器重新启动。",
    "Most restarts of each replica of this type.": "该类型每个副本的最大重启次数。",
    (
        "The job has succeeded when all replicas that one of these rules names have succeeded: replica type to "
        "list of indexes. Default: one rule that names every replica."
    ): (
        "其中任一规则所列的副本全部成功时，Job 成功。规则为副本类型到序号列表的映射。默认：一条列出所有副本的"
        "规则。"
    ),
    (
        "The job has failed when all replicas that one of these rules names have failed and are not restarted. "
        "Default: a rule for each replica."
    ): "其中任一规则所列的副本全部失败且不再重启时，Job 失败。默认：每个副本各一条规则。",
    "Make a headless Service for each replica, named as its pod. Default: no Services.": (
        "为每个副本创建与其 Pod 同名的 headless Service。默认：不创建。"
    ),
    "Ports of each Service.": "每个 Service 的端口。",
    "Its name; required if there are several.": "端口名称；有多个端口时必填。",
    "The port, 1 to 65535.": "端口号，1 至 65535。",
    "Number or name of the container's port. Default: port.": "容器端口的编号或名称。默认：与 port 相同。",
}

FORM: Final = t9k_form(LABELS, CHINESE)
