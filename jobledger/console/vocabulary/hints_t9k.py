"""What fields of T9k kinds are for, in Chinese, by what their models say in English."""

from typing import Final

T9K: Final[dict[str, str]] = {
    "The replicas by type. The first replica of the first type is the master.": (
        "各类型的副本。第一个类型的第一个副本是 master。"
    ),
    "The master and the workers. The master decides the result.": "master 和 worker。master 决定结果。",
    "master or worker. Becomes part of pod names.": "master 或 worker，会成为 Pod 名称的一部分。",
    "Name of the replica type, for example worker. Becomes part of pod names.": (
        "副本类型的名称，例如 worker，会成为 Pod 名称的一部分。"
    ),
    "Number of replicas of this type.": "该类型的副本数量。",
    (
        "Which ends of a pod make the controller start it again. ExitCode: only exit codes 130, 137, "
        "138 and 143, or an end without exit code. Every restart counts towards runPolicy.backoffLimit."
    ): (
        "Pod 以何种方式结束时由控制器重新启动。ExitCode：仅退出码 130、137、138、143 或没有退出码时。每"
        "次重启都计入 runPolicy.backoffLimit。"
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
    "How the replicas find each other. etcd and etcd-v2 need a server of your own.": (
        "副本之间如何相互发现。etcd 和 etcd-v2 需要自备服务器。"
    ),
    "Further options of torchrun. They win over the generated ones.": (
        "torchrun 的其他选项，优先于系统生成的选项。"
    ),
    "Let the number of replicas change; only with torchrun.": "允许副本数量变化；仅限使用 torchrun 时。",
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
    "How long the job may run, how often it may fail, what is left of it.": (
        "Job 可以运行多久、可以失败几次、结束后保留什么。"
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
    "The workers. When worker-0 ends, the job ends.": "各 worker。worker-0 结束时 Job 结束。",
    "Number of workers; ignored in elastic training.": "worker 数量；弹性训练时忽略。",
    "How to run. Required unless in debug mode.": "运行方式。除调试模式外必填。",
    (
        "Processes per worker. Default: the number of nvidia.com/gpu in the limits of the training "
        "container, else 1."
    ): "每个 worker 的进程数。默认：训练容器上限中 nvidia.com/gpu 的数量，否则为 1。",
    "What is started: exactly one of python, module and exec.": "启动什么：python、module、exec 中恰好一项。",
    "A Python script and its arguments: a list, or a string with all of it.": (
        "Python 脚本及其参数：列表，或包含全部内容的字符串。"
    ),
    "A Python module and its arguments: a list, or a string with all of it.": (
        "Python 模块及其参数：列表，或包含全部内容的字符串。"
    ),
    "A program and its arguments: a list, or a string with all of it.": (
        "可执行程序及其参数：列表，或包含全部内容的字符串。"
    ),
    "Hand the local rank to the program as an argument, too (deepspeed --no_local_rank).": (
        "同时将 local rank 作为参数传给程序（deepspeed --no_local_rank）。"
    ),
    "Search for good hyperparameters. tune: search only. run: search, then train with them.": (
        "搜索合适的超参数。tune：仅搜索。run：搜索后用其训练。"
    ),
    "Further options of deepspeed, but for those that other fields or the controller set.": (
        "deepspeed 的其他选项，不含由其他字段或控制器设置的选项。"
    ),
    (
        "A shell command that worker-0 runs instead of deepspeed; of the other fields only "
        "slotsPerWorker counts then."
    ): "worker-0 代替 deepspeed 运行的 shell 命令；此时其他字段中仅 slotsPerWorker 有效。",
    (
        "Do not hand the environment variables of the training container on to the processes that "
        "deepspeed starts over SSH."
    ): "不将训练容器的环境变量传给 deepspeed 通过 SSH 启动的进程。",
    "Let the number of workers change; every change starts all of them anew.": (
        "允许 worker 数量变化；每次变化都会重新启动所有 worker。"
    ),
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
    "Its value.": "值。",
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
