"""The form of a BeamJob: names and sentences of the fields that it alone has."""

from typing import Final

from statemachine.kinds.t9k.form import t9k_form
from statemachine.schema.form import FieldLabels

LABELS: Final[FieldLabels] = {
    "flinkClusterTemplate": ("Flink cluster", "Flink 集群"),
    "spec.flinkClusterTemplate.metadata": ("Labels and annotations", "标签和注解"),
    "labels": ("Labels", "标签"),
    "annotations": ("Annotations", "注解"),
    "spec.flinkClusterTemplate.spec": ("Cluster", "集群"),
    "flinkVersion": ("Flink version", "Flink 版本"),
    "spec.flinkClusterTemplate.spec.image.name": ("Name", "名称"),
    "pullPolicy": ("Pull policy", "拉取策略"),
    "jobManager": ("JobManager", "作业管理器"),
    "accessScope": ("Access", "访问范围"),
    "taskManager": ("TaskManagers", "任务管理器"),
    "flinkProperties": ("Flink properties", "Flink 配置项"),
    "jobTemplate": ("Job that submits the program", "提交程序的 Job"),
    "cleanUpCluster": ("Clean up the cluster", "清理集群"),
}

CHINESE: Final[dict[str, str]] = {
    "The Flink cluster.": "Flink 集群。",
    "Labels and annotations of the Flink pods.": "Flink Pod 的标签和注解。",
    "Labels of the Flink pods; those of the controller win.": "Flink Pod 的标签；与控制器的标签冲突时以后者为准。",
    "Annotations of the Flink pods.": "Flink Pod 的注解。",
    "The cluster itself.": "集群本身。",
    "Version of Flink, x.y.z: the program is submitted by the runner for x.y.": (
        "Flink 版本 x.y.z：程序由适用于 x.y 的 runner 提交。"
    ),
    "The container image of Flink.": "Flink 的容器镜像。",
    "Its name, for example flink:1.16.3.": "镜像名称，例如 flink:1.16.3。",
    "When the image is pulled.": "何时拉取镜像。",
    "The Flink JobManager.": "Flink 的 JobManager。",
    "Who may reach Flink's web interface.": "谁可以访问 Flink 的网页界面。",
    "Resources of the container: requests and limits.": "容器的资源：请求和上限。",
    "The Flink TaskManagers.": "Flink 的 TaskManager。",
    "Number of TaskManagers.": "TaskManager 的数量。",
    "Resources of the Flink container: requests and limits.": "Flink 容器的资源：请求和上限。",
    "More lines of flink-conf.yaml, by key. Addresses and ports are the controller's.": (
        "flink-conf.yaml 的其他配置项，按键设置。地址和端口由控制器设置。"
    ),
    (
        "Template of the Job (batch/v1) that submits the program. Options of the runner are added to the "
        "arguments of its first container, unless they have --runner. Cannot be changed after creation."
    ): (
        "提交程序的 Job（batch/v1）的模板。除非其第一个容器的参数已含 --runner，否则会追加 runner 的参数。"
        "创建后不可修改。"
    ),
    "What is left of the job when it has ended.": "Job 结束后保留什么。",
    (
        "Delete the Flink cluster when the job has ended: its pods, Service and ConfigMap. What Flink's "
        "web interface shows is lost then. The Job that submitted the program stays for its log."
    ): (
        "Job 结束后删除 Flink 集群：其 Pod、Service 和 ConfigMap。Flink 网页界面显示的内容随之丢失。"
        "提交程序的 Job 会保留，以便查看日志。"
    ),
    "Debug.": "调试。",
    "Set the Flink cluster up, and wait instead of submitting the program.": (
        "建立 Flink 集群，但等待而不提交程序。"
    ),
}

FORM: Final = t9k_form(LABELS, CHINESE, first=("flinkClusterTemplate", "jobTemplate"))
