"""The forms of T9k kinds: names and sentences of the fields that several of them have, and the order of parts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from statemachine.kinds.common import form as common
from statemachine.schema.form import VOLUME_CLAIMS, ChoiceSource, FieldLabels, SpecForm, as_written

LABELS: Final[FieldLabels] = {
    "spec.elastic": ("Elastic training", "弹性训练"),
    "spec.elastic.enabled": ("Elastic training", "弹性训练"),
    "expectedReplicas": ("Expected replicas", "期望副本数量"),
    "spec.scheduler": ("Scheduler", "调度器"),
    "t9kScheduler": ("T9k scheduler", "T9k 调度器"),
    "priority": ("Priority", "优先级"),
    "cleanUpPolicy": ("Clean-up policy", "清理策略"),
    "spec.runMode": ("Run mode", "运行模式"),
    "spec.runMode.debug": ("Debug mode", "调试模式"),
    "spec.runMode.debug.enabled": ("Debug mode", "调试模式"),
    "spec.runMode.pause": ("Pause", "暂停"),
    "spec.runMode.pause.enabled": ("Create paused", "创建后暂停"),
    "resumeSpecs": ("Resume settings", "恢复设置"),
    "skipInitContainer": ("Skip init containers", "跳过 init 容器"),
    "replicaSpecs": ("Replica types", "副本类型"),
    "type": ("Type", "类型"),
    "spec.worker": ("Worker", "Worker"),
    "command": ("Command", "命令"),
    "args": ("Arguments", "参数"),
    "image": ("Image", "镜像"),
    "resources": ("Resources", "资源"),
    "spec.tensorboardSpec": ("TensorBoard", "TensorBoard"),
    "trainingLogFilesets": ("Log filesets", "日志文件集"),
    "logDir": ("Log directory", "日志目录"),
    "spec.tensorboardSpec.logDir.pvc": ("Volumes", "存储卷"),
    "spec.tensorboardSpec.logDir.pvc[].name": ("PersistentVolumeClaim", "PersistentVolumeClaim"),
    "subPath": ("Paths in it", "其中的路径"),
    "s3": ("Object storage", "对象存储"),
    "http": ("Web addresses", "网址"),
    "suspend": ("Suspend", "挂起"),
    "spec.tensorboardSpec.scheduler": ("Scheduler", "调度器"),
}

CHINESE: Final[dict[str, str]] = {
    "Name of the replica type, for example worker. Becomes part of pod names.": (
        "副本类型的名称，例如 worker，会成为 Pod 名称的一部分。"
    ),
    (
        "Which ends of a pod make the controller start it again. ExitCode: only exit codes 130, 137, "
        "138 and 143, or an end without exit code. Every restart counts towards runPolicy.backoffLimit."
    ): (
        "Pod 以何种方式结束时由控制器重新启动。ExitCode：仅退出码 130、137、138、143 或没有退出码时。每"
        "次重启都计入 runPolicy.backoffLimit。"
    ),
    "Switch elastic training on. Default false.": "启用弹性训练。默认 false。",
    "The fewest replicas the training runs with. Required if enabled; at least 1.": (
        "训练运行所需的最少副本数。启用时必填，至少为 1。"
    ),
    "The most replicas the training runs with. Required if enabled.": "训练运行的最多副本数。启用时必填。",
    (
        "The number of replicas wished for, between the other two; may be changed at any time. When "
        "the cluster is short of resources fewer run. Default: minReplicas."
    ): (
        "期望的副本数，介于最小和最大副本数之间，可随时修改。集群资源不足时实际运行的会更少。默认："
        "minReplicas。"
    ),
    (
        "Seconds the job may be active, from the start (or the last resume) on, waiting and restarts "
        "included. Then it has failed. Default: no limit."
    ): ("Job 从启动（或最近一次恢复）起可以处于活动状态的秒数，包括等待和重启；超出则失败。默认：无限制。"),
    (
        "Restarts that all replicas together may use up. 0: nothing is restarted. Raising it while the "
        "job runs counts for later failures."
    ): "所有副本合计可用的重启次数。0：不重启。运行期间调高仅对之后的失败有效。",
    (
        "Pods to delete when the job has ended. None: nothing, running replicas go on. Unfinished: "
        "those that still run or wait. All: all of them, logs included."
    ): (
        "Job 结束后删除哪些 Pod。None：不删除，运行中的副本继续运行。Unfinished：仍在运行或等待的。"
        "All：全部，包括日志。"
    ),
    "Debug and pause.": "调试和暂停。",
    "Set the environment up without starting the training.": "准备环境但不启动训练。",
    "Set the environment up, but do not start the training. Default false.": (
        "准备环境，但不启动训练。默认 false。"
    ),
    "Exceptions by replica type; a type that is not listed has the defaults.": (
        "按副本类型设置的例外；未列出的类型使用默认值。"
    ),
    "Replica type that this entry is for.": "该条目对应的副本类型。",
    "Leave the init containers out.": "不运行 init 容器。",
    "What the training container runs instead of the training; its args are emptied.": (
        "训练容器代替训练所运行的命令；其参数会被清空。"
    ),
    "Stop the job for a while.": "暂时停止 Job。",
    "true pauses the job, false resumes it. May be changed at any time. Default false.": (
        "true 暂停 Job，false 恢复，可随时修改。默认 false。"
    ),
    "How pods are started after a pause, by replica type.": "暂停后如何启动 Pod，按副本类型设置。",
    "Replaces the whole entrypoint; no launch line is generated. Default: as at the first start.": (
        "替换整个启动命令，系统不再生成启动行。默认：与首次启动相同。"
    ),
    "Arguments of command; without command, they replace those of the training.": (
        "命令的参数；未设置命令时，替换训练的参数。"
    ),
    "Who places the pods. Default: the cluster's scheduler.": "由谁调度 Pod。默认：集群调度器。",
    "Use the T9k scheduler: all pods are placed together, or none.": (
        "使用 T9k 调度器：所有 Pod 一起调度，否则都不调度。"
    ),
    "Queue to wait in.": "排队所用的队列。",
    "Priority in the queue, 0 to 100.": "在队列中的优先级，0 到 100。",
    "Make a TensorBoard for the job, with this spec.": "为该 Job 创建 TensorBoard。",
    "Container image of TensorBoard.": "TensorBoard 的容器镜像。",
    "t9k://pvc/<name>/<path> or t9k://minio/<secret>/<bucket>/<path>. Superseded by logDir.": (
        "t9k://pvc/<name>/<path> 或 t9k://minio/<secret>/<bucket>/<path>。已由 logDir 取代。"
    ),
    "Volumes or object storage that hold the training's logs.": "保存训练日志的存储卷或对象存储。",
    "Directories in volumes.": "存储卷中的目录。",
    "Name of the PersistentVolumeClaim.": "PersistentVolumeClaim 的名称。",
    "Paths in it, relative to its root.": "其中的路径，相对于根目录。",
    "Object storage: secretRef.name and the list uri.": "对象存储：secretRef.name 和列表 uri。",
    "Web addresses: the list url.": "网址：列表 url。",
    "Resources of the TensorBoard container.": "TensorBoard 容器的资源。",
    "Stop TensorBoard without deleting it.": "停止 TensorBoard 但不删除。",
    "Scheduler of the TensorBoard pod: t9kScheduler.queue.": "TensorBoard Pod 的调度器：t9kScheduler.queue。",
}

QUEUES: Final = ChoiceSource("scheduler.tensorstack.dev", "v1beta1", "Queue", "queues")
"""The T9k scheduler's queues. Source: spec R13."""


def t9k_form(
    labels: FieldLabels | None = None,
    chinese: Mapping[str, str] | None = None,
    *,
    first: tuple[str, ...] = (),
    usual: tuple[str, ...] = (),
    needs: Mapping[str, str] | None = None,
    completed: Callable[[dict[str, Any]], dict[str, Any]] = as_written,
) -> SpecForm:
    """The form of a T9k kind with names and sentences of its own; `first` parts stand before all others."""
    return SpecForm(
        order=(*first, "", "elastic", "runPolicy", "scheduler", "tensorboardSpec", "runMode"),
        usual=usual,
        unfolded=frozenset({"spec.replicaSpecs", *(f"spec.{part}" for part in (*first, *usual))}),
        without_switch=frozenset({"spec.runMode.pause"}),
        scheduler="spec.scheduler",
        needs=needs or {},
        choices={
            "spec.scheduler.t9kScheduler.queue": QUEUES,
            "spec.tensorboardSpec.logDir.pvc[].name": VOLUME_CLAIMS,
        },
        labels={**common.LABELS, **LABELS, **(labels or {})},
        chinese={**common.CHINESE, **CHINESE, **(chinese or {})},
        completed=completed,
    )
