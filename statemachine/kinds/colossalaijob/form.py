"""The form of a ColossalAIJob: names and sentences of the fields that it alone has."""

from typing import Final

from statemachine.kinds.t9k.form import t9k_form
from statemachine.schema.form import FieldLabels

LABELS: Final[FieldLabels] = {
    "cleanUpWorkers": ("Clean up workers", "清理 worker"),
    "spec.ssh": ("SSH", "SSH"),
    "spec.launcher": ("Launcher", "Launcher"),
    "workingDir": ("Working directory", "工作目录"),
    "procPerWorker": ("Processes per worker", "每个 worker 的进程数"),
    "torchArgs": ("TorchRun arguments", "TorchRun 参数"),
    "authMountPath": ("Directory of the keys", "密钥目录"),
    "sshdPath": ("Path of sshd", "sshd 路径"),
    "spec.launcher.env[].name": ("Name", "名称"),
    "spec.launcher.env[].value": ("Value", "值"),
    "valueFrom": ("Value from", "值来源"),
}

CHINESE: Final[dict[str, str]] = {
    "How the launcher reaches the workers.": "launcher 如何连接 worker。",
    "Directory that the SSH keys are mounted at. Default: /root/.ssh.": "SSH 密钥的挂载目录。默认：/root/.ssh。",
    "Path of the SSH server, which must be called by its full path.": "SSH 服务器的路径，必须以完整路径调用。",
    "The launcher, one pod. Required.": "launcher，一个 Pod。必填。",
    "Container image of the launcher. Required.": "launcher 的容器镜像。必填。",
    (
        "Directory that the training is started in, on the workers too: it must exist there. Default: "
        "the image's."
    ): "启动训练的目录，worker 上也是如此，因此在其中必须存在。默认：镜像的目录。",
    "Environment of the launcher; it hands it on to the training on the workers.": (
        "launcher 的环境变量；它会传给 worker 上的训练。"
    ),
    "Its name.": "名称。",
    "Where its value is taken from, as in a pod.": "值的来源，写法与 Pod 中相同。",
    "Resources of the launcher: requests and limits.": "launcher 的资源：请求值和上限。",
    "The workers. Required.": "各 worker。必填。",
    "Number of workers.": "worker 数量。",
    "Training processes on each worker.": "每个 worker 上的训练进程数。",
    "Training script and its arguments. Required, unless in debug mode.": "训练脚本及其参数。除调试模式外必填。",
    (
        "Options for torchrun: --name=value, --name value or --name. Neither name nor value may hold a comma."
    ): "torchrun 的选项：--name=value、--name value 或 --name。名称和值都不能含逗号。",
    "What is left of the job when it has ended.": "Job 结束后保留什么。",
    "Delete the pods of all workers when the job has ended. The launcher's pod stays for its log.": (
        "Job 结束后删除所有 worker 的 Pod。launcher 的 Pod 会保留以便查看日志。"
    ),
    "Who places the workers. Default: the cluster's scheduler.": "由谁调度 worker。默认：集群调度器。",
}

FORM: Final = t9k_form(LABELS, CHINESE, usual=("launcher", "worker"))
