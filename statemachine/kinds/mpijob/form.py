"""The form of an MPIJob: names and sentences of the fields that it alone has."""

from typing import Final

from statemachine.kinds.t9k.form import t9k_form
from statemachine.schema.form import FieldLabels

LABELS: Final[FieldLabels] = {
    "cleanUpWorkers": ("Clean up workers", "清理 worker"),
    "spec.ssh": ("SSH", "SSH"),
    "spec.launcher": ("Launcher", "Launcher"),
    "cmd": ("Program", "程序"),
    "extraMPIArgs": ("Options of mpirun", "mpirun 选项"),
    "mca": ("MCA parameters", "MCA 参数"),
    "mpiHome": ("Home of Open MPI", "Open MPI 安装目录"),
    "sshAuthMountPath": ("Directory of the keys", "密钥目录"),
    "sshdPath": ("Path of sshd", "sshd 路径"),
}

CHINESE: Final[dict[str, str]] = {
    "How the launcher reaches the workers.": "launcher 如何连接 worker。",
    "Directory that the SSH keys are mounted at. Default: /root/.ssh.": "SSH 密钥的挂载目录。默认：/root/.ssh。",
    "Path of the SSH server, which must be called by its full path.": "SSH 服务器的路径，必须以完整路径调用。",
    "The launcher, one pod.": "launcher，一个 Pod。",
    (
        "Resources of the launcher: requests and limits. It never gets GPUs or other devices. Default: "
        "requests of 100m CPU and 100Mi memory, limits of 200m and 200Mi."
    ): (
        "launcher 的资源：请求值和上限。launcher 不会获得 GPU 或其他设备。默认：请求 100m CPU 和 100Mi 内存，"
        "上限 200m 和 200Mi。"
    ),
    "The workers; their image and environment are the launcher's, too. Required.": (
        "各 worker；launcher 使用相同的镜像和环境变量。必填。"
    ),
    "Number of workers.": "worker 数量。",
    "The MPI program and its arguments. Required, unless in debug mode.": (
        "MPI 程序及其参数。除调试模式外必填。"
    ),
    (
        "Further options of mpirun, for example -N and the number of processes on each worker. Which hosts "
        "there are is the controller's to say."
    ): "mpirun 的其他选项，例如 -N 和每个 worker 上的进程数。主机由控制器指定。",
    "MCA parameters of Open MPI by name, for example btl: ^openib.": (
        "Open MPI 的 MCA 参数，按名称设置，例如 btl: ^openib。"
    ),
    "Where Open MPI is installed, on the workers too. Default: mpirun is looked for on the PATH.": (
        "Open MPI 的安装目录，worker 上也是如此。默认：在 PATH 中查找 mpirun。"
    ),
    "What is left of the job when it has ended.": "Job 结束后保留什么。",
    "Delete the pods of all workers when the job has ended. The launcher's pod stays for its log.": (
        "Job 结束后删除所有 worker 的 Pod。launcher 的 Pod 会保留以便查看日志。"
    ),
    "Who places the workers. Default: the cluster's scheduler.": "由谁调度 worker。默认：集群调度器。",
}

FORM: Final = t9k_form(LABELS, CHINESE, usual=("worker",))
