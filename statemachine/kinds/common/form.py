"""Names and sentences of fields that T9k kinds and PyTorchJob have in common."""

from typing import Final

from statemachine.schema.form import FieldLabels

LABELS: Final[FieldLabels] = {
    "rdzvBackend": ("Rendezvous backend", "Rendezvous 后端"),
    "minReplicas": ("Fewest replicas", "最小副本数量"),
    "maxReplicas": ("Most replicas", "最大副本数量"),
    "queue": ("Queue", "队列"),
    "spec.runPolicy": ("Run policy", "运行策略"),
    "activeDeadlineSeconds": ("Deadline (seconds)", "运行时限（秒）"),
    "backoffLimit": ("Backoff limit", "重试次数上限"),
    "replicas": ("Replicas", "副本数量"),
    "restartPolicy": ("Restart policy", "重启策略"),
}

CHINESE: Final[dict[str, str]] = {
    "Number of replicas of this type.": "该类型的副本数量。",
    "How the replicas find each other. etcd and etcd-v2 need a server of your own.": (
        "副本之间如何相互发现。etcd 和 etcd-v2 需要自备服务器。"
    ),
    "How long the job may run, how often it may fail, what is left of it.": (
        "Job 可以运行多久、可以失败几次、结束后保留什么。"
    ),
    "Its value.": "值。",
}
