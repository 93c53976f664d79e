"""The form of a PyTorchJob: names and sentences of the fields that it alone has."""

from typing import Final

from statemachine.kinds.common import form as common
from statemachine.schema.form import FieldLabels, SpecForm

LABELS: Final[FieldLabels] = {
    "spec.runPolicy.suspend": ("Create suspended", "创建后挂起"),
    "pytorchReplicaSpecs": ("Replica types", "副本类型"),
    "Master": ("Master", "Master"),
    "Worker": ("Worker", "Worker"),
    "nprocPerNode": ("Processes per node", "单节点进程数"),
    "nProcPerNode": ("Processes per node (old)", "单节点进程数（旧）"),
    "elasticPolicy": ("Elastic training", "弹性训练"),
    "rdzvHost": ("Rendezvous host", "Rendezvous 主机"),
    "rdzvPort": ("Rendezvous port", "Rendezvous 端口"),
    "rdzvId": ("Rendezvous name", "Rendezvous 名称"),
    "rdzvConf": ("Rendezvous options", "Rendezvous 选项"),
    "spec.elasticPolicy.rdzvConf[].key": ("Key", "键"),
    "spec.elasticPolicy.rdzvConf[].value": ("Value", "值"),
    "standalone": ("One node", "单节点"),
    "maxRestarts": ("Maximum restarts", "最大重启次数"),
    "metrics": ("Metrics of an autoscaler", "自动伸缩指标"),
    "cleanPodPolicy": ("Clean-up policy", "清理策略"),
    "ttlSecondsAfterFinished": ("Delete after its end (seconds)", "结束后删除（秒）"),
    "managedBy": ("Managed by", "管理者"),
    "schedulingPolicy": ("Gang scheduling", "成组调度"),
    "minAvailable": ("Fewest pods at once", "最少同时 Pod 数"),
    "minResources": ("Fewest resources", "最少资源"),
    "priorityClass": ("Priority class", "优先级类"),
    "scheduleTimeoutSeconds": ("Scheduling time-out (seconds)", "调度超时（秒）"),
}

CHINESE: Final[dict[str, str]] = {
    "The replicas by type: Master and Worker, at least one of the two, in any case.": (
        "各类型的副本：Master 和 Worker，至少有其一，大小写均可。"
    ),
    "The replica whose end is the job's end; there is one at most.": "该副本结束时 Job 结束；最多一个。",
    (
        "Always and OnFailure: the kubelet restarts containers in place. ExitCode: the controller "
        "makes a pod again that failed with code 128 or more, or without one; codes 1 to 127 fail the "
        "job. Never: a failed pod fails the job."
    ): (
        "Always 和 OnFailure：kubelet 就地重启容器。ExitCode：退出码不小于 128 或没有退出码时由控制器重"
        "新创建 Pod；1 到 127 使 Job 失败。Never：Pod 失败即 Job 失败。"
    ),
    "All other replicas.": "其他所有副本。",
    (
        "Processes per node: auto, cpu, gpu or a number. Default: auto, unless "
        "elasticPolicy.nProcPerNode is set."
    ): "单节点进程数：auto、cpu、gpu 或数字。默认：auto，除非设置了 elasticPolicy.nProcPerNode。",
    "Let the number of Workers change while torchrun trains.": "允许 Worker 数量在 torchrun 训练期间变化。",
    "The fewest Workers. Default: maxReplicas, else the number of Workers.": (
        "最少的 Worker 数。默认：maxReplicas，否则为 Worker 数量。"
    ),
    "The most Workers. Default: minReplicas, else the number of Workers.": (
        "最多的 Worker 数。默认：minReplicas，否则为 Worker 数量。"
    ),
    "Port of the rendezvous. Default: the Worker's pytorchjob-port.": (
        "Rendezvous 的端口。默认：Worker 的 pytorchjob-port。"
    ),
    "Host of the rendezvous. Default: the first Worker.": "Rendezvous 的主机。默认：第一个 Worker。",
    "Name of the rendezvous.": "Rendezvous 的名称。",
    "Further options of the rendezvous backend.": "Rendezvous 后端的其他选项。",
    "Name of the option.": "选项的名称。",
    "Meet on the node itself: one node, several processes.": "仅在本节点内会合：单节点、多进程。",
    "Deprecated: use spec.nprocPerNode. Processes per node.": "已弃用：请使用 spec.nprocPerNode。单节点进程数。",
    "How often torchrun restarts its processes inside living pods.": (
        "torchrun 在存活的 Pod 内重启其进程的次数。"
    ),
    (
        "Metrics of autoscaling/v2: with them a HorizontalPodAutoscaler changes the number of Workers "
        "between minReplicas and maxReplicas."
    ): (
        "autoscaling/v2 的指标：设置后由 HorizontalPodAutoscaler 在 minReplicas 和 maxReplicas 之间调整"
        " Worker 数量。"
    ),
    "Pods, with their Services, to delete when the job has ended. Running: those that run or wait.": (
        "Job 结束后删除哪些 Pod 及其 Service。Running：正在运行或等待的。"
    ),
    "Delete the job this long after its end. Default: never.": "Job 结束后经过该时间删除它。默认：不删除。",
    "Seconds the job may be active before it has failed. Default: no limit.": (
        "Job 可以处于活动状态的秒数，超出则失败。默认：无限制。"
    ),
    "How many pods that failed are made again; the next failure ends the job. Restarts of containers in place count "
    "as well, and end it as soon as all are this many together. Default: no limit.": (
        "失败的 Pod 最多重新创建的次数，之后再失败则 Job 失败。"
        "容器原地重启也计入，合计达到该值时 Job 立即失败。默认：无限制。"
    ),
    "What a gang scheduler gets.": "传给成组调度器的内容。",
    "How many pods must fit together. Default: all.": "必须能同时调度的 Pod 数。默认：全部。",
    "Queue of the gang scheduler.": "成组调度器的队列。",
    "Resources that must be free. Default: the sum over the first minAvailable pods.": (
        "必须空闲的资源。默认：前 minAvailable 个 Pod 之和。"
    ),
    "Priority class of the gang.": "该组的优先级类。",
    "How long scheduler-plugins waits for the gang to fit.": "scheduler-plugins 等待该组可调度的时间。",
    "true deletes all pods and keeps the job waiting; false makes them again.": (
        "true 删除所有 Pod 并让 Job 等待；false 重新创建它们。"
    ),
    "Who runs the job. kueue.x-k8s.io/multikueue: another cluster, nothing is done here.": (
        "由谁运行该 Job。kueue.x-k8s.io/multikueue：由另一个集群运行，此处不做任何事。"
    ),
}

FORM: Final = SpecForm(
    order=("", "runPolicy"),
    labels={**common.LABELS, **LABELS},
    chinese=common.CHINESE | CHINESE,
)
